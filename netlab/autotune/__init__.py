"""The setting of a run that serves a path best, found by racing candidates on it."""
