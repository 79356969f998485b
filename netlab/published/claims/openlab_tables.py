"""Claims of the openlab report on its tables and charts (chapter 4)."""

from __future__ import annotations

from netlab import published
from netlab.published.claims.model import Claims, Finding, Printed, Verdict, stands
from netlab.published.claims.openlab_frame import (
    FLAT,
    FLUCTUATION,
    best,
    best_percent,
    curve,
    curves,
    listed,
    paired,
    report,
    swing,
)

CLAIMS = Claims("openlab-report")


@CLAIMS("4.1.1", "Table 1 is the original result, that of the preliminary notes", "21 cells")
def _(claimed: Printed) -> Finding:
    levels = ["tuning", "mtu_B", "streams"]
    notes = published.load("openlab-2003-preliminary").set_index(levels)["throughput_MBps"]
    table = report().query("table == 1").set_index(levels)["throughput_MBps"]
    same = int((notes.reindex(table.index) == table).sum())
    return claimed.against(same, "cells of table 1 equal to the notes' sets 1 to 3", unit="cells")


@CLAIMS("4.1.2", "Results in some cases lower than the original ones", "some cases")
def _(claimed: Printed) -> Finding:
    both = paired(2, 1)
    lower = int((both["this"] < both["other"]).sum())
    return stands(0 < lower < len(both), f"{lower} of {len(both)} cells", "table 2 against table 1")


@CLAIMS("4.1.2", "Maximum throughput of table 2", "744MB/s")
def _(claimed: Printed) -> Finding:
    return claimed.against(best(2), "largest cell of table 2", unit="MB/s")


@CLAIMS("4.1.2", "The same in per cent of the PCI-X limit", "about 70%")
def _(claimed: Printed) -> Finding:
    return claimed.against(best_percent(2), "table 2 over 1064 MB/s", unit="%")


def _peak(claimed: Printed, table: int, tuning: str, mtu_B: int) -> Finding:
    line = curve(table, tuning, mtu_B)
    return claimed.against(int(line.idxmax()), f"{tuning}, {mtu_B} B: {listed(line)}")


@CLAIMS("4.1.2", "1500 B without tuning drops after", "12 streams")
def _(claimed: Printed) -> Finding:
    return _peak(claimed, 2, "none", 1500)


@CLAIMS("4.1.2", "1500 B with kernel tuning drops after", "12 streams")
def _(claimed: Printed) -> Finding:
    return _peak(claimed, 2, "kernel", 1500)


@CLAIMS("4.1.2", "9000 B unchanged or even better with 20 streams", "unchanged or better")
def _(claimed: Printed) -> Finding:
    gains = {t: curve(2, t, 9000)[20] / curve(2, t, 9000)[12] - 1 for t in ("none", "kernel")}
    text = ", ".join(f"{tuning} {100 * gain:+.1f} %" for tuning, gain in gains.items())
    why = "20 against 12 streams; within the few per cent of fluctuation counts as unchanged"
    if min(gains.values()) >= 0:
        return Finding(text, Verdict.HOLDS, why)
    within = min(gains.values()) >= -FLUCTUATION
    return Finding(text, Verdict.ROUNDS if within else Verdict.CONTRADICTED, why)


@CLAIMS("4.1.2", "With all tuning only 1500 B gains from more streams", "only 1500")
def _(claimed: Printed) -> Finding:
    gains = [mtu_B for mtu_B, line in curves(2, "full").items() if line.idxmax() != 1]
    return stands(
        gains == [1500],
        f"{', '.join(map(str, gains))} B",
        "MTUs whose best is not one stream, table 2, full",
    )


@CLAIMS("4.1.2", "9000 and 16114 B are best with one stream", "1 stream")
def _(claimed: Printed) -> Finding:
    peaks = [int(curve(2, "full", mtu_B).idxmax()) for mtu_B in (9000, 16114)]
    return stands(
        set(peaks) == {1}, ", ".join(map(str, peaks)), "streams of the best, table 2, full"
    )


@CLAIMS("4.1.2", "1500 B, full tuning: down with 12 streams, up again with 20", "down, up")
def _(claimed: Printed) -> Finding:
    line = curve(2, "full", 1500)
    return stands(line[4] > line[12] < line[20], listed(line), "1, 4, 12, 20 streams")


