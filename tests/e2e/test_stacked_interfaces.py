"""Hosts whose data interface lies on another one: named, bounded, and measured like a card."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml
from e2e.faults.fault_site import Site

from netlab.results.store import Store

PORT = {"macvlan": "mv0", "bridge": "br0"}


@pytest.fixture
def site(tmp_path, request) -> Iterator[Site]:
    """Host a has its data address on a macvlan, or a bridge, of its card."""
    kind = request.param
    with Site(tmp_path) as site:
        top = PORT[kind]
        if kind == "macvlan":
            site.ip("a", "link add mv0 link data0 type macvlan mode bridge")
        else:
            site.ip("a", "link add br0 type bridge")
            site.ip("a", "link set data0 master br0")
        site.ip("a", "addr del 198.18.0.1/24 dev data0")
        site.ip("a", f"addr add 198.18.0.1/24 dev {top}")
        site.ip("a", f"link set {top} up")
        yield site


def study(site: Site, top: str, mtus_B: list[int] | None = None) -> None:
    content = yaml.safe_load(site.study.read_text())
    content["paths"]["cable"]["ends"][0]["interface"] = top
    ring = {"kind": "ring", "name": "rx", "value": 512}
    tuning = {"name": "big", "mtus_B": mtus_B, "knobs": [ring]}
    content["tunings"] = [tuning] if mtus_B else [{"name": "as-found"}]
    site.study.write_text(yaml.safe_dump(content, sort_keys=False))


@pytest.mark.parametrize("site", ["macvlan"], indirect=True)
def test_a_macvlan_is_named_and_its_mtu_is_that_of_its_parent(site):
    study(site, "mv0")
    code, printed = site.check()
    assert code == 0, printed
    assert "a: mv0 is a macvlan (mode bridge) on data0; ring, queues" in printed
    assert "and speed are of data0, not of mv0" in printed
    study(site, "mv0", [9000])
    code, printed = site.check()
    assert code == 1 and "whose MTU is at most that of data0, 1500 B" in printed, printed
    assert "`ip link set dev data0 mtu 9000` first; `mtus_B: [1500]` fits it" in printed
    assert "RTM_SETLINK" not in printed
    study(site, "mv0", [1400])
    site.completed(seconds=0.5)
    (row,) = Store(site.results).runs().itertuples()
    assert row.ledger_error_B == 0 and row.mtu_B == 1400
    assert "are of data0, not of mv0" in row.unsupported, row.unsupported


@pytest.mark.parametrize("site", ["bridge"], indirect=True)
def test_a_bridge_is_named_with_its_ports(site):
    study(site, "br0")
    code, printed = site.check()
    assert code == 0 and "a: br0 is a bridge of data0; ring, queues" in printed, printed
    site.completed(seconds=0.5)
    (row,) = Store(site.results).runs().itertuples()
    assert row.ledger_error_B == 0


@pytest.mark.parametrize("site", ["macvlan", "bridge"], indirect=True)
def test_init_finds_and_names_it(site):
    names = (f"root@{management}" for management, _, _ in site.addresses.values())
    process = site.start("init", *names, "--identity-file", str(site.state / "key"), "-o", "f.yml")
    _, complaint = process.communicate(timeout=240)
    assert process.returncode == 0, complaint
    text = (site.state / "f.yml").read_text()
    assert "mv0 is a macvlan (mode bridge) on data0" in text or "br0 is a bridge of" in text, text
