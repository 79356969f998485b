"""Files: YAML with line numbers, JSON, tables, and where data and results live."""
