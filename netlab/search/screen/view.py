"""A screen of the knobs of a tuning, in a notebook."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from netlab.charts.chart import show
from netlab.experiment.progress import Progress
from netlab.files import paths
from netlab.search.screen.page import chart, least_yaml, tables, to_text
from netlab.search.screen.record import ScreenRecord, read_screen, screen_files
from netlab.search.screen.request import ScreenRequest
from netlab.search.screen.run import screen
from netlab.search.screen.written import write_files, write_least

if TYPE_CHECKING:
    from netlab.analysis.measured import Measured
    from netlab.charts.forest import Axes
    from netlab.face.study import Study


class Screening:
    """The knobs of a tuning that matter on a path, and the least set of them.

    Made by :meth:`netlab.Study.screen`, and found again by :attr:`netlab.Results.screens`. Shows
    itself as forest plot, table and sentences.

    Its ``record`` is the screen as it is stored.
    """

    def __init__(self, record: ScreenRecord):
        self.record = record

    @property
    def effects(self) -> pd.DataFrame:
        """One row a knob: ``ratio``, ``low``, ``high`` and ``verdict``.

        A ratio is goodput with the knob to goodput without. ``with_knob`` is empty but for pairs,
        whose ratio is the effect of one knob with the other to its effect without.
        """
        return self.record.effects

    @property
    def least_set(self) -> tuple[str, ...]:
        """The fewest knobs that give the whole gain; empty if none helps."""
        return self.record.least_set

    @property
    def verdict(self) -> str:
        """Result of the comparison of the least set with the whole tuning."""
        return self.record.verdict

    @property
    def confirmed(self) -> bool:
        """True if the least set is as good as the whole tuning, or better."""
        return self.record.concluded

    @property
    def left_out(self) -> dict[str, str]:
        """Knobs that were not screened, since no host has them or both have the value: reasons."""
        return self.record.left_out

    @property
    def tuning(self) -> str:
        """The least set as the YAML text of a tuning, each knob with its source."""
        return least_yaml(self.record)

    def save(self, path: str | Path) -> Path:
        """Write the least set as a tuning.

        Parameters
        ----------
        path : path-like
            A ``.yml`` file, whose name is that of the tuning; in ``tunings/`` beside a study the
            study can name it. See :func:`netlab.files.paths.given_path`.

        Returns
        -------
        Path
        """
        return write_least(self.record, paths.given_path(path))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a forest plot: every knob with its interval.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; new ones by default. No global theme is set.
        """
        return chart(self.record, ax)

    def _repr_html_(self) -> str:
        return show(self.plot())._repr_html_() + tables(self.record)._repr_html_()

    def __repr__(self) -> str:
        return to_text(self.record)


def screening(
    study: Study,
    tuning: str,
    *,
    group: str | None = None,
    streams: int | None = None,
    mtu_B: int | None = None,
    design: str = "auto",
    same_within: float = 5.0,
    confirm_rounds: int = 10,
    results: str | Path = "",
    progress: bool = True,
) -> Screening:
    """Find the knobs of a tuning that matter, and the least set that gives the whole gain.

    Each knob is a factor with two levels, set or left as found, of a designed experiment; the
    least set is then compared with the whole tuning in rounds of its own. Runs that have a
    valid record are not repeated. Hosts are put back after each row.

    Parameters
    ----------
    tuning : str
        A tuning of the study, or one that netlab brings.
    group : str, optional
        Group to measure; the study's only one by default.
    streams, mtu_B : int, optional
        TCP streams, and MTU of all rows; the first ones of the group and the tuning by default.
    design : {"auto", "full", "folded", "leave-one-out"}
        Rows to measure; ``auto`` is ``full`` for up to 4 knobs, else ``folded``.
    same_within : float
        Bound of *the same*, per cent.
    confirm_rounds : int
        Rounds that compare the least set with the whole tuning.
    results : path-like
        Directory of the screen, see :func:`netlab.files.paths.given_path`; empty for
        ``screens/TUNING`` below the study's results, where its report finds it.
    progress : bool
        Whether to show progress.

    Returns
    -------
    Screening
        Shows itself as forest plot, table and sentences.

    Raises
    ------
    BadInput
        A parameter cannot be used, the group crosses factors, or no knob of the tuning changes
        anything on these hosts.
    NetlabError
        A visit failed; what was measured before is kept.

    Examples
    --------
    >>> import netlab
    >>> host = {"kind": "lab"}
    >>> study = netlab.Study({
    ...     "netlab": 1,
    ...     "name": "two-hosts",
    ...     "title": "Two hosts and a cable",
    ...     "hosts": {"left": host, "right": host},
    ...     "paths": {"cable": {"ends": [{"host": "left"}, {"host": "right"}], "link": {}}},
    ...     "groups": [{"name": "left -> right", "path": "cable", "sender": "left"}],
    ...     "tunings": [{"name": "mine", "mtus_B": [1500], "knobs": [
    ...         {"kind": "sysctl", "name": "net.ipv4.tcp_timestamps", "value": "0"},
    ...     ]}],
    ...     "streams": [1],
    ...     "timing": {"rounds": 3, "seconds": 0.1, "warmup_s": 0.05, "interval_ms": 20},
    ...     "noise": {"steal_percent": 100, "foreign_cpu_percent": 100, "retries": 0},
    ... })
    >>> found = study.screen("mine", confirm_rounds=3, progress=False)
    >>> found.effects.columns.tolist()[:5]
    ['knob', 'with_knob', 'ratio', 'low', 'high']
    >>> found
    knob                     effect, % interval ...
    net.ipv4.tcp_timestamps ...
    """
    ask = ScreenRequest(
        *(study.design, tuning, group, streams, mtu_B),
        design=design,
        same_within_percent=same_within,
        confirm_rounds=confirm_rounds,
    )
    place = paths.given_path(results) if str(results) else ask.directory
    watch = partial(Progress, report=False) if progress else None
    found = screen(ask, place, watch=watch, say=print if progress else lambda line: None)
    write_files(found, place)
    return Screening(found)


def screens(m: Measured) -> dict[str, Screening]:
    """Screens of tunings on the hosts of a study, by the names of their directories.

    They are those that :meth:`netlab.Study.screen` and ``netlab screen`` stored in ``screens/``
    below its results; each is a page of the report.

    Raises
    ------
    NetlabError
        A stored screen cannot be read.

    Examples
    --------
    >>> import netlab
    >>> netlab.Results("openlab-2003").screens
    {}
    """
    return {file.parent.name: Screening(read_screen(file)) for file in screen_files(m.results)}
