"""A study of the path between two hosts, from what a person says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from netlab import wings
from netlab.errors import check
from netlab.study.factors import OF_EMULATOR, listed, with_levels
from netlab.tuning.profiles import AS_FOUND

TIMING = {"rounds": 5, "seconds": 2.0}
OFFLOADED = {
    "segmentation_offload": True,
    "checksum_offload": True,
    "interrupt_delay_us": 0.0,
}
"""A lab link as a card of today, in place of the one of 2003."""


def between(
    hosts: tuple[str, str],
    *,
    ssh: bool,
    data: tuple[str, str] | None,
    rate_Mbps: Any,
    rtt_ms: Any,
    streams: Any,
    mtu_B: Any,
    tuning: str | Sequence[str],
    both_ways: bool,
    name: str,
    timing: Mapping[str, object] | None,
    more: Mapping[str, object],
) -> dict[str, Any]:
    """The content of a study with one path and one group; see :meth:`netlab.Study.between`."""
    names = all(isinstance(host, str) for host in hosts)
    text = "must be the names of two different hosts, such as 'left' and 'right'"
    check(names and hosts[0] != hosts[1], "hosts", ", ".join(map(str, hosts)), text, "E-FACE-042")
    text = "must be a mapping, such as {'rounds': 3, 'seconds': 1.0}"
    check(isinstance(timing, Mapping | None), "timing", str(timing), text, "E-FACE-043")
    given = {"rate_Mbps": rate_Mbps, "rtt_ms": rtt_ms, **more}
    asked = {key: [*listed(levels)] for key, levels in given.items() if levels is not None}
    text = "a path between SSH hosts has the RTT that it has; leave it out"
    check(not (ssh and "rtt_ms" in asked), "rtt_ms", rtt_ms, text, "E-FACE-014")
    make = _between_logins if ssh else _in_the_lab
    declared, path = make(hosts, data, asked)
    left, right = declared
    group = {"name": f"{left} {'<->' if both_ways else '->'} {right}", "path": "data"}
    return {
        "netlab": 1,
        "name": name or f"{left}-{right}",
        "title": f"Goodput between {left} and {right}",
        "hosts": declared,
        "paths": {"data": path},
        "groups": [group | {"sender": left, "direction": "<->" if both_ways else "->"}],
        "tunings": [_tuned(each, mtu_B) for each in listed(tuning)],
        "streams": [*listed(streams)],
        "factors": asked,
        "timing": {**TIMING, **(timing or {})},
    }


def _tuned(name: str, mtu_B: Any) -> dict[str, Any]:
    """A level of tuning; as found with an MTU is one that sets the MTU alone."""
    if mtu_B is None:
        return {"name": name}
    level = {"name": "untuned", "knobs": []} if name == AS_FOUND else {"name": name}
    return {**level, "mtus_B": [*listed(mtu_B)]}


def _in_the_lab(
    hosts: tuple[str, str], data: object, asked: dict[str, list]
) -> tuple[dict[str, dict], dict[str, Any]]:
    """Two lab hosts; a link or an emulator has what has one level, which is no factor then."""
    text = "the lab chooses its own data addresses; leave them out"
    check(data is None, "data", data, text, "E-FACE-015")
    of_path = [key for key in (*OF_EMULATOR, "rate_Mbps") if key in asked]
    emulated = any(key in OF_EMULATOR for key in of_path)
    single = {key: asked.pop(key)[0] for key in of_path if len(asked[key]) == 1}
    link: dict[str, Any] = (
        {"emulator": with_levels({}, single)} if emulated else {**OFFLOADED, **single}
    )
    path = {"ends": [{"host": host} for host in hosts], "link": link}
    return {host: {"kind": "lab"} for host in hosts}, path


def _between_logins(
    hosts: tuple[str, str], data: tuple[str, str] | None, asked: dict[str, list]
) -> tuple[dict[str, dict], dict[str, Any]]:
    """Two SSH hosts and the first path that joins them, found by a look at both."""
    rates = asked.pop("rate_Mbps", [])
    text = "is one number, the rate of the real link"
    check(len(rates) < 2, "rate_Mbps", rates, text, "E-FACE-016")
    finders = wings.path_finders()
    text = "no wing is installed that finds the path between SSH hosts; install netlab again"
    check(bool(finders), "ssh", True, text, "E-FACE-041")
    reached, ends = finders[0](hosts, data)
    path = {"ends": ends, **({"link_MBps": rates[0] / 8} if rates else {})}
    declared = {
        name: login.model_dump(exclude_none=True, exclude_defaults=True) | {"kind": "ssh"}
        for name, login in reached.items()
    }
    return declared, path
