"""The tables of faults in docs/promises.md."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs" / "promises.md"
ROW = re.compile(r"\| (?P<fault>[^|]+) \| (?P<exit>-?\d+) \| (?:`(?P<sentence>[^`]+)`)? ?\|")


def promised(heading: str) -> dict[str, tuple[int, str]]:
    """Exit code and sentence of each fault of one section's table."""
    sections = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)
    (section,) = (text for text in sections if text.startswith(f"{heading}\n"))
    return {
        match["fault"]: (int(match["exit"]), match["sentence"] or "")
        for line in section.splitlines()
        if (match := ROW.fullmatch(line))
    }
