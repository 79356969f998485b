"""A study to look at, to run and to take results from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MethodType
from typing import TYPE_CHECKING, Any

import pandas as pd

from netlab import wings
from netlab.analysis import cell_texts
from netlab.errors import NetlabError
from netlab.face.between import between
from netlab.face.changes import Changes, planned_changes
from netlab.face.design import design_table, planned_runs
from netlab.face.parts import Group, Plan, Tuning
from netlab.files import paths
from netlab.files.writing import write_text
from netlab.study import Study as Design
from netlab.study import load
from netlab.study.frozen import short_text

if TYPE_CHECKING:
    from netlab.face.block import MeasuredBlock
    from netlab.face.results import Results


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

    @classmethod
    def between(
        cls,
        left: str,
        right: str,
        *,
        ssh: bool = False,
        data: tuple[str, str] | None = None,
        rate_Mbps: float | Sequence[float] | None = None,
        rtt_ms: float | Sequence[float] | None = None,
        streams: int | Sequence[int] = 1,
        mtu_B: int | Sequence[int] | None = None,
        tuning: str | Sequence[str] = "as-found",
        both_ways: bool = False,
        name: str = "",
        timing: Mapping[str, object] | None = None,
        **factors: object,
    ) -> Study:
        """Make a study of the path between two hosts.

        Parameters
        ----------
        left, right : str
            Names of two hosts of the lab; of machines of yours, with `ssh`, ``HOST``,
            ``USER@HOST``, ``HOST:PORT`` or an alias of ``~/.ssh/config``. `left` sends.
        ssh : bool
            Whether they are machines of yours. They are logged in to, and the path that joins them
            is found by its addresses and a ping; nothing is changed on them.
        data : tuple of str, optional
            Data addresses of both ends, of SSH hosts with several paths.
        rate_Mbps : float or list, optional
            Rate of each direction, 10^6 bit/s of frames: of the lab's link, or of an emulated path
            with `rtt_ms`; of SSH hosts that of the real link, as a ceiling.
        rtt_ms : float or list, optional
            Round-trip time of an emulated path between lab hosts, ms.
        streams : int or list of int
            TCP streams in each direction.
        mtu_B : int or list of int, optional
            MTU, B; as found by default. With *as-found* the tuning is called ``untuned`` then.
        tuning : str or list of str
            Tunings, as ``netlab tunings`` lists them.
        both_ways : bool
            Whether both directions are measured at the same time.
        name : str
            Name of the study; ``LEFT-RIGHT`` by default.
        timing : mapping, optional
            ``rounds``, ``seconds``, ``warmup_s``, ``interval_ms``: 5 rounds of 2 s by default.
        **factors
            Any other factor of a study (``docs/factors.md``), with a level or a list of them, such
            as ``congestion=["cubic", "bbr"]``, ``queue_B=250_000`` or ``loss=0.001``.

        Returns
        -------
        Study
            A study with one path and one group; :meth:`to_yaml` gives it as a file to edit.

        Raises
        ------
        BadInput
            Values that make no study, an RTT of SSH hosts, or more than one level of their rate.
        HostError
            An SSH host cannot be reached.

        Examples
        --------
        >>> import netlab
        >>> study = netlab.Study.between("left", "right", rate_Mbps=100, rtt_ms=[10, 50], streams=4)
        >>> study.plan().groupby(["rtt_ms", "streams"]).size().to_dict()
        {(10.0, 4): 5, (50.0, 4): 5}
        """
        content = between(
            (left, right), ssh=ssh, data=data, rate_Mbps=rate_Mbps, rtt_ms=rtt_ms, streams=streams,
            mtu_B=mtu_B, tuning=tuning, both_ways=both_ways, name=name, timing=timing, more=factors,
        )  # fmt: skip
        return cls(content)

    def to_yaml(self, path: str | Path = "") -> str:
        """The study as YAML, without what is left at its default.

        Parameters
        ----------
        path : path-like
            File to write as well, see :func:`netlab.files.paths.given_path`; none by default.

        Returns
        -------
        str
            Text that :class:`Study` and ``netlab study FILE`` read as this study.

        Raises
        ------
        NetlabError
            The file cannot be written.

        Examples
        --------
        >>> import netlab
        >>> text = netlab.Study.between("left", "right", rate_Mbps=100).to_yaml("mine.yml")
        >>> print(text)
        netlab: 1
        name: left-right
        ...
        >>> netlab.Study("mine.yml").plan().equals(netlab.Study.between(
        ...     "left", "right", rate_Mbps=100).plan())
        True
        """
        text = short_text(self.design)
        if str(path):
            target = paths.given_path(path)
            try:
                write_text(target, text)
            except OSError as error:
                reason = f"cannot write {target}: {error.strerror or error}"
                raise NetlabError(reason, code="E-FACE-013") from None
        return text

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
        {'full': 180, 'kernel': 120, 'none': 120}
        >>> f"{plan['seconds'].sum():.0f} s"
        '118 s'
        """
        plan = Plan(planned_runs(self.design))
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
        labels = {level.name: cell_texts.tuning_label(level) for level in self.design.tunings}
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
        the next call goes on from there. Ctrl-C is an interrupt in a coroutine and in a thread as
        well, unless the caller has a handler of SIGINT of their own.

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
        **campaign: Any,
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
        **campaign
            Further requests of a campaign, in the notebook of its visit.

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
        from netlab.experiment.request import VisitRequest
        from netlab.face.block import measure

        place = str(self._directory(results))
        return measure(self.design, VisitRequest("", block, round, place, lab=lab, **campaign))

    if TYPE_CHECKING:  # a wrong name is a mistake that a checker finds; those of wings are known
        mlrsearch: Any
        screen: Any
    else:

        def __getattr__(self, name: str) -> Any:
            """Give what an installed wing offers under a name, such as ``screen``."""
            offered = {} if name.startswith("_") else wings.methods(dir(type(self)))
            if name not in offered:
                text = f"'Study' object has no attribute {name!r}"
                raise AttributeError(text, name=name, obj=self)
            return MethodType(wings.load(offered[name]), self)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *wings.methods()]

    def _directory(self, results: str | Path) -> Path:
        return paths.given_path(results) if str(results) else paths.results_dir(self.name)

    def _repr_html_(self) -> str:
        return design_table(self.design)._repr_html_()

    def __repr__(self) -> str:
        table = design_table(self.design)
        return f"{table!r}\n{table.note}"
