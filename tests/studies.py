"""Studies of two lab hosts and a path: a test says what it changes of them."""

from __future__ import annotations

ANY_NOISE = {"steal_percent": 100.0, "foreign_cpu_percent": 100.0}
"""Limits that no noise exceeds: beside other tests nearly every run would be measured twice."""
LAB = {"kind": "lab"}


def two_hosts(
    name: str,
    link: dict | None = None,
    *groups: dict,
    ends: tuple[str, str] = ("left", "right"),
    path: str = "cable",
    **keys: object,
) -> dict:
    """Content of a study with a path between two hosts, and further keys of a study.

    A group is from the first host over the path unless it says otherwise; without any, there is
    one. A key that is None is left out.
    """
    default = {"name": "one way", "path": path, "sender": ends[0]}
    content = {
        **{"netlab": 1, "name": name, "title": "A study of a test"},
        "hosts": {host: {**LAB} for host in ends},
        "paths": {path: {"ends": [{"host": host} for host in ends], "link": link or {}}},
        "groups": [{**default, **group} for group in groups or ({},)],
        **{"streams": [1], "noise": ANY_NOISE},
        **keys,
    }
    return {key: value for key, value in content.items() if value is not None}
