"""Charts of results, as a notebook shows them: finished, with alt text."""

from __future__ import annotations

from netlab.analysis.measured import Measured
from netlab.charts import measured as drawn
from netlab.charts.chart import Chart, Gallery, show
from netlab.report import factors, front


class ResultCharts:
    """Finished charts of results.

    Made by :attr:`netlab.Results.charts`. To draw on axes of your own use
    :meth:`netlab.Results.plot`.

    Parameters
    ----------
    measured : Measured
        The results.

    Examples
    --------
    >>> import netlab
    >>> netlab.Results("openlab-2003").charts.overhead()
    Chart: Histogram of the overhead of 280 runs: ...
    """

    def __init__(self, measured: Measured):
        self._measured = measured

    def opening(self) -> Chart | Gallery:
        """The chart that a report opens with: the group with a target, or else the first."""
        return front.picture(self._measured)

    def panels(self) -> Gallery:
        """Goodput of every group over streams, a panel a tuning."""
        return Gallery.of(*(front.panel(self._measured, group) for group in self._measured.groups))

    def by_factors(self, quantity: str = "goodput") -> Gallery:
        """The two factors with the most levels, for each combination of the others.

        Parameters
        ----------
        quantity : {"goodput", "percent"}
            MB/s, or per cent of the bus.
        """
        return factors.charts(self._measured, quantity)

    def drift(self) -> Chart:
        """Deviation of every valid run from its cell's mean, in the order of measuring."""
        return show(drawn.drift(self._measured.runs, study=self._measured.study))

    def overhead(self) -> Chart:
        """Histogram of the time of runs outside warm-up and window."""
        return show(drawn.overhead(self._measured.runs))
