"""Sizes and numbers as people say them."""

import pytest

from netlab.units import KIB, MIB, plain, size


def test_a_size_is_said_in_the_largest_unit_that_takes_it_whole():
    assert (size(3 * MIB), size(128 * KIB), size(1025 * KIB)) == ("3 MiB", "128 KiB", "1025 KiB")
    assert (size(1000), size(0)) == ("1000 B", "0 B")


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (135.916, ".2g", "140"),
        (12_345.6, ".4g", "12350"),
        (1_000_000.0, "g", "1000000"),
        (-1500.0, ".2g", "-1500"),
        (0.00004, ".2g", "0.00004"),
        (2.5, ".2g", "2.5"),
        (0.0, ".2g", "0"),
        (1e-12, ".2g", "1e-12"),
        (float("nan"), ".2g", "nan"),
        (float("inf"), ".2g", "inf"),
    ],
)
def test_a_number_of_some_digits_has_no_exponent(value, form, text):
    assert plain(value, form) == text
