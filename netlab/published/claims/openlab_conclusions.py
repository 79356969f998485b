"""Claims of the openlab report after its results: problems, conclusion, appendices."""

from __future__ import annotations

from netlab import bus
from netlab.published.claims.model import Claims, Finding, Printed, stands, uncheckable
from netlab.published.claims.openlab_frame import best, best_percent

CLAIMS = Claims("openlab-report")
_GOAL_PERCENT = 80


@CLAIMS("5.1", "A kernel bug gave values of up to", "950MB/s")
def _(claimed: Printed) -> Finding:
    return uncheckable(
        "No table has it; it is below the bus, so it is not impossible as such",
        f"{bus.PCI_X_133.percent(claimed.number):.0f} % of the bus",
    )


@CLAIMS("5.2", "The most with a slower RAID card on the bus", "256MB/s")
def _(claimed: Printed) -> Finding:
    slowed = bus.shared(bus.PCI_X_100, [bus.pci(64, 33)])
    return uncheckable(
        "The card's speed is not stated; the figure fits a bus brought down to 33 MHz",
        f"{slowed.percent(claimed.number):.0f} % of {slowed.bandwidth_MBps:g} MB/s",
    )


@CLAIMS("6", "The goal of 80% of PCI-X speed was not reached", "not 80%")
def _(claimed: Printed) -> Finding:
    reached = {table: best_percent(table) for table in (1, 2, 3)}
    text = ", ".join(f"{value:.1f}" for value in reached.values())
    return stands(
        max(reached.values()) < _GOAL_PERCENT,
        f"{max(reached.values()):.1f} %",
        f"Best of tables 1 to 3 in per cent of the bus: {text}",
    )


@CLAIMS("6", "Linux64 to Linux64, most in one direction", "744MB/s")
def _(claimed: Printed) -> Finding:
    return claimed.against(best(2), "largest cell of table 2", unit="MB/s")


@CLAIMS("6", "The same in per cent of the bus", "70%")
def _(claimed: Printed) -> Finding:
    return claimed.against(best_percent(2), "table 2 over 1064 MB/s", unit="%")


@CLAIMS("6", "Linux64 to Linux64, most in both directions", "774")
def _(claimed: Printed) -> Finding:
    return claimed.against(best(3), "largest cell of table 3", unit="MB/s")


@CLAIMS("6", "The same in per cent of the bus", "73%")
def _(claimed: Printed) -> Finding:
    return claimed.against(best_percent(3), "table 3 over 1064 MB/s", unit="%")


@CLAIMS("6", "Most from Linux64 to Linux32", "444 MB/s")
def _(claimed: Printed) -> Finding:
    return claimed.against(best(5), "largest cell of table 5", unit="MB/s")


@CLAIMS("6", "Most from Linux32 to Linux64", "283MB/s")
def _(claimed: Printed) -> Finding:
    return claimed.against(best(4), "largest cell of table 4", unit="MB/s")


@CLAIMS("6", "The most is this much of the 800 MB/s", "about 56%")
def _(claimed: Printed) -> Finding:
    return claimed.against(best_percent(5), "444 over 800, half a unit off", unit="%")


@CLAIMS(
    "4.1.2, Appendix A",
    "The counter program is more accurate than adding up streams",
    "60 s by default",
)
def _(claimed: Printed) -> Finding:
    wrap_s = 2**32 / (best(5) * 1e6)
    return uncheckable(
        "It keeps counters in an unsigned long, 32 bits on Linux32, and does not say which host "
        f"it ran on; at {best(5):g} MB/s such a counter wraps within the {claimed.number:g} s",
        f"wraps every {wrap_s:.1f} s",
    )


@CLAIMS("Appendix D", "The highest MTU the network supports", "16114B")
def _(claimed: Printed) -> Finding:
    return uncheckable("A property of the card that no table tests")
