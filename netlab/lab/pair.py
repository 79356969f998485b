"""A study of two lab hosts, ``gen`` and ``sink``: what autotune, benchmark and calibration use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from netlab.study import Study

SENDER, RECEIVER = "gen", "sink"


def lab_pair(
    name: str,
    title: str,
    links: Mapping[str, dict],
    groups: Iterable[dict],
    *,
    mtus_B: Iterable[int] = (1500,),
    **keys: object,
) -> Study:
    ends = [{"host": SENDER}, {"host": RECEIVER}]
    return Study.model_validate(
        {
            "netlab": 1,
            "name": name,
            "title": title,
            "hosts": {host: {"kind": "lab"} for host in (SENDER, RECEIVER)},
            "paths": {path: {"ends": ends, "link": link} for path, link in links.items()},
            "groups": [{**group, "sender": SENDER} for group in groups],
            "tunings": [{"name": "mtu-only", "knobs": [], "mtus_B": list(mtus_B)}],
            "streams": [1],
            **keys,
        }
    )
