"""Claims of the openlab report before its results (chapters 1 to 3): buses, buffers."""

from __future__ import annotations

from netlab import bus
from netlab.published.claims.model import Claims, Finding, Printed, uncheckable

CLAIMS = Claims("openlab-report")


@CLAIMS("1", "The bandwidth of the PCI-X bus", "about 1GB/s")
def _(claimed: Printed) -> Finding:
    return claimed.against(
        bus.PCI_X_133.bandwidth_MBps / 1000, "64 bit x 133 MHz, to one digit", unit="GB/s"
    )


@CLAIMS("1", "The practical limit according to system specialists", "80% of this speed")
def _(claimed: Printed) -> Finding:
    low, high = (100 * bus.pci_x_efficiency(b) for b in (512, 4096))
    return uncheckable(
        "No source is named; the burst model gives upper bounds for MMRBC 512 and 4096",
        f"at most {low:.0f} to {high:.0f} %",
    )


@CLAIMS("2.3", "64 bit at 133 MHz, in bits", "8512Mb/s")
def _(claimed: Printed) -> Finding:
    return claimed.against(bus.PCI_X_133.bandwidth_Mbps, "width times clock", unit="Mb/s")


@CLAIMS("2.3", "64 bit at 133 MHz, in bytes", "1064MB/s")
def _(claimed: Printed) -> Finding:
    return claimed.against(bus.PCI_X_133.bandwidth_MBps, "width times clock", unit="MB/s")


@CLAIMS("2.3", "The IA32 computer's bus at 100 MHz", "800MB/s")
def _(claimed: Printed) -> Finding:
    return claimed.against(bus.PCI_X_100.bandwidth_MBps, "width times clock", unit="MB/s")


@CLAIMS("3.2", "Record length found to give the best throughput", "65536")
def _(claimed: Printed) -> Finding:
    return uncheckable("No measurement with another length is printed")


@CLAIMS("3.2", "Socket buffer found to give the best throughput", "262144")
def _(claimed: Printed) -> Finding:
    return uncheckable("No measurement with another buffer is printed")
