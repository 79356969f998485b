"""A site as one file: the pages of a study, without notebooks, single runs and files."""

from __future__ import annotations

import re
from pathlib import Path

from netlab.files.reading import read_text

SINGLE = "report.html"
_MAIN = re.compile(r'<main id="content">(.*)</main>', re.DOTALL)
_PLACE = re.compile(r'(\bid="|url\(#|href="#)')
_OTHER = re.compile(r'href="([^":/?#]+)\.html(?:#([^"]*))?"')
_LEFT_OUT = re.compile(
    r'<nav class="around".*?</nav>|<a download.*?</a>|'
    r'<section>\s*<h2 id="index--downloads">.*?</section>',
    re.DOTALL,
)


def single_file(site: Path) -> Path:
    """Write the pages of a site's study one after the other into one file; return its path."""
    whole = read_text(site / "index.html")
    bodies = {}
    for name in dict.fromkeys(("index", *(found[1] for found in _OTHER.finditer(whole)))):
        page = _MAIN.search(read_text(site / f"{name}.html"))
        if page and 'href="notebooks/' not in page[1] and not name.startswith("runs-"):
            body = _PLACE.sub(lambda place, name=name: f"{place[1]}{name}--", page[1])
            bodies[name] = f'<article class="chapter" id="{name}">{body}</article>'

    def follow(link: re.Match) -> str:
        place = f"{link[1]}--{link[2]}" if link[2] else link[1]
        return f'href="#{place}"' if link[1] in bodies else 'class="elsewhere"'

    chapters = f'<main id="content">{"".join(bodies.values())}</main>'
    text = _MAIN.sub(lambda _: chapters, whole, count=1)
    target = site / SINGLE
    target.write_text(_OTHER.sub(follow, _LEFT_OUT.sub("", text)), encoding="utf-8")
    return target
