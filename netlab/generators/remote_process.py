"""Run an external tool on a host with a timeout; kill it if the controller disappears."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from netlab.errors import HostError, RunError
from netlab.hosts import vrf as vrfs
from netlab.hosts.host import Host

MAX_OUTPUT_B = 8 << 20
LISTEN_S = 15.0
"""Time for a program to start and to listen, on a machine that is busy with something else."""
POLL_S = 0.05
KILL_S = 2
"""A tool that ignores SIGTERM is killed after this time."""

ENDED_S = 5.0
"""A tool that accepts no more requests has ended: its exit is read within this time."""

OVERHEAD_S = 10.0
"""Time beyond the tool's limit for the script to start and to return the output."""

# End of input, a closed output, a signal and the time limit each end the tool. `timeout` gives the
# tool a process group of its own, and the script kills that group.
SCRIPT = vrfs.SCRIPT
SCRIPT += r"""
port=$1 limit=$2 kill=$3 most=$4 hold=$5 vrf=$6
shift 6
PATH=$PATH:/usr/local/bin:/usr/sbin:/sbin LC_ALL=C
export PATH LC_ALL
if [ -n "$vrf" ]; then set -- "$(vrf_ip)" vrf exec "$vrf" "$@"; fi
hex=$(printf %04X "$port")
printed() { head -c "$most" out | base64 | tr -d '\n'; }
say() { printf '{"event":"%s"%s}\n' "$1" "$2"; }
# 0A: a TCP socket that listens; 07: one of UDP that is not connected
listens() { cat /proc/net/tcp* /proc/net/udp* 2>/dev/null | grep -q ":$hex 0*:0000 0[A7] "; }
if [ "$port" != 0 ] && listens; then say taken; exit 0; fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/netlab-tool.XXXXXX") && cd "$dir" || exit 1
tool= watch=
trap '[ -z "$tool" ] || kill -KILL -- "-$tool"; [ -z "$watch" ] || kill "$watch"
cd /; rm -rf "$dir"' EXIT 2>/dev/null
trap 'exit 1' HUP INT TERM PIPE
{ : >"$dir/out" && : >"$dir/times"; } || exit 1
exec 2>/dev/null 3<&0
if [ "$hold" = 1 ]; then say ready; read -r _ || exit 0; fi
timeout -k "$kill" "$limit" "$@" </dev/null >out 2>&1 3<&- &
tool=$!
(
  nap=
  trap 'kill "$nap"; exit' TERM
  while read -r word; do
    case $word in
      report) say printed ",\"size\":$(wc -c <out),\"output\":\"$(printed)\"" ;;
      end) kill -TERM "$tool" ;;
    esac
  done <&3
  kill -TERM "$tool"
  # ended before its id is known, it must not keep the output open
  sleep "$kill" >/dev/null 3<&- &
  nap=$!
  wait "$nap"
  kill -KILL -- "-$tool"
  rm -rf "$dir"
) &
watch=$!
if [ "$port" != 0 ]; then
  until listens; do
    state=Z
    read -r _ _ state _ <"/proc/$tool/stat"
    [ "$state" = Z ] && break
    sleep 0.02
  done
  listens && say listening
else
  say started
fi
wait "$tool"
status=$?
times >times
# tools write a stream's data there too, and remove them
head -c 262144 /dev/zero >spare
[ "$(wc -c <spare)" = 262144 ] && full=false || full=true
say ended ",\"status\":$status,\"full\":$full,\"times\":\"$(tail -n 1 times)\"\
,\"size\":$(wc -c <out),\"output\":\"$(printed)\""
"""

_TIME = r"([0-9]{1,9})m([0-9]{1,9}(?:\.[0-9]{1,9})?)s"
_TIMES = re.compile(f"{_TIME} {_TIME}")


@dataclass(frozen=True)
class Exit:
    status: int
    text: str
    cpu_s: float


