"""Calibration: the core on paths of known rates, and the path emulator."""
