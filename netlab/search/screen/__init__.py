"""Screening: which knobs of a tuning matter, and the least set of them with the whole gain."""
