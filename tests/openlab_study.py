"""The committed openlab study as content that a test may change."""

from __future__ import annotations

import copy

from netlab.files.paths import data_dir
from netlab.files.yaml_file import read_yaml, validated
from netlab.study import Study

OPENLAB = data_dir() / "studies" / "openlab-2003.yml"
CONTENT = dict(read_yaml(OPENLAB))
del CONTENT["precision"]
CONTENT["timing"]["rounds"] = 3
"""The study with three rounds, in place of its precision."""


def changed(*path_and_value):
    """The study's content with one value set; the last argument is the value."""
    *path, last, value = path_and_value
    content = copy.deepcopy(CONTENT)
    place = content
    for part in path:
        place = place[part]
    place[last] = value
    return content


def study_with(*path_and_value) -> Study:
    return validated(Study, changed(*path_and_value), "my.yml")
