"""First screen of a report: the answer in sentences, a chart, and how far to trust both."""

from __future__ import annotations

from typing import Any

from netlab.analysis import printed
from netlab.analysis.answers import best, headline, question, tiles
from netlab.analysis.measured import Measured, published_values
from netlab.analysis.own_report import opening, own_report
from netlab.charts import study_charts as charts
from netlab.charts.chart import Chart, Gallery
from netlab.report import shares
from netlab.report.active_cache import chart_of, of_one
from netlab.report.explore import charts as factor_charts
from netlab.report.explore import has_factors
from netlab.report.gate import box
from netlab.report.page import page_name


def front(m: Measured) -> dict[str, Any]:
    """First screen of the index besides its chart, :func:`picture`; `pages` are links of items."""
    own = opening(m)
    first, shown = own.answer if own else question(m), tiles(m)
    rest = [sentence for sentence in headline(m) if sentence != first]
    pages = {
        tile.what: f"{page_name(tile.cell['group'])}#{printed.cell_address(tile.cell)}"
        for tile in shown
        if tile.cell
    }
    return {"answer": first, "tiles": shown, "sentences": rest, "box": box(m), "pages": pages}


def picture(m: Measured) -> Chart | Gallery:
    """The whole study on one scale; of mixed stacks shares, of further factors a part.

    Of a study with a report or an opening of its own the chart of that.
    """
    if own := own_report(m):
        return own.picture(m)
    if (first := opening(m)) and (drawn := first.picture(m)).charts:
        return drawn
    if question(m) != best(m):
        return Gallery(next(iter(shares.drawn(m).values())).charts[:1])
    if has_factors(m):
        return factor_charts(m, most=1)
    return chart_of(charts.whole_panels, m.cells, published_values(m), study=m.study)


def panel(m: Measured, group: str) -> Chart:
    """Goodput of a group over streams, one chart a tuning."""
    return chart_of(charts.panels, of_one(m.cells, group), group, study=m.study)
