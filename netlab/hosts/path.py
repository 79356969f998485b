"""ping and traceroute of a path: one short check, or many pings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

from netlab.hosts.at_once import together
from netlab.hosts.host import Host

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
