"""Databases and tables: SQLite, CSV, Parquet, Arrow, Avro, NumPy, property lists."""
