"""Notebooks executed with papermill, their parameters validated."""
