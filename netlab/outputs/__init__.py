"""Output of the tools that netlab runs: parsers, and the record of any tool's output."""
