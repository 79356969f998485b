"""Copy of a study beside its results: timing resolved, tunings included."""

from __future__ import annotations

from pathlib import Path

from netlab.files.writing import write_text
from netlab.files.yaml_file import yaml_text
from netlab.study.design import Study
from netlab.study.model import complete


def freeze(study: Study, directory: Path) -> Path:
    """Write the study as it is measured beside its results.

    Its timing is resolved, and it carries the content of every tuning, so that a block can be run
    from it alone.
    """
    return write_text(directory / "study.yml", yaml_text(_content(study)))


def short_text(study: Study) -> str:
    """The YAML of a study for people: without what is left at its default."""
    content = study.model_dump(mode="json", exclude_defaults=True, exclude_none=True)
    return yaml_text({"netlab": 1, **content})


def frozen_text(study: Study) -> str:
    """The YAML of :func:`freeze` without ``report``; equal for studies that measure the same."""
    return yaml_text({key: value for key, value in _content(study).items() if key != "report"})


def _content(study: Study) -> dict:
    content = study.model_dump(mode="json")
    content["quick"] = None
    content["profiles"] = complete(study)
    if content["report"] is None:
        del content["report"]
    else:  # names alone, to say which are left out
        names = [Path(name).name for name in content["report"]["notebooks"]]
        content["report"]["notebooks"] = names
    return content
