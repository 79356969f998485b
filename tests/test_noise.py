"""Allowances of timing tests: at most the stolen time."""

import pytest
from noise import RoundTrips, Shares, stolen, tries


@pytest.mark.parametrize(
    ("share", "stolen_share", "settled", "confirmed"),
    [
        (0.995, 0.0, True, True),
        (0.98, 0.0, False, False),
        (1.02, 0.0, False, False),
        (0.96, 0.04, True, True),
        (0.94, 0.04, False, False),
        (1.02, 0.04, False, False),
        (0.70, 0.40, False, True),  # as expected for what was left, but better tried again
        (0.50, 0.40, False, False),
    ],
)
def test_a_share_may_be_less_by_what_others_had(share, stolen_share, settled, confirmed):
    shares = Shares(bound=0.01)
    assert shares.settled(share, stolen_share) == settled
    assert shares.confirmed == confirmed


def test_a_round_trip_alone_counts_only_where_others_had_much_of_every_try():
    trips = RoundTrips(asked_ms=40, bound_ms=0.2)
    assert not trips.settled(41, 40.1, 0.3)
    assert trips.confirmed
    assert not trips.settled(41, 40.1, 0.0)
    assert not trips.confirmed
    assert trips.settled(40.15, 40.1, 0.0)
    assert trips.confirmed


def test_foreign_time_is_measured_and_never_negative():
    with stolen() as stolen_s:
        pass
    assert stolen_s() >= 0


def test_tries_are_numbered_at_once_and_later():
    assert list(tries(2, later=1, pause_s=0.0)) == [1, 2, 3]