@CLAIMS("4.1.3", "12 streams in each direction are in total", "24 streams")
def _(claimed: Printed) -> Finding:
    return claimed.against(2 * 12, "twice 12", unit="streams")


@CLAIMS("4.1.3", "Both directions give a bit better throughput than one", "a bit better")
def _(claimed: Printed) -> Finding:
    both = paired(3, 2)
    higher = int((both["this"] > both["other"]).sum())
    return stands(
        best(3) > best(2),
        f"{100 * (best(3) / best(2) - 1):+.1f} %",
        f"Best of table 3 over best of table 2; so it is in {higher} of {len(both)} cells",
    )


@CLAIMS("4.1.3", "Highest value of table 3", "774 MB/s")
def _(claimed: Printed) -> Finding:
    return claimed.against(best(3), "largest cell of table 3", unit="MB/s")


@CLAIMS("4.1.3", "The same in per cent of the PCI-X limit", "bout 73%")
def _(claimed: Printed) -> Finding:
    return claimed.against(best_percent(3), "table 3 over 1064 MB/s", unit="%")


@CLAIMS("4.1.3", "Without tuning throughput increases with streams, both MTUs", "increases")
def _(claimed: Printed) -> Finding:
    lines = curves(3, "none").values()
    return stands(
        all(line.is_monotonic_increasing for line in lines),
        " | ".join(map(listed, lines)),
        "1500 B | 9000 B at 1, 4, 12, 20 streams",
    )


@CLAIMS("4.1.3", "No big improvement from 12 to 20 streams", "not big")
def _(claimed: Printed) -> Finding:
    gains = [line[20] / line[12] - 1 for line in curves(3, "none").values()]
    return stands(
        max(gains) <= FLAT / 2,
        ", ".join(f"{100 * gain:+.1f} %" for gain in gains),
        f"20 against 12 streams, table 3, none; big is above {100 * FLAT / 2:g} %",
    )


@CLAIMS("4.1.3", "1500 B with kernel tuning clearly drops after", "4 streams")
def _(claimed: Printed) -> Finding:
    return _peak(claimed, 3, "kernel", 1500)


@CLAIMS("4.1.3", "The maximum of 1500 B is still higher with the tuning", "higher")
def _(claimed: Printed) -> Finding:
    tuned, plain = (curve(3, tuning, 1500).max() for tuning in ("kernel", "none"))
    return stands(tuned > plain, f"{tuned:g} to {plain:g} MB/s", "table 3, kernel to none")


@CLAIMS("4.1.3", "Full tuning drops after 4 streams, 16114 B is best with one", "4, 4, 1")
def _(claimed: Printed) -> Finding:
    peaks = [int(line.idxmax()) for line in curves(3, "full").values()]
    return stands(peaks == [4, 4, 1], ", ".join(map(str, peaks)), "streams of the best, table 3")


@CLAIMS("4.2.1", "Curves for full tuning are much flatter than for none", "much flatter")
def _(claimed: Printed) -> Finding:
    none, full = ([swing(line) for line in curves(4, t).values()] for t in ("none", "full"))
    return stands(
        max(full) < min(none) / 2,
        f"{100 * max(full):.0f} % to {100 * min(none):.0f} %",
        "Largest swing of full to smallest of none, table 4; much is less than half",
    )


@CLAIMS("4.2.1", "The maximum is higher when tuning is applied", "higher")
def _(claimed: Printed) -> Finding:
    tops = {t: max(line.max() for line in curves(4, t).values()) for t in ("none", "full")}
    return stands(tops["full"] > tops["none"], f"{tops['full']:g} to {tops['none']:g}", "table 4")


@CLAIMS("4.2.1", "Curves for kernel tuning lie in between", "in between")
def _(claimed: Printed) -> Finding:
    outside = [
        f"{mtu_B} B, {streams} streams: {kernel:g} against {none:g} and {full:g}"
        for mtu_B in (1500, 9000)
        for streams, none, kernel, full in zip(
            curve(4, "none", mtu_B).index,
            curve(4, "none", mtu_B),
            curve(4, "kernel", mtu_B),
            curve(4, "full", mtu_B),
            strict=True,
        )
        if not min(none, full) <= kernel <= max(none, full)
    ]
    return stands(
        not outside,
        f"{len(outside)} of 8 cells outside",
        "; ".join(outside[:1]) or "every cell of table 4 lies between none and full",
    )


