"""Frames to figures: one theme (`netlab.charts.labels`), one module a subject."""
