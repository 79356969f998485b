"""Frames to figures: one theme (`netlab.charts.theme`), one module a subject."""
