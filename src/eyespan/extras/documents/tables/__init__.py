"""Databases and tables: SQLite, CSV, Parquet."""
