"""The study as it was measured, kept beside its results."""

from __future__ import annotations

from pathlib import Path

from netlab.files.json_file import write_text
from netlab.files.yaml_file import yaml_text
from netlab.study.design import Study


def freeze(study: Study, directory: Path) -> Path:
    """Keep the study as it is measured, with its timing resolved, beside its results."""
    path = directory / "study.yml"
    content = study.model_dump(mode="json")
    content["quick"] = None
    return write_text(path, yaml_text(content))
