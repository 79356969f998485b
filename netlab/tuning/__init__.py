"""Tuning as a transaction: read, plan, apply, verify, revert."""
