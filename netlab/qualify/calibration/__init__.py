"""Paths of known rates and round trips, to see how far netlab is from them."""