@CLAIMS(
    "4.2.2", "Linux64 to Linux32 gives much higher throughput than the other way", "much higher"
)
def _(claimed: Printed) -> Finding:
    both = paired(5, 4)
    ratio = both["this"] / both["other"]
    return stands(
        bool((ratio > 1).all()) and best(5) > 1.5 * best(4),
        f"{best(5):g} to {best(4):g} MB/s",
        f"Bests of tables 5 and 4; cell by cell {ratio.min():.2f} to {ratio.max():.2f} times",
    )


@CLAIMS("4.2.2", "Charts for kernel tuning and no tuning are almost identical", "almost identical")
def _(claimed: Printed) -> Finding:
    change = max(
        (abs(curve(5, "kernel", m) / curve(5, "none", m) - 1) for m in (1500, 9000)),
        key=lambda line: line.max(),
    )
    return stands(
        change.max() <= FLAT,
        f"up to {100 * change.max():.0f} % apart",
        f"At {change.idxmax()} stream, 9000 B, table 5; at 4 and more within "
        f"{100 * change.iloc[1:].max():.0f} %",
    )


@CLAIMS("4.2.2", "The chart for kernel tuning is slightly flatter than for none", "flatter")
def _(claimed: Printed) -> Finding:
    pairs = [(swing(curve(5, "kernel", m)), swing(curve(5, "none", m))) for m in (1500, 9000)]
    return stands(
        all(kernel < none for kernel, none in pairs),
        ", ".join(f"{100 * k:.0f} to {100 * n:.0f} %" for k, n in pairs),
        "Swing over streams, kernel to none, 1500 and 9000 B",
    )


def _flat(table: int) -> Finding:
    swings = {mtu_B: swing(line) for mtu_B, line in curves(table, "full").items()}
    return stands(
        max(swings.values()) <= FLAT,
        ", ".join(f"{100 * value:.0f} %" for value in swings.values()),
        f"Largest over smallest by MTU, table {table}, full; constant is within {100 * FLAT:g} %",
    )


@CLAIMS("4.2.2", "Full tuning: curves nearly completely flat", "flat")
def _(claimed: Printed) -> Finding:
    return _flat(5)


@CLAIMS("4.2.3", "Results are higher than Linux32 to Linux64", "higher")
def _(claimed: Printed) -> Finding:
    both = paired(6, 4)
    higher = int((both["this"] > both["other"]).sum())
    return stands(higher == len(both), f"{higher} of {len(both)} cells", "table 6 against table 4")


@CLAIMS("4.2.3", "The maximum is somewhat lower than Linux64 to Linux32", "lower")
def _(claimed: Printed) -> Finding:
    return stands(best(6) < best(5), f"{best(6):g} to {best(5):g} MB/s", "tables 6 and 5")


@CLAIMS("4.2.3", "With all tuning the throughput is almost constant", "almost constant")
def _(claimed: Printed) -> Finding:
    return _flat(6)


@CLAIMS("4.2.3", "Kernel tuning has a clear peak for 1500 B at", "4 streams")
def _(claimed: Printed) -> Finding:
    return _peak(claimed, 6, "kernel", 1500)


@CLAIMS("4.2.3", "Kernel tuning has a clear peak for 9000 B at", "12 streams")
def _(claimed: Printed) -> Finding:
    return _peak(claimed, 6, "kernel", 9000)


@CLAIMS("4.2.3", "Standard settings, 1500 B: increases up to, then drops a little", "4 streams")
def _(claimed: Printed) -> Finding:
    return _peak(claimed, 6, "none", 1500)


@CLAIMS("4.2.3", "Standard settings, 9000 B: increases even with", "20 streams")
def _(claimed: Printed) -> Finding:
    line = curve(6, "none", 9000)
    return stands(
        line.is_monotonic_increasing and line.idxmax() == claimed.number, listed(line), "table 6"
    )
