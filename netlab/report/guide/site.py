"""The guide as a site of its own."""

from __future__ import annotations

import os
from pathlib import Path

from netlab.report.guide.pages import api_neighbours, guide_pages, neighbours
from netlab.report.place import replacing
from netlab.report.writer import PageWriter

INDEX = "index.html"
TITLE = "netlab"


def build_guide(out_dir: str | Path) -> Path:
    """Write the guide as a site and replace the old one.

    Parameters
    ----------
    out_dir : path-like
        Directory of the site. It may be absent, empty, or a site built before.

    Returns
    -------
    Path
        ``out_dir/index.html``.

    Raises
    ------
    BadInput
        `out_dir` contains something else.
    NetlabError
        The site cannot be written.
    """
    target = Path(os.path.abspath(out_dir))
    pages = guide_pages(start=INDEX)
    home, *others = pages
    common = {"site_title": TITLE, "description": "", "built_at": "", "concerns": ()}
    with replacing(target) as work:
        writer = PageWriter(work, home, neighbours(home, others), **common)
        writer.write_chain(pages, None, lambda page: api_neighbours(page, pages))
    return target / INDEX
