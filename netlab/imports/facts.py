"""Facts of imported runs that their user gives: what each may be, in a command and in Python."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from numbers import Integral, Real

from netlab.errors import BadInput, check, require

COUNTS: dict[str, tuple[int, int]] = {
    "mtu_B": (576, 65536),
    "streams": (1, 10_000),
    "record_length_B": (1, 2**40),
    "buffer_B": (0, 2**40),
}
"""Least and greatest value of each fact that is a count."""
ENDS = ("sender", "receiver")
FASTEST_Mbps = 1e7
MTIME = "mtime"
"""Start of the runs: the modification time of each file."""


def moment_of(value: object) -> datetime | str:
    """Start of runs: :data:`MTIME`, or a time, of UTC where it has no zone, on every machine."""
    if value == MTIME:
        return MTIME
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        moment.astimezone(UTC)
    except (ValueError, OverflowError):
        reason = "write mtime, or a time like 2003-03-03T07:07:34+01:00"
        raise BadInput(reason, key="started_at", value=value, code="E-IMPORT-190") from None
    reason = "the year must be from 1971 to 2189"
    check(1970 < moment.year < 2190, "started_at", value, reason, "E-IMPORT-191")
    return moment


def check_facts(facts: Mapping[str, object]) -> None:
    """Refuse a fact that no file can have; None is a fact that was not given."""
    given = {name: value for name, value in facts.items() if value is not None}
    for name, (least, most) in COUNTS.items():
        value = given.get(name, least)
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        reason = f"must be a whole number from {least:,} to {most:,}"
        check(whole and least <= value <= most, name, value, reason, "E-IMPORT-192")  # type: ignore[operator]
    require(given.get("measured_at", ENDS[0]), ENDS, key="measured_at", code="E-IMPORT-193")
    rate = given.get("link_Mbps", FASTEST_Mbps)
    reason = f"must be a rate above 0, 10^6 bit/s, and at most {FASTEST_Mbps:g}"
    possible = isinstance(rate, Real) and 0 < float(rate) <= FASTEST_Mbps
    check(possible, "link_Mbps", rate, reason, "E-IMPORT-194")
