"""ping and traceroute of a path: one short check, or many pings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

from netlab.hosts.host import Host
from netlab.hosts.together import together

# Arguments: the two data addresses. Each tool has a timeout of 1.8 s; output printed before it
# counts.
START = r"""
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
there() { command -v "$1" >/dev/null 2>&1; }
limit=
if there timeout; then limit='timeout 1.8'; fi
"""
PING = f"""{START}
if there ping; then
    said=$($limit ping -n -c 5 -i 0.05 -I "$1" "$2" 2>&1)
    if [ $? -ne 2 ]; then echo "$said"; exit; fi
    exec $limit ping -n -c 5 -i 0.2 -I "$1" "$2" 2>&1  # older ones take 0.2 s from users
fi
echo 'ping: not installed'
"""
TRACEROUTE = f"""{START}
if there traceroute; then exec $limit traceroute -n -q 1 -w 1 -m 16 -s "$1" "$2" 2>&1; fi
if there tracepath; then exec $limit tracepath -n -m 16 "$2" 2>&1; fi
echo 'traceroute and tracepath: not installed'
"""
TIMES = re.compile(r"= ([\d.]+)/([\d.]+)/([\d.]+)(?:/([\d.]+))? ms")
LOSS = re.compile(r"([\d.]+)% packet loss")
PING_SPARE_S = 20.0


@dataclass(frozen=True)
class PathCheck:
    """Result of ping and traceroute from one end of a path."""

    ping: str
    traceroute: str
    min_ms: float | None
    avg_ms: float | None
    max_ms: float | None
    mdev_ms: float | None
    loss_percent: float | None

    def columns(self) -> dict[str, float | None]:
        """Return ping's summary as columns of the runs table."""
        return {
            "ping_min_ms": self.min_ms,
            "ping_avg_ms": self.avg_ms,
            "ping_max_ms": self.max_ms,
            "ping_mdev_ms": self.mdev_ms,
            "ping_loss_percent": self.loss_percent,
        }

    def printed(self) -> dict[str, str]:
        """Return the output by program."""
        return {"ping": self.ping, "traceroute": self.traceroute}


def probe_path(host: Host, source: str, destination: str) -> PathCheck:
    """Ping and trace a path at the same time, within 2 s."""
    probes = [
        partial(host.run, ("sh", "-c", script, "probe_path", source, destination), check=False)
        for script in (PING, TRACEROUTE)
    ]
    return parse(*(done.result().stdout.strip() for done in together(probes, at_once=2)))


def ping(host: Host, source: str, destination: str, *, count: int, interval_s: float) -> PathCheck:
    """Ping a path many times, without a trace."""
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
    least, mean, most, deviation = (None if value is None else float(value) for value in values)
    loss_percent = None if loss is None else float(loss[1])
    return PathCheck(ping, traceroute, least, mean, most, deviation, loss_percent)
