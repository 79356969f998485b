"""Calibration: netlab's error on paths of known rates and round-trip times."""
