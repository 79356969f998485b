"""Frames to frames: runs become cells, tables, effects, bottlenecks and findings."""
