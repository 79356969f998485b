"""Frames to figures: one theme (`netlab.charts.looks`), one module a subject."""
