"""A tool kept on a host: bounded in time, ended with whoever asked for it, heard to its end."""

from __future__ import annotations

import base64
import re
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from netlab.errors import RunError
from netlab.hosts.host import Host

MAX_OUTPUT_B = 8 << 20
LISTEN_S = 5.0
LOOK_S = 0.05
KILL_S = 2
"""So long after it is asked to end a tool is killed."""

ANSWER_S = 10.0
"""How much longer than its tool a keeper may take, to start and to hand over what was printed."""

# The end of its input, an output that nobody reads, a signal and its time limit end the tool; the
# tool is a process group of its own (timeout makes it one), and that is what is killed.
SCRIPT = r"""
port=$1 limit=$2 kill=$3 most=$4
shift 4
PATH=$PATH:/usr/local/bin:/usr/sbin:/sbin LC_ALL=C
export PATH LC_ALL
hex=$(printf %04X "$port")
printed() { head -c "$most" out | base64 | tr -d '\n'; }
say() { printf '{"event":"%s"%s}\n' "$1" "$2"; }
listens() { cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -q ":$hex 0*:0000 0A "; }
if [ "$port" != 0 ] && listens; then say taken; exit 0; fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/netlab-tool.XXXXXX") && cd "$dir" || exit 1
trap 'kill -KILL -- "-$tool"; kill "$watch"; cd /; rm -rf "$dir"' EXIT 2>/dev/null
trap 'exit 1' HUP INT TERM PIPE
exec 2>/dev/null 3<&0
: >out
timeout -k "$kill" "$limit" "$@" </dev/null >out 2>&1 3<&- &
tool=$!
(
  while read -r word; do
    case $word in
      look) say printed ",\"size\":$(wc -c <out),\"output\":\"$(printed)\"" ;;
      end) kill -TERM "$tool" ;;
    esac
  done <&3
  kill -TERM "$tool"
  sleep "$kill"
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
say ended ",\"status\":$status,\"times\":\"$(tail -n 1 times)\",\"size\":$(wc -c <out)\
,\"output\":\"$(printed)\""
"""

_TIMES = re.compile(r"(\d+)m([\d.]+)s (\d+)m([\d.]+)s")


@dataclass(frozen=True)
class Exit:
    """A tool that has ended: exit status, what it printed, and its CPU time in s."""

    status: int
    text: str
    cpu_s: float


class RemoteProcess:
    """A tool that runs on a host until the block is left.

    Parameters
    ----------
    host : Host
        Where it runs.
    what : str
        Its name in messages, such as ``iperf3's server``.
    argv : sequence of str
        Program and arguments.
    limit_s : float
        How long it may take, whatever becomes of this process.
    port : int
        Where it is going to listen; 0 for a tool that does not.
    """

    def __init__(
        self, host: Host, what: str, argv: Sequence[str], *, limit_s: float, port: int = 0
    ):
        self.host, self.what, self.limit_s = host, what, limit_s
        words = (str(port), f"{limit_s:g}", str(KILL_S), str(MAX_OUTPUT_B))
        self._process = host.start(("sh", "-c", SCRIPT, "keeper", *words, *argv))
        self._ended: Exit | None = None
        self._printed = ""
        self._told_to_end = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._process.close(KILL_S + 3.0)

    def listens(self) -> bool:
        """Wait until it listens; False when somebody else has its port.

        Raises
        ------
        RunError
            It ended in place of listening, or does not listen in time.
        HostError
            The host is lost.
        """
        deadline = time.monotonic() + LISTEN_S
        while (answer := self._answer(deadline)) is not None:
            if answer["event"] == "ended":
                if re.search("address (already )?in use", self._ended.text, re.IGNORECASE):
                    return False
                raise self.failed("does not listen")
            return answer["event"] != "taken"
        raise RunError(f"{self._name}: does not listen within {LISTEN_S:g} s", code="timeout")

    def ended(self, timeout_s: float) -> Exit | None:
        """What came of it, or None while it runs."""
        deadline = time.monotonic() + timeout_s
        while self._ended is None and self._answer(deadline) is not None:
            pass
        return self._ended

    def settle(self, whole: Callable[[str], bool], timeout_s: float) -> None:
        """Wait until what a server has printed is whole, as it does not end by itself; end it."""
        deadline = time.monotonic() + timeout_s
        while self._ended is None and time.monotonic() < deadline:
            self._process.send("look")
            if (answer := self._answer(deadline)) is None or answer["event"] == "ended":
                break
            if whole(self._printed):
                break
            time.sleep(LOOK_S)
        if self._ended is None:
            self._told_to_end = True
            self._process.send("end")

    def result(self) -> Exit:
        """Wait for its end, which is to be a good one.

        Raises
        ------
        RunError
            It failed, was killed, did not end in time or printed too much.
        HostError
            The host is lost.
        """
        if self.ended(self.limit_s + ANSWER_S) is None:
            raise RunError(f"{self._name}: did not end in time", code="timeout")
        if self._ended.status == 124:
            raise self.failed(f"did not end within {self.limit_s:g} s")
        if self._told_to_end and self._ended.status == 128 + signal.SIGTERM:
            return self._ended
        if self._ended.status > 128:
            raise self.failed(f"was ended by signal {self._ended.status - 128}")
        if self._ended.status != 0:
            raise self.failed(f"exit status {self._ended.status}")
        return self._ended

    def failed(self, how: str) -> RunError:
        """An error with the last lines that it printed."""
        lines = self._ended.text.strip().splitlines()[-3:] if self._ended else []
        return RunError(": ".join((self._name, how, *map(str.strip, lines)))[:400], code="peer")

    @property
    def _name(self) -> str:
        return f"{self.what} on {self.host.name}"

    def _answer(self, deadline: float) -> dict | None:
        answer = self._process.poll(max(0.0, deadline - time.monotonic()))
        if answer is None or "output" not in answer:
            return answer
        if answer["size"] > MAX_OUTPUT_B:
            raise RunError(f"{self._name}: printed over {MAX_OUTPUT_B >> 20} MiB", code="limit")
        self._printed = base64.b64decode(answer["output"]).decode("utf-8", "replace")
        if answer["event"] == "ended":
            found = _TIMES.search(answer["times"])
            minutes = [float(part) for part in found.groups()] if found else [0.0] * 4
            cpu_s = 60 * (minutes[0] + minutes[2]) + minutes[1] + minutes[3]
            self._ended = Exit(answer["status"], self._printed, cpu_s)
        return answer
