"""A check counts the open files that the runs of a study need."""

from __future__ import annotations

import pytest
from lab_study import lab_study

from netlab.experiment.preflight import FILES_SPARE, most_files
from netlab.study import Study


def needed(group: dict | None = None, **changes) -> int:
    """Files beside the spare ones, on a host of two CPUs."""
    content = lab_study().model_dump() | changes
    content["groups"] = [{**content["groups"][0], **(group or {})}]
    study = Study.model_validate(content)
    return most_files(study, study.groups, cpus=2) - FILES_SPARE


def greeted(streams: int) -> int:
    """Room for two connections of each stream that arrives with up to 127 others."""
    return 2 * min(streams, 128)


def test_one_direction_takes_a_file_a_stream_and_four_a_thread():
    assert needed(streams=[1, 10_000]) == 10_000 + 2 * 4 + greeted(10_000)
    assert needed({"direction": "<->"}, streams=[10_000]) == 2 * (10_000 + 2 * 4) + greeted(10_000)


@pytest.mark.parametrize(
    ("changes", "files"),
    [
        ({"streams": [10_000], "engine": "plain"}, 50_000),
        ({"streams": [10_000], "engine": "epoll", "threads": 8}, 10_000 + 8 * 4),
        ({"streams": [4]}, 4 + 4 * 4),
        ({"streams": [4], "engine": "epoll"}, 4 + 2 * 4),
    ],
)
def test_each_engine_has_its_threads(changes, files):
    assert needed(**changes) == files + greeted(changes["streams"][0])


def test_the_most_that_the_groups_of_the_path_measure_counts():
    assert needed({"streams": [4]}, streams=[4, 10_000], engine="epoll") == 4 + 2 * 4 + greeted(4)
    datagrams = {"generator": "udp", "record_length_B": 1000}
    paced = {"socket": {"pacing_MBps": 1.0}, "streams": [100]}
    assert needed(datagrams, **paced) == 2 * 100 + 2 * 4 + greeted(100)


def test_levels_of_a_factor_count():
    assert needed({"factors": {"engine": ["epoll", "plain"]}}, streams=[100]) == 500 + greeted(100)
