"""A study to look at, to run and to take results from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from netlab.analysis import printed
from netlab.analysis.trust import counted
from netlab.experiment.progress import duration
from netlab.face.parts import Group, Plan, Tuning
from netlab.files import paths
from netlab.files.tables import Table
from netlab.study import Group as GroupDesign
from netlab.study import Study as Design
from netlab.study import load, schedule
from netlab.study.factors import level_text

if TYPE_CHECKING:
    from netlab.face.block import MeasuredBlock, Screening
    from netlab.face.parts import Changes
    from netlab.face.results import Results


# The table of a study: groups, factors, rounds and time.


def design_table(design: Design) -> Table:
    """Groups of a study; its factors, rounds and time in the note."""
    rows = [
        (
            *(group.name, group.path, design.bus_MBps(group.path)),
            *(_levels_of(design, group, option) for option in ("record_length_B", "buffer_B")),
        )
        for group in design.groups
    ]
    frame = pd.DataFrame(rows, columns=["group", "path", "bus_MBps", "record_B", "buffer_B"])
    each = schedule.rounds(design)[0]
    todo = [run for visit in each for run in visit.runs]
    levels = "; ".join(
        f"{printed.tuning_label(level)}: "
        + ("MTU as found" if level.mtus_B is None else f"{', '.join(map(str, level.mtus_B))} B")
        for level in design.tunings
    )
    took_s = schedule.measuring_s(design, todo)
    time = f"{took_s:.1f} s" if took_s < 10 else duration(took_s)
    rounds, precision = counted(design.max_rounds, "round"), design.precision
    if precision is not None:
        rounds = (
            f"{precision.min_rounds} to {precision.max_rounds} rounds, until a cell is within "
            f"{precision.half_width_percent:g} %,"
        )
    note = (
        f"{levels}. Streams {', '.join(map(str, design.streams))}; {rounds} of "
        f"{counted(len(todo), 'run')} in {counted(len(each), 'block')}, each "
        f"{design.timing.text()}: {time} of measuring a round."
    )
    if further := "; ".join(_further(design)):
        note = f"{further}. {note}"
    caption = f"{design.title} ({design.name})"
    return Table(frame, caption, formats={"bus_MBps": ".0f"}, note=note)


def _levels_of(design: Design, group: GroupDesign, option: str) -> object:
    """The option of a group; a list of its levels where it is a factor."""
    levels = getattr(group.factors.over(design.factors), option)
    return getattr(group, option) if levels is None else ", ".join(map(str, levels))


def _further(design: Design) -> Iterator[str]:
    """The further factors and their levels; those of single groups with the group's name."""
    factors: list[tuple[str, Mapping]] = [
        ("", design.factors.given()),
        (", set by hand", design.outer),
    ]
    for group in design.groups:
        factors.insert(-1, (f" ({group.name})", group.factors.given()))
    for where, levels in factors:
        for name, each in levels.items():
            yield f"{name}{where}: {', '.join(map(level_text, each))}"


LAST = ("round", "seconds")
"""Last columns of a plan."""


