"""A study of datagrams on a lab."""

from __future__ import annotations

from e2e.conftest import ANY_NOISE

SIZES_B = (200, 1472)


BUFFER_B = 4_194_304


def study(name: str, emulator: dict, **changes: object) -> dict:
    """Datagrams between two hosts of the lab through netlab's emulator."""
    ends = [{"host": "left"}, {"host": "right"}]
    link = {"emulator": {"with": "netlab", **emulator}}
    group = {"name": "one way", "path": "far", "sender": "left", "generator": "udp"}
    return {
        **{"netlab": 1, "name": name, "title": "Datagrams"},
        "hosts": {"left": {"kind": "lab"}, "right": {"kind": "lab"}},
        "paths": {"far": {"ends": ends, "link": link}},
        "groups": [{**group, "buffer_B": BUFFER_B}],
        **{"factors": {"record_length_B": [*SIZES_B]}, "streams": [2], "force_buffer": True},
        "timing": {"rounds": 1, "seconds": 0.5, "warmup_s": 0.1},
        "noise": ANY_NOISE,
        **changes,
    }
