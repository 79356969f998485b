"""An archive of many stores: Parquet partitioned by study, queried with DuckDB."""
