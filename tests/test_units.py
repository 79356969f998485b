"""Sizes as people say them."""

from netlab.units import KIB, MIB, size


def test_a_size_is_said_in_the_largest_unit_that_takes_it_whole():
    assert (size(3 * MIB), size(128 * KIB), size(1025 * KIB)) == ("3 MiB", "128 KiB", "1025 KiB")
    assert (size(1000), size(0)) == ("1000 B", "0 B")
