"""Each knob that is said to revert exactly does, on a host whose other settings are its own."""

from __future__ import annotations

from collections.abc import Iterator

from native.tuning.conftest import Namespace, ended, state

from netlab.tuning.exact import SYSCTLS
from netlab.tuning.requests import request_line

WORDS = {
    "net.core.default_qdisc": ["fq", "pfifo_fast"],
    "net.ipv4.ip_local_reserved_ports": ["5001,6000-6010"],
    "net.ipv4.tcp_allowed_congestion_control": ["reno"],
    "net.ipv4.ip_local_port_range": ["20000 40000"],
}
"""Values of the sysctls that are not numbers, or whose numbers belong together."""


def others(name: str, old: str) -> Iterator[str]:
    """Other values of a sysctl, of which the kernel may refuse some."""
    yield from WORDS.get(name, ())
    numbers = [int(number) for number in old.split()] if name not in WORDS else []
    for change in (1, -1, 7, -2):
        yield " ".join(str(number + change) for number in numbers)


def changed(namespace: Namespace, knob: dict[str, str], values: Iterator[str]) -> str:
    """What became of a knob that is set to the first value that its kernel takes, and reverted."""
    channel = namespace.tune()
    assert channel.ask("begin") == {"event": "begun"}
    answer = {"status": "no other value"}
    for value in values:
        answer = channel.ask(request_line("set", **knob, value=value))
        if answer["status"] in ("applied", "differs"):
            break
    assert ended(channel) == []
    return answer["status"]


def test_every_sysctl_of_the_table_that_this_kernel_has_reverts_exactly(hardened):
    before = state(hardened)
    here = [name for name in SYSCTLS if name.startswith("net.") and hardened.writable(name)]
    assert len(here) > 80
    unlike = {}
    for name in here:
        knob = {"knob": "sysctl", "name": name}
        outcome = changed(hardened, knob, others(name, hardened.sysctl(name)))
        if outcome not in ("applied", "differs"):
            unlike[name] = outcome
        elif (after := state(hardened)) != before:
            gone = set(before.splitlines()) ^ set(after.splitlines())
            unlike[name] = "\n".join(sorted(gone))
            before = after
    assert unlike == {}
