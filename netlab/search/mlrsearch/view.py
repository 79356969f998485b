"""A search for rates without loss, in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from netlab.files import paths
from netlab.search.mlrsearch.bounds import FOLDER
from netlab.search.mlrsearch.run import mlrsearch
from netlab.search.mlrsearch.search import Goals

if TYPE_CHECKING:
    from netlab.face.study import Study


def searched(
    study: Study,
    *,
    loss: Sequence[float] = (0.0, 0.5),
    width: float = 0.5,
    trial_s: float = 1.0,
    duration_sum_s: float = 21.0,
    exceed: float = 50.0,
    results: str | Path = "",
    progress: bool = True,
) -> pd.DataFrame:
    """Find the highest rate without loss, and with little, of each cell of datagrams.

    MLRsearch (draft-ietf-bmwg-mlrsearch) varies the load below the study's
    ``socket.pacing_MBps``. Each trial is a stored run; a valid one is not repeated.

    Parameters
    ----------
    loss : sequence of float
        Goal loss ratios, per cent.
    width, exceed : float
        Goal width of the bounds, per cent of the upper, and goal exceed ratio, per cent.
    trial_s, duration_sum_s : float
        Goal final trial duration, and goal duration sum, s.
    results : path-like
        Directory of trials and ``bounds.csv``, as :meth:`run` takes it; empty for ``mlrsearch``
        below the study's results, where its report finds it.
    progress : bool
        Whether to print each trial.

    Returns
    -------
    pandas.DataFrame
        One row a cell and goal: ``group``, ``cell``, ``streams``, ``record_length_B``,
        ``loss_percent``; relevant bounds ``lower`` and ``upper`` and conditional
        ``throughput``, each in ``_MBps`` of payload and datagrams ``_per_s``, of one direction;
        ``limit`` (path, sender, receiver or highest rate), ``trials``, ``trials_s``, the goal,
        and ``message``: why there are no bounds. Rates that are not the path's are NaN.

    Raises
    ------
    BadInput
        A goal cannot be met, or no group of the study sends datagrams.
    NetlabError
        MLRsearch is not installed, or a visit failed; earlier trials stay.

    Examples
    --------
    >>> import netlab
    >>> host, link = {"kind": "lab"}, {"emulator": {"rate_Mbps": 8, "queue_packets": 30}}
    >>> ends = [{"host": "left"}, {"host": "right"}]
    >>> study = netlab.Study({
    ...     "netlab": 1,
    ...     "name": "two-hosts",
    ...     "title": "Two hosts and a link",
    ...     "hosts": {"left": host, "right": host},
    ...     "paths": {"link": {"ends": ends, "link": link}},
    ...     "groups": [{"name": "one", "path": "link", "sender": "left", "generator": "udp"}],
    ...     "factors": {"record_length_B": [1000]},
    ...     "streams": [1],
    ...     "socket": {"pacing_MBps": 2},
    ...     "noise": {"steal_percent": 100, "foreign_cpu_percent": 100},
    ... })
    >>> bounds = study.mlrsearch(loss=[0.5], width=5, duration_sum_s=1, progress=False)
    >>> bounds[["record_length_B", "loss_percent"]].to_numpy().tolist()
    [[1000.0, 0.5]]
    """
    goals = Goals(tuple(loss), width, trial_s, duration_sum_s, exceed)
    own = paths.results_dir(study.name) / FOLDER
    place = paths.given_path(results) if str(results) else own
    return mlrsearch(study.design, goals, place, say=print if progress else lambda line: None)
