"""The notebook of a fleet, over a lab of eight hosts that was measured for it."""

from __future__ import annotations

import pytest
from fleet_lab import fleet_lab
from notebook_page import executed_page

import netlab
from netlab.files.paths import data_dir

HOSTS = 8
NOTEBOOK = data_dir().parent / "notebooks" / "21-fleet.ipynb"


@pytest.mark.timeout(600)
def test_eight_hosts_are_measured_and_shown_link_by_link(tmp_path):
    with fleet_lab(tmp_path, HOSTS, rounds=1) as lab:
        _, complaint = lab.run("--at-once", "2").communicate(timeout=400)
        assert f"{HOSTS} of {HOSTS} jobs have a result" in complaint
        assert lab.processes() == []
    page = executed_page(NOTEBOOK, tmp_path, results=lab.results)
    links = len(netlab.Fleet(lab.results).links)  # a busy machine disturbs some
    assert HOSTS <= links <= 2 * HOSTS
    assert f"Of {links} links of {HOSTS} hosts the slowest, n" in page
    assert "The 10 slowest links" in page and page.count("<svg") + page.count("svg+xml") == 2
    assert "No host has links that are all slower, or all faster." in page
    assert f"{HOSTS} of {HOSTS} jobs done" in page
    assert all(f">{name}</th>" in page for name in lab.names)
