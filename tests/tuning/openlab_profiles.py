"""Profiles of the 2003 report."""

OPENLAB = [
    f"openlab-2003-{name}"
    for name in ("normal", "kernel", "full", "kernel-linux32", "full-linux32")
]
