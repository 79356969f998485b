"""A study of datagrams on a lab."""

from __future__ import annotations

from studies import two_hosts

SIZES_B = (200, 1472)


BUFFER_B = 4_194_304


def study(name: str, emulator: dict, **changes: object) -> dict:
    """Datagrams between two hosts of the lab through netlab's emulator."""
    link = {"emulator": {"with": "netlab", **emulator}}
    usual = {"factors": {"record_length_B": [*SIZES_B]}, "streams": [2], "force_buffer": True}
    timing = {"rounds": 1, "seconds": 0.5, "warmup_s": 0.1}
    group = {"generator": "udp", "buffer_B": BUFFER_B}
    return two_hosts(name, link, group, path="far", **{"timing": timing, **usual, **changes})
