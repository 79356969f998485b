"""Output of the tools that netlab runs or imports: parsers, and their common record."""
