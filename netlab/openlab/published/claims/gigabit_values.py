"""Values from the two articles on gigabit hosts."""

from __future__ import annotations

from netlab.openlab.published.claims.claim import CheckResult, PrintedValue, Verdict, frame_of

# iperf prints its interval to 0.1 s.
_HALF_INTERVAL_UNIT_S = 0.05


def printed_value(document: str, phase: str, column: str) -> float:
    """A number printed before or after tuning, such as ``rate_Mbps``."""
    frame = frame_of("gigabit-tuning").set_index(["document", "phase"])
    return float(frame.loc[(document, phase), column])


def solaris_linux_setting(key: str) -> list[int]:
    """The numbers of a setting of that article."""
    frame = frame_of("gigabit-settings").query("document == 'solaris-linux'")
    return [int(part) for part in frame.set_index("key")["value"][key].split()]


def iperf_rate(phase: str, printed: PrintedValue) -> CheckResult:
    """Compare a bandwidth that iperf printed with its amount over its rounded interval."""
    moved_B, seconds = (
        printed_value("solaris-linux", phase, column) for column in ("transferred_B", "interval_s")
    )
    megabits = moved_B * 8 / 1e6
    least = megabits / (seconds + _HALF_INTERVAL_UNIT_S)
    most = megabits / (seconds - _HALF_INTERVAL_UNIT_S)
    low, high = printed.number - printed.half_unit, printed.number + printed.half_unit
    return CheckResult(
        f"{megabits / seconds:.1f} Mb/s",
        Verdict.ROUNDS if high >= least and low <= most else Verdict.CONTRADICTED,
        f"{moved_B / 2**20:g} x 2^20 B in {seconds:g} s, printed to 0.1 s, "
        f"is {least:.1f} to {most:.1f}",
    )
