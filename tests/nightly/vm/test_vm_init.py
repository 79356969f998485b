"""`netlab init` of two machines whose cards have four drivers; the study it writes is measured."""

from __future__ import annotations

import re

import pytest

from netlab.results.store import Store

pytestmark = pytest.mark.timeout(600)


def test_init_finds_every_card_and_writes_a_study_that_measures(two_machines):
    site = two_machines
    names = (f"root@{guest.address}" for guest in site.guests.values())
    options = ("--identity-file", str(site.state / "key"), "--output", "found.yml", "--force")
    process = site.start("init", *names, *options)
    said, complaint = process.communicate(timeout=120)
    assert process.returncode == 0, complaint
    text = (site.state / "found.yml").read_text()
    for number, driver in ((1, "e1000e"), (2, "e1000"), (3, "vmxnet3"), (4, "virtio_net")):
        assert re.search(rf"# {driver}\b", text), driver
        assert f"address: 198.18.{number}.1," in text and f"address: 198.18.{number}.2," in text
    assert "PCIe 1.0 x1" in text
    assert re.search(r"left, right: their clocks are \d{8,} s apart", said), said
    words = ("run", "found.yml", "--rounds", "1", "--seconds", "0.1", "--results", "found")
    _, complaint = site.finished(site.start(*words), 300)
    rows = Store(site.state / "found").runs()
    assert rows["run_id"].nunique() == 2 * 3, complaint
    assert not rows["flags"].str.contains("failed|ledger").any(), complaint
    assert (rows["ledger_error_B"] == 0).all()
    site.clean()
