"""Settings of hosts that change between runs of a study, and change back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from e2e.faults.fault_site import SENT_B, Site, run
from waiting import until

from netlab.results.store import Store


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("changing")) as site:
        yield site


def netlab(site: Site, *words: str) -> str:
    """Output and complaint of a command that succeeds."""
    process = site.start(*words)
    out, complaint = process.communicate(timeout=240)
    assert process.returncode == 0, out + complaint
    return out + complaint


CHANGES = {
    "sysctl": (
        "sysctl -qw net.ipv4.tcp_congestion_control={}",
        "bbr",
        "reno",
        "congestion control",
    ),
    "card": ("ethtool -K data0 gso {}", "off", "on", "feature gso"),
}


@pytest.mark.parametrize("changed", CHANGES)
def test_a_setting_that_the_tuning_leaves_as_found_is_a_condition(site, changed):
    """The tuning sets the MTU and one sysctl; the others are the host's own."""
    command, first, second, label = CHANGES[changed]
    results = site.state / changed
    words = (str(site.study), "--rounds", "2", "--seconds", "0.3", "--results", str(results))

    def measured(value: str) -> str:
        for name in ("a", "b"):
            run(*site.inside(name, *command.format(value).split()))
        return netlab(site, "run", *words)

    assert "under other settings" not in measured(first)
    second_day = measured(second)
    assert (
        f"records made under other settings do not count: {label} {first}, now {second}"
        in second_day
    )
    store = Store(results)
    assert store.runs()["campaign"].nunique() == 1 and len(store.runs(superseded=True)) == 4
    before = len(store.parts())
    assert "2 kept from before" in measured(first)
    assert len(store.parts()) == before
    shown = netlab(site, "results", "show", str(results))
    assert f"under other settings: {label} {second}, 2 runs; not counted" in shown


def test_a_setting_that_the_tuning_leaves_and_that_changes_during_a_visit_flags_its_runs(site):
    """Two runs of one visit, under two defaults of the host."""
    results = site.state / "within"
    for name in ("a", "b"):
        run(*site.inside(name, "sysctl", "-qw", "net.ipv4.tcp_congestion_control=bbr"))
    before = site.sent_B()
    options = ("--rounds", "1", "--seconds", "2", "--results", str(results))
    process = site.start("run", str(site.study), *options)
    until(lambda: site.sent_B() > before + SENT_B, 60)
    run(*site.inside("a", "sysctl", "-qw", "net.ipv4.tcp_congestion_control=reno"))
    out, complaint = process.communicate(timeout=240)
    assert process.returncode == 4, out + complaint
    said = "a: net.ipv4.tcp_congestion_control was bbr, is reno"
    runs = Store(results).runs()
    assert len(runs) and runs["flags"].str.contains("tuning_drift").all()
    assert runs["message"].str.contains(said, regex=False).all()
    assert f"{said}: runs of cable@big@9000@r1 are flagged" in complaint
