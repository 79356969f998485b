"""Multiples of a byte, and the name for each that is not a power of ten."""

from __future__ import annotations

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30
