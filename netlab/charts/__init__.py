"""Frames to figures: one theme (`netlab.charts.style`), one module a subject."""
