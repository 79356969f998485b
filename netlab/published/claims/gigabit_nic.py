"""Claims of the article on gigabit cards."""

from __future__ import annotations

from functools import cache

from netlab import bus, published
from netlab.congestion.window_laws import ethernet_goodput_Mbps
from netlab.published.claims.model import Claims, Finding, Printed, stands, uncheckable

CLAIMS = Claims("gigabit-nic")
_LINK_MBPS = 1000
_PRACTICAL_PCI_MBPS = 80


@cache
def _rate_Mbps(phase: str) -> float:
    frame = published.load("gigabit-tuning").set_index(["document", "phase"])
    return float(frame.loc[("gigabit-nic", phase), "rate_Mbps"])


@CLAIMS("Hardware considerations", "PCI of 32 bit and 33 MHz", "133MB/s")
def _(claimed: Printed) -> Finding:
    return claimed.against(
        bus.PCI_32_33.bandwidth_MBps, "32 bit at a quarter of 133 MHz", unit="MB/s"
    )


@CLAIMS("Hardware considerations", "That bus is realistically limited to", "around 80MB/s")
def _(claimed: Printed) -> Finding:
    return uncheckable(
        "No measurement on such a bus is given", f"{bus.PCI_32_33.percent(80):.0f} % of the bus"
    )


@CLAIMS("Hardware considerations", "1000Mb/s is", "125MB/s")
def _(claimed: Printed) -> Finding:
    return claimed.against(_LINK_MBPS / 8, "8 bits a byte", unit="MB/s")


@CLAIMS("Hardware considerations", "80MB/s works out to", "640Mb/s")
def _(claimed: Printed) -> Finding:
    return claimed.against(_PRACTICAL_PCI_MBPS * 8, "8 bits a byte", unit="Mb/s")


@CLAIMS("Hardware considerations", "80MB/s limits a gigabit card", "a major limiting factor")
def _(claimed: Printed) -> Finding:
    share = 100 * _PRACTICAL_PCI_MBPS * 8 / ethernet_goodput_Mbps(_LINK_MBPS, 1500)
    return stands(share < 90, f"{share:.0f} %", "of what TCP carries at MTU 1500 on the link")


@CLAIMS("Hardware considerations", "640Mb/s is faster than most installations", "most")
def _(claimed: Printed) -> Finding:
    return uncheckable("No survey is given")


@CLAIMS("Hardware considerations", "A 66MHz PCI slot can do", "266MB/s")
def _(claimed: Printed) -> Finding:
    return claimed.against(bus.PCI_32_66.bandwidth_MBps, "32 bit at half of 133 MHz", unit="MB/s")


@CLAIMS("Hardware considerations", "64 bit on a 66MHz bus", "532MB/s")
def _(claimed: Printed) -> Finding:
    return claimed.against(bus.PCI_64_66.bandwidth_MBps, "64 bit at half of 133 MHz", unit="MB/s")


@CLAIMS("Software Considerations", "230 Mb/s in multiples of a 100Mb/s card", "about 2 times")
def _(claimed: Printed) -> Finding:
    return claimed.against(_rate_Mbps("before") / 100, "230 over 100, to one digit", unit="times")


@CLAIMS("Software Considerations", "Improvement over the initial test", "more than threefold")
def _(claimed: Printed) -> Finding:
    ratio = _rate_Mbps("after") / _rate_Mbps("before")
    return stands(ratio > 3, f"{ratio:.2f} times", "895 over 230 Mb/s")


@CLAIMS("Software Considerations", "Attained at the normal 1500 byte MTU", "900Mb/s")
def _(claimed: Printed) -> Finding:
    most = ethernet_goodput_Mbps(_LINK_MBPS, 1500)
    return claimed.against(
        _rate_Mbps("after"),
        f"Measured; to tens. TCP carries at most {most:.0f} at that MTU",
        unit="Mb/s",
        allowance=5,
    )


@CLAIMS("Windows", "A sufficiently large TcpWindowSize", "131400")
def _(claimed: Printed) -> Finding:
    rtt_ms = claimed.number * 8 / _LINK_MBPS / 1000
    return uncheckable(
        f"No round-trip time is given; at {_LINK_MBPS} Mb/s it suffices up to this",
        f"{rtt_ms:.2f} ms",
    )
