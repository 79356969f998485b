"""Questions to the records of many stores, answered by DuckDB from their Parquet files."""
