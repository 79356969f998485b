"""A screen of the knobs of a tuning, in a notebook."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from netlab.experiment.progress import Progress
from netlab.files import paths

if TYPE_CHECKING:
    from netlab.charts.forest import Axes
    from netlab.search.screen.design import ScreenRequest
    from netlab.search.screen.record import ScreenRecord


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
        from netlab.search.screen.page import least_yaml

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
        from netlab.search.screen.run import write_least

        return write_least(self.record, paths.given_path(path))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a forest plot: every knob with its interval.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; new ones by default. No global theme is set.
        """
        from netlab.search.screen.page import chart

        return chart(self.record, ax)

    def _repr_html_(self) -> str:
        from netlab.charts.chart import show
        from netlab.search.screen.page import tables

        return show(self.plot())._repr_html_() + tables(self.record)._repr_html_()

    def __repr__(self) -> str:
        from netlab.search.screen.page import to_text

        return to_text(self.record)


def screening(ask: ScreenRequest, place: Path, *, progress: bool = True) -> Screening:
    """Screen a tuning and store the outcome; see :meth:`netlab.face.study.Study.screen`."""
    from netlab.search.screen.run import screen, write_files

    watch = partial(Progress, report=False) if progress else None
    found = screen(ask, place, watch=watch, say=print if progress else lambda line: None)
    write_files(found, place)
    return Screening(found)
