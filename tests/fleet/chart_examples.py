"""Arguments of the wing's chart functions."""

from __future__ import annotations

from pathlib import Path

from charts.given import Given, given
from fleet.fleet_effects import fleet_runs

from netlab.fleet.links import link_cells, links


def examples(directory: Path) -> dict[str, Given]:
    of_links = given(links(link_cells(fleet_runs(4, 3), 0.95)))
    names = ("host_matrix", "host_spread", "slow_links")
    return {f"fleet.{name}": of_links for name in names}
