"""The study as it was measured, kept beside its results."""

from __future__ import annotations

import os
from pathlib import Path

import yaml

from netlab.study.design import Study


def freeze(study: Study, directory: Path) -> Path:
    """Keep the study as it is measured, with its timing resolved, beside its results."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "study.yml"
    content = study.model_dump(mode="json")
    content["quick"] = None
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
    partial = path.with_name(f".study.{os.getpid()}.partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)
    return path
