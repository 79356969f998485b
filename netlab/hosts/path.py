"""The path between two hosts: opened together, its carrier, and a check of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from netlab.errors import HostError
from netlab.files.uncut import interrupts_wait
from netlab.hosts.host import Host

# Wait for the link of an interface: many drivers reset the card to apply a setting.

CARRIER_S = 30
"""Timeout of a link that comes up again: a switch with spanning tree takes about that long."""

SPARE_S = 20.0

# Arguments: interface, timeout in s. A missing interface is for others to report.
WAIT = r"""
cd "/sys/class/net/$1" 2>/dev/null || exit 0
i=$(($2 * 5))
until [ "$(cat carrier 2>/dev/null)" = 1 ]; do
  if [ "$i" -le 0 ]; then exit 3; fi
  i=$((i - 1))
  sleep 0.2 2>/dev/null || { sleep 1; i=$((i - 4)); }
done
"""


NO_CARRIER = "E-HOST-038"


def wait_for_carrier(host: Host, interface: str, *, timeout_s: int = CARRIER_S) -> None:
    argv = ("sh", "-c", WAIT, "wait", interface, str(timeout_s))
    done = host.run(argv, timeout_s=timeout_s + SPARE_S, check=False)
    if done.exit_status == 3:
        message = (
            f"{interface} has no link {timeout_s} s after its settings were changed; check the "
            "cable, and whether the card takes them"
        )
        raise HostError(host.name, message, code=NO_CARRIER)


# Calls that run at the same time.

T = TypeVar("T")


def together(calls: Iterable[Callable[[], T]], *, at_once: int) -> list[Future[T]]:
    """Make calls, several at a time; return when all have ended."""
    with interrupts_wait(), ThreadPoolExecutor(max_workers=at_once) as pool:
        return [pool.submit(call) for call in calls]


# ping and traceroute of a path: one short check, or many pings.

# Arguments: the two data addresses, and the interface if it is in a VRF. Each tool has a timeout
# of 1.8 s; output printed before it counts.
START = r"""
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
there() { command -v "$1" >/dev/null 2>&1; }
limit=
if there timeout; then limit='timeout 1.8'; fi
"""
PING = f"""{START}
if there ping; then
    said=$($limit ping -n -c 5 -i 0.02 -I "${{3:-$1}}" "$2" 2>&1)
    if [ $? -ne 2 ]; then echo "$said"; exit; fi
    exec $limit ping -n -c 5 -i 0.2 -I "${{3:-$1}}" "$2" 2>&1  # older ones take 0.2 s from users
fi
echo 'ping: not installed'
"""
TRACEROUTE = f"""{START}
if there traceroute; then
    exec $limit traceroute -n -q 1 -w 1 -m 16 -s "$1" ${{3:+-i "$3"}} "$2" 2>&1
fi
if there tracepath; then exec $limit tracepath -n -m 16 "$2" 2>&1; fi
echo 'traceroute and tracepath: not installed'
"""
_NUMBER = r"([0-9]{1,5}(?:\.[0-9]{1,9})?)"
TIMES = re.compile(f"= {_NUMBER}/{_NUMBER}/{_NUMBER}(?:/{_NUMBER})? ms")
LOSS = re.compile(f"{_NUMBER}% packet loss")
PING_SPARE_S = 20.0


@dataclass(frozen=True)
class PathCheck:
    ping: str
    traceroute: str
    min_ms: float | None
    avg_ms: float | None
    max_ms: float | None
    mdev_ms: float | None
    loss_percent: float | None

    def columns(self) -> dict[str, float | None]:
        names = ("min_ms", "avg_ms", "max_ms", "mdev_ms", "loss_percent")
        return {f"ping_{name}": getattr(self, name) for name in names}

    def printed(self) -> dict[str, str]:
        return {"ping": self.ping, "traceroute": self.traceroute}


def probe_path(host: Host, source: str, destination: str, vrf_card: str = "") -> PathCheck:
    ends = (source, destination, vrf_card)
    probes = [
        partial(host.run, ("sh", "-c", script, "probe_path", *ends), check=False)
        for script in (PING, TRACEROUTE)
    ]
    return parse(*(done.result().stdout.strip() for done in together(probes, at_once=2)))


def ping(host: Host, source: str, destination: str, *, count: int, interval_s: float) -> PathCheck:
    often = ("-c", str(count), "-i", f"{interval_s:g}")
    done = host.run(
        ("ping", "-n", "-q", *often, "-I", source, destination),
        timeout_s=count * interval_s + PING_SPARE_S,
        check=False,
    )
    return parse(done.stdout.strip() or done.stderr.strip(), "")


def parse(ping: str, traceroute: str) -> PathCheck:
    """Parse the summary of ping, which iputils and busybox print alike."""
    times, loss = TIMES.search(ping), LOSS.search(ping)
    values = times.groups() if times is not None else (None,) * 4
    figures = [None if value is None else float(value) for value in values]
    figures.append(None if loss is None else float(loss[1]))
    return PathCheck(ping, traceroute, *figures)


# Open and close several hosts at a time.

OPENED_AT_ONCE = 16


def open_all(hosts: Mapping[str, Host]) -> None:
    try:
        attempts = together([host.open for host in hosts.values()], at_once=OPENED_AT_ONCE)
        failures = [error for attempt in attempts if (error := attempt.exception())]
        unreachable = [error for error in failures if isinstance(error, HostError)]
        if len(unreachable) > 1 and len(unreachable) == len(failures):
            raise HostError(
                ", ".join(error.host for error in unreachable),
                "cannot be used",
                output="\n".join(error.with_code() for error in unreachable),
                code="E-HOST-039",
            )
        if failures:
            raise failures[0]
    except BaseException:
        close_hosts(hosts)
        raise


def close_hosts(hosts: Mapping[str, Host]) -> None:
    for closed in together([host.close for host in hosts.values()], at_once=OPENED_AT_ONCE):
        closed.result()