class RemoteProcess:
    def __init__(
        self,
        host: Host,
        what: str,
        argv: Sequence[str],
        *,
        limit_s: float,
        port: int = 0,
        hold: bool = False,
        vrf: str = "",
    ):
        self.host, self.what, self.limit_s = host, what, limit_s
        words = (str(port), f"{limit_s:g}", str(KILL_S), str(MAX_OUTPUT_B), str(int(hold)), vrf)
        command = ("sh", "-c", SCRIPT, "netlab-tool", *words, *argv)
        self._process = host.start(command, sudo=bool(vrf))
        self._exit: Exit | None = None
        self._printed = ""
        self._terminated = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._process.close(KILL_S + 3.0)

    def wait_ready(self) -> None:
        if (self._answer(time.monotonic() + LISTEN_S) or {}).get("event") != "ready":
            message = f"{self._name}: did not start within {LISTEN_S:g} s"
            raise RunError(message, reason="timeout", code="E-TOOL-011")

    def go(self) -> None:
        self._process.send("go")

    def wait_listening(self) -> bool:
        """Wait until it listens; False if its port is in use."""
        deadline = time.monotonic() + LISTEN_S
        while (answer := self._answer(deadline)) is not None:
            if answer["event"] == "ended":
                if re.search("address (already )?in use", self._printed, re.IGNORECASE):
                    return False
                raise self.error("does not listen")
            return answer["event"] != "taken"
        message = f"{self._name}: does not listen within {LISTEN_S:g} s"
        raise RunError(message, reason="timeout", code="E-TOOL-012")

    def wait(self, timeout_s: float) -> Exit | None:
        """Wait for its exit; None if it still runs after `timeout_s`."""
        deadline = time.monotonic() + timeout_s
        while self._exit is None and self._answer(deadline) is not None:
            pass
        return self._exit

    def wait_output(self, is_complete: Callable[[str], bool], timeout_s: float) -> None:
        """Poll its output until it is complete, it exits or the time is up."""
        deadline = time.monotonic() + timeout_s
        while self._exit is None and time.monotonic() < deadline:
            self._ask("report")
            answer = None if self._exit else self._answer(deadline)
            if answer is None or answer["event"] == "ended" or is_complete(self._printed):
                break
            time.sleep(POLL_S)

    @property
    def output(self) -> str:
        return self._printed

    def terminate(self) -> None:
        """Send SIGTERM; an exit by it then counts as success."""
        if self._exit is None:
            self._terminated = True
            self._ask("end")

    def result(self) -> Exit:
        ended = self.wait(self.limit_s + OVERHEAD_S)
        if ended is None:
            message = f"{self._name}: did not end in time"
            raise RunError(message, reason="timeout", code="E-TOOL-013")
        if ended.status == 124:
            raise self.error(f"did not end within {self.limit_s:g} s")
        if self._terminated and ended.status == 128 + signal.SIGTERM:
            return ended
        if ended.status > 128:
            raise self.error(f"was ended by signal {ended.status - 128}")
        if ended.status != 0:
            raise self.error(f"exit status {ended.status}")
        return ended

    def error(self, problem: str) -> RunError:
        lines = self._exit.text.strip().splitlines()[-3:] if self._exit else []
        return RunError(
            ": ".join((self._name, problem, *map(str.strip, lines)))[:400],
            reason="peer",
            code="E-TOOL-014",
        )

    def _ask(self, verb: str) -> None:
        """Send a request; a tool that has just ended by itself needs none, and its exit is read."""
        try:
            self._process.send(verb)
        except HostError:
            if self.wait(ENDED_S) is None:
                raise

    @property
    def _name(self) -> str:
        return f"{self.what} on {self.host.name}"

    def _answer(self, deadline: float) -> dict | None:
        answer = self._process.poll(max(0.0, deadline - time.monotonic()))
        if answer is None or "output" not in answer:
            return answer
        if answer["size"] > MAX_OUTPUT_B:
            message = f"{self._name}: printed over {MAX_OUTPUT_B >> 20} MiB"
            raise RunError(message, reason="limit", code="E-TOOL-015")
        self._printed = answer["output"].decode("utf-8", "replace")
        if answer["event"] == "ended":
            found = _TIMES.search(answer["times"])
            user_min, user_s, system_min, system_s = map(float, found.groups() if found else "0000")
            cpu_s = 60 * (user_min + system_min) + user_s + system_s
            self._exit = Exit(answer["status"], self._printed, cpu_s)
            if answer["full"]:
                place = "the temporary directory of that user (TMPDIR, or /tmp)"
                message = f"{self._name}: {place} has less than 256 KiB free"
                raise RunError(message, reason="limit", code="E-TOOL-050")
        return answer