class Study:
    """A study: what is measured on which hosts, and in which order.

    Parameters
    ----------
    study : str, path or mapping
        Name of a study that comes with netlab, a YAML file, or the content of one.
    quick : bool
        Take the study's short form; its name then ends in ``-quick``.
    **timing
        As :func:`netlab.study.load` takes it: ``rounds``, ``seconds``, ``precision``, ``budget``
        and others in place of the study's.

    Attributes
    ----------
    design : netlab.study.Study
        The validated content.

    Raises
    ------
    BadInput
        Unknown study, or content that cannot be used; it names file, key and value.

    Examples
    --------
    >>> import netlab
    >>> study = netlab.Study("openlab-2003", quick=True, rounds=1)
    >>> study.name
    'openlab-2003-quick'
    >>> study
    10 Gb Ethernet back to back, the 2003 openlab study (openlab-2003-quick)
    ...
    """

    def __init__(
        self,
        study: str | Path | Mapping,
        *,
        quick: bool = False,
        **timing: float | int | str | None,
    ):
        content = study if isinstance(study, Mapping) else paths.study_file(study)
        self.design: Design = load(content, quick=quick, **timing)

    @property
    def name(self) -> str:
        """Its name; results go by it."""
        return self.design.name

    @property
    def title(self) -> str:
        """Its title."""
        return self.design.title

    def plan(self) -> Plan:
        """List every run of the study in the order of measuring.

        Returns
        -------
        Plan
            A frame that shows its order as a chart.
            One row a run: ``order`` from 0, ``block``, ``group``, ``path``, ``direction``,
            ``tuning``, ``mtu_B``, ``streams``, a column for each further factor of the study,
            ``round``, and ``seconds`` of warm-up and window, which is missing for a run that ends
            with an amount of bytes.

        Examples
        --------
        >>> import netlab
        >>> plan = netlab.Study("openlab-2003", quick=True).plan()
        >>> plan.columns.tolist()[:7]
        ['order', 'block', 'group', 'path', 'direction', 'tuning', 'mtu_B']
        >>> plan.groupby("tuning").size().to_dict()
        {'full': 120, 'kernel': 80, 'none': 80}
        >>> f"{plan['seconds'].sum():.0f} s"
        '78 s'
        """
        rows = [
            {
                "order": run.order,
                "block": visit.block_id,
                "group": run.group.name,
                "path": visit.path,
                "direction": run.group.direction,
                "tuning": visit.tuning,
                "mtu_B": visit.mtu_B,
                "streams": run.streams,
                **dict(run.levels),
                "round": run.round,
                "seconds": math.nan
                if run.group.records is not None
                else schedule.measuring_s(self.design, (run,)),
            }
            for visit in schedule.visits(self.design)
            for run in visit.runs
        ]
        frame = pd.DataFrame(rows)
        plan = Plan(frame[[*(name for name in frame if name not in LAST), *LAST]])
        plan.design = self.design
        return plan

    @property
    def groups(self) -> dict[str, Group]:
        """Groups by name; each shows its cells and hosts.

        Examples
        --------
        >>> import netlab
        >>> netlab.Study("openlab-2003").groups["Linux64 -> Linux64"]
        Group Linux64 -> Linux64
        ...
        """
        plan = self.plan()
        return {
            group.name: Group(self.design, group, pd.DataFrame(plan[plan["group"] == group.name]))
            for group in self.design.groups
        }

    @property
    def tunings(self) -> dict[str, Tuning]:
        """Tunings by name, as the first host has them; each shows its knobs and values.

        Examples
        --------
        >>> import netlab
        >>> netlab.Study("openlab-2003").tunings["full"]
        Tuning Driver Tuning of linux64-a
        ...
        """
        host = next(iter(self.design.hosts))
        labels = {level.name: printed.tuning_label(level) for level in self.design.tunings}
        return {name: Tuning(self.design, name, host, labels) for name in labels}

    def changes(self, *, tuning: str | None = None, path: str | None = None) -> Changes:
        """Read what each tuning would change on each host; change nothing.

        Parameters
        ----------
        tuning, path : str, optional
            Only this tuning, only this path.

        Returns
        -------
        Changes
            Shows itself as a diff; its ``frame`` has one row a knob.

        Raises
        ------
        BadInput
            The study has no such tuning or path.
        HostError
            A host cannot be reached.

        Examples
        --------
        >>> import netlab
        >>> study = netlab.Study("openlab-2003", quick=True)
        >>> changes = study.changes(tuning="full", path="64-64")
        >>> changes
        # 64-64, full, MTU 1500: linux64-a
        ...
        >>> sorted(changes.frame["host"].unique())
        ['linux64-a', 'linux64-b']
        """
        from netlab.face.parts import Changes, planned_changes

        return Changes(tuple(planned_changes(self.design, tuning, path)))

    def run(
        self,
        *,
        results: str | Path = "",
        outer: Mapping[str, object] | None = None,
        progress: bool = True,
    ) -> Results:
        """Measure every run that has no valid record yet.

        Hosts are tuned for the time of each block and put back afterwards. An interrupt ends the
        study: settings are reverted, lab hosts removed, and what was measured is kept, so that
        the next call goes on from there.

        Parameters
        ----------
        results : path-like
            Directory for the results, see :func:`netlab.files.paths.given_path`; empty for the
            study's own.
        outer : mapping of str to str, optional
            The level that the hosts have now of each factor that a person sets (``outer`` in the
            study). Only its runs are measured; call again with the hosts at another level.
        progress : bool
            Whether to show progress: block, run, goodput, flags, precision and the time left.

        Returns
        -------
        Results
            All runs of the study, measured now or before.

        Raises
        ------
        BadInput
            An outer factor without a level, or with an unknown one; the directory has results of
            another study.
        NetlabError
            A block failed; what was measured before is kept.
        KeyboardInterrupt
            It was stopped; the message counts the runs that are kept.

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
        ...     "tunings": [{"name": "openlab-2003-kernel", "mtus_B": [9000]}],
        ...     "streams": [1, 4],
        ...     "timing": {"rounds": 1, "seconds": 0.2, "warmup_s": 0.1, "interval_ms": 20},
        ... })
        >>> results = study.run(progress=False)
        >>> results.runs["streams"].tolist() == study.plan()["streams"].tolist()
        True
        """
        from netlab.experiment.campaign import run_study
        from netlab.experiment.progress import Progress
        from netlab.face.results import Results

        directory = self._directory(results)
        if progress:
            with Progress(report=False) as shown:
                done = run_study(self.design, directory=directory, outer=outer, watcher=shown)
            print(f"{done.measured} runs measured, {done.kept} kept from before")
        else:
            run_study(self.design, directory=directory, outer=outer)
        return Results(directory)

    def measure(
        self,
        block: str,
        *,
        round: int = 1,
        results: str | Path = "",
        lab: str = "",
        runs: Sequence[str] = (),
        part: str = "",
        wait_s: float = 0.0,
    ) -> MeasuredBlock:
        """Measure one block in one round: the runs that share a path, a tuning and an MTU.

        Parameters
        ----------
        block : str
            ``path@tuning@MTU``, and factors that are set between blocks, as in the column
            ``block`` of :meth:`plan`.
        round : int
            As in the column ``round`` of :meth:`plan`. Runs with a valid record are not repeated.
        results : path-like
            As :meth:`run` takes it.
        lab : str
            Id of a lab that is up; empty for one of its own, if the study has lab hosts.
        runs, part : sequence of str, str
            Runs to measure, and the part of the store to write, as a campaign gives them.
        wait_s : float
            Longest wait for quiet hosts before they are tuned, s.

        Returns
        -------
        MeasuredBlock
            Its changes, notes, path and cells, each ready to be shown.

        Raises
        ------
        BadInput
            The study has no such block.
        NetlabError
            A host was lost or a tuning could not be applied; what was measured is kept.

        Examples
        --------
        >>> import netlab
        >>> study = netlab.Study("openlab-2003", quick=True)
        >>> measured = study.measure("64-64@kernel@9000")
        >>> measured.runs["round"].unique().tolist(), len(measured.runs)
        ([1], 8)
        >>> measured.cells
        64-64@kernel@9000: goodput, MB/s, mean ± half interval
        ...
        """
        from netlab.face.block import measure

        more: dict[str, Any] = {"runs": runs, "part": part, "lab": lab, "wait_s": wait_s}
        return measure(self.design, block, self._directory(results), round=round, **more)

    def screen(
        self,
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
        from netlab.face.block import screening
        from netlab.screen.design import ScreenRequest

        ask = ScreenRequest(
            *(self.design, tuning, group, streams, mtu_B),
            design=design,
            same_within_percent=same_within,
            confirm_rounds=confirm_rounds,
        )
        place = paths.given_path(results) if str(results) else ask.directory
        return screening(ask, place, progress=progress)

    def mlrsearch(
        self,
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
        from netlab.analysis.bounds import FOLDER
        from netlab.autotune.mlrsearch import Goals, mlrsearch

        goals = Goals(tuple(loss), width, trial_s, duration_sum_s, exceed)
        place = self._directory(results) / ("" if str(results) else FOLDER)
        return mlrsearch(self.design, goals, place, say=print if progress else lambda line: None)

    def _directory(self, results: str | Path) -> Path:
        return paths.given_path(results) if str(results) else paths.results_dir(self.name)

    def _repr_html_(self) -> str:
        return design_table(self.design)._repr_html_()

    def __repr__(self) -> str:
        table = design_table(self.design)
        return f"{table!r}\n{table.note}"
