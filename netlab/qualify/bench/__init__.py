"""Benchmark: netlab and other tools on one path with the same settings."""
