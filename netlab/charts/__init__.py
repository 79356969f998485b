"""Frames to figures: one theme (`netlab.charts.drawing`), one module a subject."""
