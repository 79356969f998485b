"""A measured fleet as a notebook shows it."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from netlab.analysis.cell_precision import nominal_level
from netlab.face.example_results import own_or_example, source
from netlab.face.notebook import Site
from netlab.files import paths
from netlab.files.tables import Sentence, Table
from netlab.fleet import tables as fleet_tables
from netlab.fleet.links import link_cells, links
from netlab.fleet.outlying_hosts import outlying_hosts
from netlab.fleet.pair_results import fleet_left_out, fleet_runs
from netlab.fleet.plan import read_plan
from netlab.fleet.status import FleetStatus, fleet_status

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Fleet:
    """Results of one study over many pairs of hosts, from ``netlab fleet run``.

    Shows itself as its state and its slowest links.

    Parameters
    ----------
    results : str or path
        Directory of the fleet's results, or the name of its study.

    Raises
    ------
    NetlabError
        There is no fleet; or, from the attributes, none of its pairs has a run.

    Examples
    --------
    After ``netlab fleet run racks.yml --inventory hosts.yml``, ``netlab.Fleet("racks").plot()``
    draws the matrix of hosts; before it, that of the example that comes with netlab.

    >>> import netlab
    >>> fleet = netlab.Fleet("racks")
    >>> len(fleet.links), fleet.outlying["host"].tolist()
    (30, ['rack2-b'])
    """

    def __init__(self, results: str | Path):
        here = paths.given_path(own_or_example(results))
        self.plan = read_plan(here if here.is_dir() else paths.results_dir(str(results)))

    @property
    def source(self) -> Sentence:
        """Source of the results; of an example also the command that measures one's own."""
        inventory = str(Path("~/.ssh/config").expanduser())
        command = ("fleet", "run", str(self.plan.folder / "study.yml"), "--inventory", inventory)
        return source(self.plan.study(), self.plan.directory, self.runs, command)

    @property
    def status(self) -> FleetStatus:
        """State of jobs and hosts at this moment."""
        return fleet_status(self.plan)

    @cached_property
    def runs(self) -> pd.DataFrame:
        """The runs that count of all pairs, with the column ``pair``."""
        return fleet_runs(self.plan)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """Goodput of each cell of each link, MB/s, with its interval."""
        return link_cells(self.runs, nominal_level(self.plan.study()))

    @cached_property
    def links(self) -> pd.DataFrame:
        """One row for each ordered pair of hosts, the slowest first."""
        return links(self.cells)

    @cached_property
    def outlying(self) -> pd.DataFrame:
        """Hosts whose links are all slower or faster."""
        return outlying_hosts(self.links)

    def plot(self) -> Axes:
        """Draw the matrix of hosts; see :func:`netlab.fleet.charts.host_matrix`."""
        from netlab.fleet.charts import host_matrix  # Matplotlib; `fleet status` needs none

        return host_matrix(self.links)

    def spread(self, ax: Axes | None = None) -> Axes:
        """Draw every link of each host; see :func:`netlab.fleet.charts.host_spread`."""
        from netlab.fleet.charts import host_spread  # Matplotlib

        return host_spread(self.links, ax=ax)

    @property
    def answer(self) -> Sentence:
        """The slowest link and the hosts that stand out, in words."""
        return Sentence(fleet_tables.answer(self.links, self.outlying))

    def slowest(self, most: int = 10) -> Table:
        """Return the slowest links as a table: share and that of the other direction, per cent."""
        return fleet_tables.slowest(self.links, most)

    def hosts(self) -> Table:
        """Return the hosts that stand out as a table."""
        return fleet_tables.outlying_hosts(self.outlying)

    def report(self, site: str | Path | None = None) -> Site:
        """Write the report: matrix of hosts, slowest links, hosts, and state of the campaign.

        Parameters
        ----------
        site : str or path, optional
            Directory of the report; that of ``netlab report`` by default.

        Returns
        -------
        Site
            Shows itself as a link to its first page.

        Raises
        ------
        BadInput
            The directory contains something else.
        NetlabError
            No link has a valid run, or the site cannot be written.
        """
        from netlab.fleet.site import FleetResults, build_fleet_site  # Matplotlib

        study = self.plan.study()
        measured = (self.runs, self.cells, self.links, self.outlying, self.status)
        found = FleetResults(study.title, study.description, *measured, fleet_left_out(self.plan))
        place = paths.site_dir() if site is None else paths.given_path(site)
        built_at = f"{datetime.now(UTC):%Y-%m-%d %H:%M UTC}"
        return Site(build_fleet_site(found, place, built_at=built_at))

    def _repr_html_(self) -> str:
        return self.status._repr_html_() + self.slowest()._repr_html_()

    def __repr__(self) -> str:
        return f"{self.status.sentence}\n{self.slowest()!r}"
