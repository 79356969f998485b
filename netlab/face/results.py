"""Stored results of a study: tables and charts by factors, comparisons and the report."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netlab import wings
from netlab.analysis import any_factors
from netlab.analysis.cell_texts import GoodputColumn, Quantity
from netlab.analysis.compare import SAME_WITHIN_PERCENT
from netlab.errors import check, require
from netlab.face.compared import Comparison, compare
from netlab.face.notebook import Site
from netlab.face.stored import Concatenated, StoredResults
from netlab.files import paths
from netlab.files.tables import Sentence, Table
from netlab.report.tables import Tables, groups, summary

if TYPE_CHECKING:
    from netlab.charts.forest import Axes
    from netlab.face import views
    from netlab.report.explore import Explorer
    from netlab.report.gate import Banner
    from netlab.report.notebook_answer import Answer


def concat(results: Mapping[str, Results | str | Path]) -> Concatenated:
    """Put the frames of several results one below the other.

    Parameters
    ----------
    results : mapping of str to Results, str or path
        Name of each, and the results or what :class:`Results` takes.

    Returns
    -------
    Concatenated
        ``runs``, ``cells``, ``rates``, ``knobs`` and ``settings``, as of :class:`Results`, each
        with the column ``results``.

    Raises
    ------
    BadInput
        No results, unknown ones, or something else than a mapping.

    Examples
    --------
    >>> import netlab
    >>> both = netlab.concat({"measured": "openlab-2003", "table 2": "openlab-table-2"})
    >>> both.cells.groupby("results")["goodput_MBps"].count().to_dict()
    {'measured': 140, 'table 2': 28}
    >>> both.runs["tuning"].cat.categories.tolist()
    ['none', 'kernel', 'full']
    """
    text = "must be a mapping of names to results, such as {'before': a, 'after': b}"
    check(isinstance(results, Mapping) and len(results), "results", None, text, "E-FACE-012")
    return Concatenated(
        {
            str(name): one if isinstance(one, StoredResults) else Results(one)
            for name, one in results.items()
        }
    )


class Results(StoredResults):
    """Results of a study, as they are stored.

    Parameters
    ----------
    name : str or path
        Name or file of the study, or the directory of its results. Of a study and its short form
        the one measured last is taken; ``NAME-quick`` is always the short form. Of several
        campaigns the latest is taken; ``NAME@CAMPAIGN`` or ``DIR@CAMPAIGN`` names another.
    results : path-like
        Directory of the results, where it is not the study's own. Without results of the user's
        own those of an example that comes with netlab are taken, see :attr:`source`.
    superseded : bool
        Whether :attr:`runs` has the records that a later campaign superseded, too.

    Attributes
    ----------
    measured : Measured
        Study, runs, cells and bottlenecks, as the functions of :mod:`netlab.analysis`,
        :mod:`netlab.charts` and :mod:`netlab.report` take them.

    Raises
    ------
    BadInput
        Unknown study, no results, or results of another study.
    NetlabError
        Files that cannot be read as results.

    Examples
    --------
    >>> import netlab
    >>> results = netlab.Results("openlab-2003")
    >>> results.name
    'openlab-2003-quick'
    >>> results
    Below the quality gate.
    ...
    """

    # Modules that draw are loaded when first used: matplotlib takes longer than all frames.

    _answers = property(lambda _self: import_module("netlab.report.notebook_answer"))
    _front = property(lambda _self: import_module("netlab.report.front"))
    _gate = property(lambda _self: import_module("netlab.report.gate"))
    _views = property(lambda _self: import_module("netlab.face.views"))

    @property
    def answer(self) -> Sentence:
        """The highest goodput in each direction, in a sentence."""
        return self._answers.highest_goodput(self.measured)

    @property
    def headline(self) -> Answer:
        """The result in a few sentences."""
        return self._answers.answer(self.measured)

    @property
    def strongest(self) -> Sentence:
        """The step of a factor with the largest effect on goodput, in a sentence."""
        return self._answers.strongest(self.measured)

    @property
    def added_latency(self) -> Sentence:
        """The least and the most that the load of a cell adds to a round trip, in a sentence."""
        return self._answers.added_latency(self.measured)

    @property
    def trade_offs(self) -> Answer:
        """The steps that gain goodput and cost latency, both beyond their intervals."""
        return self._answers.trade_offs(self.measured)

    @property
    def gate(self) -> Banner:
        """The quality gate: passed, or each concern and what to do about it."""
        return self._gate.banner(self.measured)

    @cached_property
    def tables(self) -> views.ResultTables:
        """Tables of the results, ready to be shown."""
        return self._views.ResultTables(self.measured)

    @cached_property
    def charts(self) -> views.ResultCharts:
        """Charts of the results, finished; :meth:`plot` draws on axes."""
        return self._views.ResultCharts(self.measured)

    if TYPE_CHECKING:  # a wrong name is a mistake that a checker finds; those of wings are known
        long_path: Any
        published_beside: Any
        screens: Any
        then_and_now: Any
    else:

        def __getattr__(self, name: str) -> Any:
            """Give what an installed wing offers under a name, such as ``then_and_now``."""
            offered = {} if name.startswith("_") else wings.results(dir(type(self)))
            if name not in offered:
                text = f"'Results' object has no attribute {name!r}"
                raise AttributeError(text, name=name, obj=self)
            return wings.load(offered[name])(self.measured)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *wings.results()]

    def agreement(self, bound_percent: float = 2.0) -> views.Agreement:
        """Compare other generators with netlab's, cell by cell.

        Parameters
        ----------
        bound_percent : float
            Bound of *the same*, per cent.

        Returns
        -------
        Agreement
            Shows itself as its summary; its ``frame`` has one row a cell and generator.

        Examples
        --------
        >>> import netlab
        >>> netlab.Results("openlab-2003").agreement().frame.empty  # one generator measured it
        True
        """
        return self._views.Agreement(self.measured, bound_percent)

    def table(
        self, rows: str, columns: str, *, quantity: Quantity = "goodput", **levels: object
    ) -> Table:
        """Lay out the cells by any two factors.

        Parameters
        ----------
        rows, columns : str
            Factors: columns of :attr:`cells`.
        quantity : {"goodput", "percent", "both"}
            MB/s, per cent of the bus, or both, with intervals.
        **levels
            Levels of the other factors that vary, such as ``group="left -> right"``.

        Returns
        -------
        Table
            Shows itself; its ``frame`` has the texts.

        Raises
        ------
        BadInput
            Unknown factors or levels, or another factor varies and has no level here.

        Examples
        --------
        >>> import netlab
        >>> results = netlab.Results("openlab-2003")
        >>> table = results.table("mtu_B", "streams", group="Linux64 -> Linux64", tuning="full")
        >>> table.frame.index.tolist(), table.frame.columns.tolist()[:2]
        (['1500', '9000', '16114'], ['streams 1', 'streams 4'])
        """
        from netlab.report.explore import of_two

        return of_two(self.measured, rows, columns, levels, quantity)

    def plot(
        self,
        group: str = "",
        *,
        x: str = "streams",
        hue: str = "",
        y: GoodputColumn = "goodput_MBps",
        tuning: str | None = None,
        ax: Axes | None = None,
        **levels: object,
    ) -> Axes:
        """Draw the cells of a group over the number of streams, or over any other factor.

        Parameters
        ----------
        group : str
            Name of the group; may be empty with `hue`, where the study has one or it is a factor.
        x : str
            Factor of the axis, a column of :attr:`cells`.
        hue : str
            Factor of the lines. Left out, with streams as the axis, each line is a tuning and MTU.
        y : {"goodput_MBps", "percent_of_bus"}
            Goodput in MB/s, or in per cent of the bus; bars are its interval.
        tuning : str, optional
            Only this tuning.
        **levels
            Levels of the other factors that vary.
        ax : Axes, optional
            Axes to draw on; new ones by default. No global theme is set.

        Returns
        -------
        Axes
            One line a level of `hue`, or a tuning and MTU, each labelled at its end.

        Raises
        ------
        BadInput
            Unknown group, quantity, factor or level, or another factor varies.

        Examples
        --------
        >>> import netlab
        >>> results = netlab.Results("openlab-2003")
        >>> ax = results.plot("Linux64 -> Linux64", y="percent_of_bus")
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('streams', 'goodput, % of bus')
        """
        from netlab.charts.cells import QUANTITIES, over_streams
        from netlab.charts.over_factor import over_factor

        require(y, QUANTITIES, key="y", code="E-FACE-004")
        listed = isinstance(tuning, str | None)
        text = "names one tuning; without it all are drawn"
        check(listed, "tuning", str(tuning), text, "E-FACE-045")
        m = self.measured
        drawn: dict[str, Any] = {"y": y, "study": m.study, "ax": ax}
        if (x, hue) == ("streams", "") and not levels and not any_factors.names(m.cells):
            return over_streams(m.cells, group or m.groups[0], tuning=tuning, **drawn)
        chosen = {"group": group or None, "tuning": tuning}
        at = levels | {name: level for name, level in chosen.items() if level is not None}
        return over_factor(m.cells, x, hue, at=at, **drawn)

    def explore(self, *, x: str = "", hue: str = "", **levels: object) -> Explorer:
        """Show chart, cells and runs at levels of the factors that a reader chooses.

        Parameters
        ----------
        x, hue : str
            Factors of the axis and of the lines, columns of :attr:`cells`. By default streams and
            MTU; in a study with further factors the two with the most levels.
        **levels
            Levels of factors that are not to be chosen, such as ``group="left -> right"``.

        Returns
        -------
        Explorer
            Shows itself as plain HTML that needs no kernel, also in a saved notebook; as text it
            lists its tables.

        Raises
        ------
        BadInput
            Unknown factor or level.

        Examples
        --------
        >>> import netlab
        >>> explorer = netlab.Results("openlab-2003").explore()
        >>> explorer.title
        'openlab-2003-quick: goodput over streams, a line for each MTU, in 15 views'
        >>> [len(levels) for levels in explorer.choices.values()]
        [5, 3]
        >>> explorer.views[0].title, len(explorer.views[0].runs)
        ('Linux64 → Linux64, No Tuning', 24)
        """
        from netlab.report.explore import explore

        return explore(self.measured, x, hue, levels)

    def compare(
        self,
        other: Results | str | Path | None = None,
        *,
        by: str = "",
        same_within: float = SAME_WITHIN_PERCENT,
    ) -> Comparison:
        """Compare other results with these, or two levels of a factor within these.

        Parameters
        ----------
        other : Results, str or path, optional
            The other side, B: results, their directory, the name of a study, or ``DIR@CAMPAIGN``.
        by : str
            ``COLUMN=a,b`` in place of `other`: two levels of a factor.
        same_within : float
            Bound of *the same*, per cent.

        Returns
        -------
        Comparison
            As of :func:`netlab.compare`, with its errors.

        Examples
        --------
        >>> import netlab
        >>> found = netlab.Results("openlab-2003").compare(by="tuning=none,full")
        >>> found.frame["n_a"].unique().tolist()
        [3]
        """
        return compare(self, other, by=by, same_within=same_within)

    def report(self, site: str | Path = "site", *, progress: bool = False) -> Site:
        """Write the report: the analysis notebooks, executed, as a static site.

        Of the notebooks that the study named, those that come with netlab are executed;
        ``netlab report FILE`` with the study's own file executes those beside it as well.

        Parameters
        ----------
        site : path-like
            Directory of the site, see :func:`netlab.files.paths.given_path`; replaced whole if it
            is a site, refused if it is anything else.
        progress : bool
            Whether to show progress.

        Returns
        -------
        Site
            Shows itself as a link to the first page.

        Raises
        ------
        NetlabError
            A notebook failed, or the site cannot be written.

        Examples
        --------
        >>> import netlab
        >>> netlab.Results("openlab-2003").report("site/")
        /.../site/index.html
        """
        from netlab.experiment.progress import Progress
        from netlab.report.publishing import ReportRequest, publish

        target = paths.given_path(site)
        request = ReportRequest(campaign=self.measured.campaign or "")
        if not progress:
            return Site(publish(self.directory, target, request=request).index)
        with Progress() as shown:
            return Site(publish(self.directory, target, shown.step, request).index)

    def _tables(self) -> Tables:
        from netlab.report.gate import banner

        return Tables(tuple(make(self.measured) for make in (banner, summary, groups)))

    def _repr_html_(self) -> str:
        parts = (self._front.picture(self.measured), self.answer, self._tables())
        return "".join(part._repr_html_() for part in parts)

    def __repr__(self) -> str:
        return repr(self._tables())
