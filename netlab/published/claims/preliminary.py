"""Claims of the preliminary notes: every stated total, and what the text says of the sets."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pandas as pd

from netlab import bus, published
from netlab.published.claims.model import (
    Claim,
    Claims,
    Finding,
    Printed,
    Verdict,
    stands,
    uncheckable,
)
from netlab.published.claims.openlab_frame import report
from netlab.published.layout import HALF_SPEED_MBPS

CLAIMS = Claims("openlab-preliminary")
_SET_OF_TUNING = {"none": 1, "kernel": 2, "full": 3}
# A per-stream figure is cut or rounded to 1 MB/s, so each stream may be 1 MB/s off.
_PER_STREAM_ALLOWANCE_MBPS = 1.0


@cache
def _notes() -> pd.DataFrame:
    return published.load("openlab-2003-preliminary")


def _cell(tuning: str, mtu_B: int, streams: int) -> float:
    found = _notes().query("tuning == @tuning and mtu_B == @mtu_B and streams == @streams")
    return float(found["throughput_MBps"].iloc[0])


def judge_total(per_stream_MBps: float, streams: int, claimed: Printed) -> Finding:
    """A stated total against streams times the per-stream figure.

    Parameters
    ----------
    per_stream_MBps : float
        As printed, whole MB/s.
    streams : int
        Number of streams.
    claimed : Printed
        The stated total.

    Returns
    -------
    Finding
        ``contradicted`` if no per-stream rate that prints so gives the total.
    """
    product = per_stream_MBps * streams
    off = claimed.number / streams - per_stream_MBps
    finding = claimed.against(
        product,
        f"{streams} x {per_stream_MBps:g}; the total means {claimed.number / streams:.2f} a stream",
        unit="MB/s",
        allowance=streams * _PER_STREAM_ALLOWANCE_MBPS,
    )
    if finding.verdict is Verdict.CONTRADICTED:
        why = f"{finding.why}, {abs(off):.0f} MB/s off: a misprint in one of the two"
        return Finding(finding.recomputed, finding.verdict, why)
    return finding


def _total_claim(row: pd.Series) -> Claim:
    return Claim(
        CLAIMS.document,
        f"Set {_SET_OF_TUNING[row.tuning]}, MTU {row.mtu_B}, {row.streams} streams",
        f"Total of {row.streams} streams of {row.per_stream_MBps:g} MB/s",
        Printed(f"tot:{row.stated_total_MBps:g}"),
        lambda claimed: judge_total(row.per_stream_MBps, int(row.streams), claimed),
    )


@CLAIMS.from_data
def _totals() -> Iterator[Claim]:
    stated = _notes().dropna(subset="stated_total_MBps")
    return (_total_claim(row) for row in stated.itertuples(index=False))


def misprints() -> pd.DataFrame:
    """Rows whose stated total cannot be the sum of their streams.

    Returns
    -------
    DataFrame
        Rows of ``openlab-2003-preliminary`` with ``streams_times_MBps``, the product.
    """
    stated = _notes().dropna(subset="stated_total_MBps")
    wrong = [
        _total_claim(row).check().verdict is Verdict.CONTRADICTED
        for row in stated.itertuples(index=False)
    ]
    found = stated[wrong]
    return found.assign(streams_times_MBps=found["per_stream_MBps"] * found["streams"])


@CLAIMS("Set 2, below the table", "CPU usage on the sink side in set 2", "about 100%")
def _(claimed: Printed) -> Finding:
    return uncheckable("CPU usage is not tabled")


@CLAIMS("Before set 1", "The measurements fluctuate", "of a few %")
def _(claimed: Printed) -> Finding:
    return uncheckable("No cell is repeated")


@CLAIMS("After set 3", "PCI-X slot 4 runs only at half speed; its rate was about", "470 MB/s")
def _(claimed: Printed) -> Finding:
    half = bus.shared(bus.PCI_X_133, half_speed_slot=True)
    return stands(
        claimed.number < half.bandwidth_MBps,
        f"at most {half.bandwidth_MBps:g} MB/s",
        f"Half of 133 MHz; the rate is {half.percent(claimed.number):.0f} % of that",
    )


@CLAIMS("After set 3", "CPU usage in the half-speed slot", "around 60%")
def _(claimed: Printed) -> Finding:
    share = 100 * HALF_SPEED_MBPS / _cell("full", 16114, 1)
    return uncheckable(
        "CPU usage is not tabled; in proportion to 100% in the fast slot it would be this",
        f"{share:.0f} %",
    )


@CLAIMS("After set 3", "In PCI-X slot 1 the rate went up to", "750 MB/s")
def _(claimed: Printed) -> Finding:
    return claimed.against(
        _cell("full", 16114, 1), "set 3, 16114 B, one stream; to tens", unit="MB/s", allowance=5
    )


@CLAIMS("After set 3", "Twice the half-speed slot's 470 MB/s is", "940 MB/s")
def _(claimed: Printed) -> Finding:
    reached = report()["throughput_MBps"].max()
    return claimed.against(
        2 * HALF_SPEED_MBPS,
        f"{bus.PCI_X_133.percent(2 * HALF_SPEED_MBPS):.0f} % of the full-speed bus; "
        f"the report later reached {reached:g}",
        unit="MB/s",
    )


@CLAIMS("After set 3", "Limit of the aggregate rate of multiple streams", "around 700 MB/s")
def _(claimed: Printed) -> Finding:
    wrong = misprints().index
    most = _notes().query("streams > 1").drop(wrong)["throughput_MBps"].max()
    return claimed.against(
        most, "largest consistent total; around is within 10 %", unit="MB/s", allowance=70
    )


@CLAIMS("After set 3", "That limit is reached with sub-optimal settings already", "around 700 MB/s")
def _(claimed: Printed) -> Finding:
    most = _notes().query("streams > 1 and tuning == 'none'")["throughput_MBps"].max()
    return claimed.against(
        most, "largest total of set 1; around is within 10 %", unit="MB/s", allowance=70
    )


@CLAIMS("After set 3", "With 12 streams the driver settings reduce the aggregate rate", "reduce")
def _(claimed: Printed) -> Finding:
    pairs = [(_cell("full", m, 12), _cell("kernel", m, 12)) for m in (1500, 9000, 16114)]
    return stands(
        all(full < kernel for full, kernel in pairs),
        ", ".join(f"{full:g} from {kernel:g}" for full, kernel in pairs),
        "Set 3 from set 2 at 12 streams, by MTU",
    )


@CLAIMS("Preliminary conclusions", "Larger MTUs matter, especially in set 3", "set 3")
def _(claimed: Printed) -> Finding:
    gains = {
        number: _cell(tuning, 16114, 1) / _cell(tuning, 1500, 1)
        for tuning, number in _SET_OF_TUNING.items()
    }
    return stands(
        max(gains, key=gains.__getitem__) == claimed.number,
        ", ".join(f"{gain:.2f}" for gain in gains.values()),
        "16114 over 1500 B with one stream, sets 1 to 3",
    )


@CLAIMS("Preliminary conclusions", "Driver parameters matter for few streams", "few streams")
def _(claimed: Printed) -> Finding:
    mtus = (1500, 9000, 16114)
    one, twelve = ([_cell("full", m, n) / _cell("kernel", m, n) for m in mtus] for n in (1, 12))
    return stands(
        min(one) > 1.1 > max(twelve),
        f"{min(one):.2f} to {max(one):.2f} times",
        f"Set 3 over set 2 with one stream; with twelve {min(twelve):.2f} to {max(twelve):.2f}",
    )


@CLAIMS("Preliminary conclusions", "Larger memory sizes in the kernel matter", "more than a few %")
def _(claimed: Printed) -> Finding:
    gains = [_cell("kernel", m, 1) / _cell("none", m, 1) for m in (1500, 9000, 16114)]
    return stands(
        min(gains) > 1.1,
        f"{min(gains):.2f} to {max(gains):.2f} times",
        "Set 2 over set 1 with one stream, by MTU",
    )


@CLAIMS("Preliminary conclusions", "The remaining parameters have less impact", "only few %")
def _(claimed: Printed) -> Finding:
    return uncheckable("They were not varied one by one in the tables")


@CLAIMS("Preliminary conclusions", "With MTU 1500 improved parameters degrade the rate", "degrades")
def _(claimed: Printed) -> Finding:
    change = {n: (_cell("full", 1500, n), _cell("none", 1500, n)) for n in (1, 4, 8, 12)}
    worse = [n for n, (full, none) in change.items() if full < none]
    return stands(
        len(worse) == len(change),
        ", ".join(f"{full:g} from {none:g}" for full, none in change.values()),
        f"Set 3 from set 1 at 1, 4, 8, 12 streams: so with {', '.join(map(str, worse))}",
    )
