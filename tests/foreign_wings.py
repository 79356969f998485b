"""Wings of other packages, as the page of the docs shows them, installed for a test."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import guide

PAGE = guide.DOCS / "wings.md"


def install(folder: Path, files: dict[str, str]) -> dict[str, str]:
    """Write what an installer writes, and return the environment that finds it."""
    project = tomllib.loads(files["pyproject.toml"])["project"]
    for name, text in files.items():
        if name.endswith(".py"):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
    about = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    about.mkdir()
    head = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (about / "METADATA").write_text(head)
    lines = [f"{k} = {v}" for k, v in project["entry-points"]["netlab.wings"].items()]
    (about / "entry_points.txt").write_text("\n".join(["[netlab.wings]", *lines, ""]))
    return {**os.environ, "PYTHONPATH": str(folder)}


def shown_files(package: str) -> dict[str, str]:
    """The files of a package of the docs by their names."""
    section = PAGE.read_text("utf-8").partition(f"package `{package}`")[2].partition("\n## ")[0]
    return dict(re.findall(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```", section, re.M | re.S))
