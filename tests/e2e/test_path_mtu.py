"""A router whose links carry less than the cards of both hosts, and says so."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from e2e.faults.fault_site import ADDRESSES, STUDY, Site, run

import netlab
from netlab.analysis.answers import best
from netlab.analysis.measured import load_measured
from netlab.analysis.printed import as_printed
from netlab.charts.chart import show
from netlab.charts.study_charts import panels

ROUTED = {
    "a": (*ADDRESSES["a"][:2], "198.18.1.1"),
    "b": (*ADDRESSES["b"][:2], "198.18.2.1"),
}
AS_FOUND = re.sub(
    r"tunings:.*?(?=streams:)", "tunings: [{{name: as-found}}]\n", STUDY, flags=re.DOTALL
)
SMALLER = r"MTU 9000 as found: the path carries packets of 1500 B: a router or a setting of a host"


class RoutedSite(Site):
    """The middle routes between the hosts, with 1500 B, in place of its bridge."""

    def up(self) -> None:
        super().up()
        self.ip("mid", "link del bridge")
        run(*self.inside("mid", "sysctl", "-qw", "net.ipv4.ip_forward=1"))
        for number, name in enumerate(self.addresses, start=1):
            self.ip("mid", f"addr add 198.18.{number}.254/24 dev to-{name}")
            self.ip(name, "link set data0 mtu 9000")
            self.ip(name, f"route add 198.18.0.0/16 via 198.18.{number}.254")
            self.ip("mid", f"route replace 198.18.{number}.0/24 dev to-{name} mtu 1500")


@pytest.fixture
def site(tmp_path) -> Iterator[RoutedSite]:
    with RoutedSite(tmp_path, addresses=ROUTED, study=AS_FOUND) as site:
        yield site


def test_the_packets_of_the_path_are_found_recorded_and_shown(site):
    for _ in range(2):  # the second time the hosts know the path's MTU from the first
        code, printed = site.check()
        assert code == 0 and re.search(f"warn .*{SMALLER}", printed), printed
    site.completed(seconds=0.5)
    (row,) = site.rows().itertuples()
    assert (row.mtu_B, row.packet_B, row.mss_B) == (9000, 1500, 1448), (row.flags, row.message)
    results = netlab.Results(str(site.results))
    assert results.cells["packet_B"].tolist() == [1500]
    used = "asked 9000 B, used 1500 B"
    m = load_measured(site.results)
    assert used in str(as_printed(m.cells, "only", study=m.study).index.tolist())
    assert used in show(panels(m.cells, "only", study=m.study)).alt
    if m.cells["n_valid"].all():  # other work on this machine may have disturbed it
        assert used in best(m)


def test_a_study_that_fixes_an_mtu_fails_with_the_size_that_the_path_carries(site):
    site.study.write_text(STUDY.format(state=site.state, **site.addresses))
    for _ in range(2):
        code, printed = site.check()
        assert code == 1, printed
        assert re.search(r"fail .*MTU 9000: the path carries packets of 1500 B", printed), printed
        assert "`mtus_B: [1500]` fits it" in printed
