"""Stored results of a study: tables and charts by factors, comparisons and the report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from netlab.analysis import factors
from netlab.analysis.compare import SAME_WITHIN_PERCENT
from netlab.errors import BadInput
from netlab.face.comparison import Comparison, compare
from netlab.face.shown import Site
from netlab.face.shown_results import ShownResults
from netlab.files import paths
from netlab.files.tables import Table

if TYPE_CHECKING:
    from netlab.charts.cells import Axes
    from netlab.face.screening import Screening
    from netlab.report.explore import Explorer


class Results(ShownResults):
    """Results of a study, as they are stored.

    Parameters
    ----------
    name : str or path
        Name or file of the study, or the directory of its results. Of a study and its short form
        the one measured last is taken; ``NAME-quick`` is always the short form.
    results : path-like
        Directory of the results, where it is not the study's own.
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

    def table(
        self,
        rows: str,
        columns: str,
        *,
        quantity: str = "goodput",
        **levels: object,
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
        (['1500', '9000', '16114'], ['TCP streams 1', 'TCP streams 4'])
        """
        from netlab.report.factors import of_two

        return of_two(self.measured, rows, columns, levels, quantity)

    def plot(
        self,
        group: str = "",
        *,
        x: str = "streams",
        hue: str = "",
        y: str = "mean",
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
        y : {"mean", "percent_of_bus"}
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
        ('TCP streams', 'goodput, % of bus')
        """
        from netlab.charts.cells import over_streams
        from netlab.charts.factors import over_factor

        quantities = {"mean": "goodput_MBps", "percent_of_bus": "percent_of_bus"}
        if y not in quantities:
            raise BadInput(
                f"choose from {', '.join(quantities)}", key="y", value=y, code="E-FACE-004"
            )
        m = self.measured
        further = bool(factors.names(m.cells))
        if (x, hue) == ("streams", "") and not levels and not further:
            name = group or m.groups[0]
            return over_streams(m.cells, name, y=quantities[y], tuning=tuning, study=m.study, ax=ax)
        at = {**levels, **({"group": group} if group else {})}
        at |= {"tuning": tuning} if tuning is not None else {}
        return over_factor(m.cells, x, hue, at=at, y=quantities[y], study=m.study, ax=ax)

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
        'openlab-2003-quick: goodput over TCP streams, a line for each MTU, in 15 views'
        >>> [len(levels) for levels in explorer.choices.values()]
        [5, 3]
        >>> explorer.views[0].title, len(explorer.views[0].runs)
        ('Linux64 → Linux64, No Tuning', 16)
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
            Ratios B / A with intervals that hold at once; shows itself as tables.

        Raises
        ------
        BadInput
            Neither or both of `other` and `by`, or levels that were not measured.
        NetlabError
            No cell has a valid run on both sides.

        Examples
        --------
        >>> import netlab
        >>> found = netlab.Results("openlab-2003").compare(by="tuning=none,full")
        >>> found.frame["verdict"].unique().tolist()
        ['cannot tell']
        >>> found.frame["reason"].iloc[0]
        '2 and 2 valid runs, 3 of each are needed'
        """
        return compare(self, other, by=by, same_within=same_within)

    @property
    def screens(self) -> dict[str, Screening]:
        """Screens of tunings on the hosts of this study, by the names of their directories.

        They are those that :meth:`netlab.Study.screen` and ``netlab screen`` stored in
        ``screens/`` below these results; each is a page of the report.

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
        from netlab.analysis.screened import read_screen, screen_files
        from netlab.face.screening import Screening

        return {f.parent.name: Screening(read_screen(f)) for f in screen_files(self.directory)}

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
        from netlab.report.publish import publish

        target = paths.given_path(site)
        if not progress:
            return Site(publish(self.directory, target).index)
        with Progress() as shown:
            return Site(publish(self.directory, target, shown.step).index)

    def _tables(self):
        from netlab.report.gate import banner
        from netlab.report.tables import Tables, groups, summary

        return Tables((banner(self.measured), summary(self.measured), groups(self.measured)))

    def _repr_html_(self) -> str:
        from netlab.report import answers
        from netlab.report.front import picture

        parts = (picture(self.measured), answers.measured(self.measured), self._tables())
        return "".join(part._repr_html_() for part in parts)

    def __repr__(self) -> str:
        return repr(self._tables())
