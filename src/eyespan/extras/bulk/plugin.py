"""The rows of this extra: what the core finds through `eyespan.plugins`."""

from __future__ import annotations

from eyespan.plugins import Command

COMMANDS = {
    "export": Command("TARGET...", "read many files into records, for retrieval", "eyespan.extras.bulk.command")
}
READ_MANY = "eyespan.extras.bulk.pool:read_many"
DEPENDENCIES = {"duckdb": ("tables", "Parquet files"), "ray": ("ray", "bulk reading on Ray Data")}
