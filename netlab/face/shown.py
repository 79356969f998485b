"""What a notebook shows: HTML with a plain-text twin, a link to a site, a finished chart."""

from __future__ import annotations

import html
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from netlab.charts.chart import Chart
    from netlab.charts.compare import Axes


@dataclass(frozen=True)
class Html:
    """A piece of HTML with a plain-text twin.

    Parameters
    ----------
    markup : str
        Escaped HTML.
    text : str
        The same as text.
    """

    markup: str
    text: str

    def _repr_html_(self) -> str:
        return self.markup

    def __repr__(self) -> str:
        return self.text

    @classmethod
    def sentence(cls, text: str) -> Html:
        """A paragraph of text."""
        return cls(f"<p>{html.escape(text)}</p>", text)

    @classmethod
    def printed(cls, text: str) -> Html:
        """Text as a program printed it."""
        return cls(f"<pre>{html.escape(text)}</pre>", text)


@dataclass(frozen=True)
class Site:
    """A written report; shows itself as a link.

    Parameters
    ----------
    index : Path
        Its first page.
    """

    index: Path

    def __fspath__(self) -> str:
        return str(self.index)

    def _repr_html_(self) -> str:
        """A link that JupyterLab follows, relative to the notebook; and one for a file on disk."""
        index = self.index.resolve()
        relative = html.escape(quote(os.path.relpath(index)))
        address = html.escape(index.as_uri())
        name = html.escape(str(self.index))
        return f'<a href="{relative}">{name}</a> (<a href="{address}">outside of JupyterLab</a>)'

    def __repr__(self) -> str:
        return str(self.index)


def show(drawn: Axes, alt: str | None = None, caption: str = "") -> Chart:
    """Turn axes into a finished chart, the value of a notebook cell; closes their figure.

    Parameters
    ----------
    drawn : Axes
        As a method ``plot`` returns them; for axes of your own with `alt`.
    alt : str, optional
        Content of the chart in words; by default the text that ``plot`` made.
    caption : str, optional
        Text under the chart.

    Returns
    -------
    Chart
        A deterministic SVG with its alt text.

    Raises
    ------
    BadInput
        Without alt text.

    Examples
    --------
    >>> import netlab
    >>> netlab.show(netlab.Results("openlab-2003").plot("Linux64 -> Linux64", tuning="full"))
    Chart: Line chart of goodput, MB/s over TCP streams, Linux64 → Linux64. ...
    """
    from netlab.charts import chart

    return chart.show(drawn, alt, caption)
