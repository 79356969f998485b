"""Text for people: a piece of HTML with a plain-text twin, and a site that links to itself."""

from __future__ import annotations

import html
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote


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
