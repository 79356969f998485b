"""Copy of a study beside its results: timing resolved, tunings included."""

from __future__ import annotations

import os
from pathlib import Path

import yaml

from netlab.study.design import Study
from netlab.study.tunings import complete


def freeze(study: Study, directory: Path) -> Path:
    """Write the study as it is measured beside its results.

    Its timing is resolved, and it carries the content of every tuning, so that a block can be run
    from it alone.
    """
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "study.yml"
    content = study.model_dump(mode="json")
    content["quick"] = None
    content["profiles"] = complete(study)
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
    partial = path.with_name(f".study.{os.getpid()}.partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)
    return path
