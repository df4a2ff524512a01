"""Databases and tables: SQLite, CSV, Parquet, Arrow, NumPy, property lists."""
