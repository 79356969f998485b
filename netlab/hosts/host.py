"""Interface of a host: commands, long-lived processes, files, and the facts of a host."""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, Protocol, Self
from urllib.parse import quote

from netlab.errors import HostError, printable
from netlab.files.answers import checked
from netlab.files.bounded_json import parse_json
from netlab.hosts.stack import SCRIPT as LAYERS
from netlab.hosts.stack import parsed_layers

# Signs of life: one thread sends an empty line to every process that ends without them.

PULSE_S = 5.0
"""Interval of the empty lines."""

SILENCE_S = 30
"""A remote process ends after this time without input, s; its tuning is reverted before."""


class Pulse:
    """Sends pulses to its members from one thread, which runs while there are members."""

    def __init__(self, interval_s: float = PULSE_S, *, sleep: Callable[[float], None] = time.sleep):
        self._interval_s, self._sleep = interval_s, sleep
        self._lock = threading.Lock()
        self._members: weakref.WeakSet[LineProcess] = weakref.WeakSet()
        self._running = False

    def add(self, process: LineProcess) -> None:
        with self._lock:
            self._members.add(process)
            if self._running:
                return
            self._running = True
        threading.Thread(target=self._beat, name="netlab-pulse", daemon=True).start()

    def remove(self, process: LineProcess) -> None:
        with self._lock:
            self._members.discard(process)

    def _beat(self) -> None:
        while True:
            self._sleep(self._interval_s)
            with self._lock:
                members = list(self._members)
                self._running = bool(members)
            if not members:
                return
            for process in members:
                process.pulse()


PULSE = Pulse()
"""The thread of this process."""


# Client of a long-lived process: request lines of words out, answer lines of JSON in.

WORD = re.compile(r"^[a-z][a-z0-9_]*(B|Bps)?$")
MAX_REQUEST_BYTES = 4096
MAX_ANSWER_BYTES = 64 << 20
STDERR_KEPT_BYTES = 1 << 20
CANNOT_EXECUTE = (126, 127)
"""Exit statuses of a shell that cannot execute a program, or does not find it."""


class Pipe(Protocol):
    """The three streams of a running process, wherever it runs."""

    def write(self, data: bytes) -> None:
        """Write all of data to standard input; OSError when the reader is gone."""

    def close_input(self) -> None:
        """Close standard input: the process sees end of file."""

    def read(self, size: int, timeout_s: float) -> bytes:
        """Up to size bytes of standard output; empty at its end; TimeoutError."""

    def stderr_text(self) -> str:
        """Return the last MiB of standard error so far."""

    def exit_status(self, timeout_s: float) -> int | None:
        """Exit status, negative if a signal ended it; None while it runs."""

    def lost(self) -> str:
        """Reason why the process is unreachable; empty while it is reachable."""

    def kill(self) -> None:
        """Release the process at once; a local process is killed."""


class Reply(dict):
    """An answer of a host; it lacks the keys that only another program's of its name has."""

    def __init__(self, content: dict, *, host: str):
        super().__init__(content)
        self._host = host

    def __missing__(self, key: str) -> NoReturn:
        answer = self.get("event")
        raise HostError(self._host, f"its answer {answer} lacks {key}", code="E-HOST-046")


class LineProcess:
    """A process that takes request lines and answers JSON lines, as native/PROTOCOL.md says."""

    def __init__(
        self,
        pipe: Pipe,
        *,
        host: str,
        argv: tuple[str, ...],
        max_answer_bytes: int = MAX_ANSWER_BYTES,
    ):
        self.host, self.argv, self._pipe = host, argv, pipe
        self._max_answer_bytes = max_answer_bytes
        self._received = bytearray()
        self._searched = 0
        self._exit_status: int | None = None
        self._closed = False
        self._writing = threading.Lock()

    def __enter__(self) -> LineProcess:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def send(self, verb: str, **words: str | int | float | bool) -> None:
        self._write(request_line(verb, words))

    def send_line(self, line: str) -> None:
        """Send one request that is a whole line already, without its newline."""
        data = line.encode("ascii") + b"\n"
        if data.count(b"\n") != 1 or len(data) > MAX_REQUEST_BYTES:
            raise ValueError(f"not one request line: {line[:60]!r}")
        self._write(data)

    def keep_alive(self) -> LineProcess:
        """Send an empty line from time to time until the process is closed; see `pulse`."""
        PULSE.add(self)
        return self

    def pulse(self) -> None:
        """Send an empty line: a process started with ``--silence-s`` ends without input."""
        with contextlib.suppress(OSError, EOFError, ValueError), self._writing:
            self._pipe.write(b"\n")

    def _write(self, line: bytes) -> None:
        try:
            with self._writing:
                self._pipe.write(line)
        except (OSError, EOFError, ValueError):
            verb = line.split(b" ", 1)[0].decode("ascii").strip()
            self._fail_gone(f"accepted no more requests ({verb})", code="E-HOST-006")

    def receive(self, timeout_s: float) -> dict:
        answer = self.poll(timeout_s)
        if answer is None:
            self._fail(f"sent no answer for {timeout_s:g} s", code="E-HOST-007")
        return answer

    def poll(self, timeout_s: float) -> dict | None:
        deadline = time.monotonic() + timeout_s
        while True:
            end = self._received.find(b"\n", self._searched)
            if end >= 0:
                line = bytes(self._received[:end])
                del self._received[: end + 1]
                self._searched = 0
                return self._parsed(line)
            self._searched = len(self._received)
            if self._searched > self._max_answer_bytes:
                self._fail(f"sent a line of over {self._max_answer_bytes} bytes", code="E-HOST-008")
            try:
                chunk = self._pipe.read(1 << 18, max(0.0, deadline - time.monotonic()))
            except TimeoutError:
                return None
            if not chunk:
                ended = "ended in the middle of a line" if self._received else "ended"
                self._fail_gone(ended, code="E-HOST-009")
            self._received += chunk

    def close(self, timeout_s: float = 5.0) -> int | None:
        """Close the input of the process, wait for its end and release its streams."""
        if self._closed:
            return self._exit_status
        self._closed = True
        PULSE.remove(self)
        try:
            self._pipe.close_input()
            deadline = time.monotonic() + timeout_s
            # read the rest of its output, or it could block on a full pipe
            while self._pipe.read(1 << 18, max(0.0, deadline - time.monotonic())):
                pass
            self._exit_status = self._pipe.exit_status(max(0.0, deadline - time.monotonic()))
        except (OSError, EOFError, ValueError):
            self._exit_status = None
        finally:
            self._pipe.kill()
        return self._exit_status

    def stderr_text(self) -> str:
        return self._pipe.stderr_text()

    def _parsed(self, line: bytes) -> dict:
        try:
            content = parse_json(line)
        except ValueError:
            self._fail(f"sent a line that is not an answer: {line[:120]!r}", code="E-HOST-010")
        try:
            return Reply(checked(content), host=self.host)
        except ValueError as fault:
            self._fail(f"sent an answer that breaks its protocol: {fault}", code="E-HOST-070")

    def _fail(self, what: str, exit_status: int | None = None, *, code: str) -> NoReturn:
        message, output = f"{os.path.basename(self.argv[0])} {what}", self._pipe.stderr_text()
        more: dict[str, Any] = {"command": shown(self.argv), "exit_status": exit_status}
        raise HostError(self.host, message, output=output, code=code, **more)

    def _fail_gone(self, what: str, *, code: str) -> NoReturn:
        status = self._pipe.exit_status(1.0)
        if lost := self._pipe.lost():
            output = self._pipe.stderr_text()
            more: dict[str, Any] = {"command": shown(self.argv), "output": output}
            raise HostError(self.host, lost, code="E-HOST-011", **more) from None
        if status in CANNOT_EXECUTE:
            what = (
                "cannot be executed on this host: it was built for another machine, or its file "
                "system forbids programs"
            )
        self._fail(what, status, code=code)


def request_line(verb: str, words: dict[str, str | int | float | bool]) -> bytes:
    if not WORD.fullmatch(verb):
        raise ValueError(f"{verb!r} is not a verb")
    parts = [verb]
    for key, value in words.items():
        if not WORD.fullmatch(key):
            raise ValueError(f"{key!r} is not a key")
        if isinstance(value, bool):
            value = int(value)
        if not isinstance(value, str | int | float):
            raise ValueError(f"{key}: {value!r} is neither text nor a number")
        parts.append(f"{key}={quote(str(value), safe='-._~:/,', errors='surrogateescape')}")
    line = (" ".join(parts) + "\n").encode("ascii")
    if len(line) > MAX_REQUEST_BYTES:
        raise ValueError(f"{verb}: the request is over {MAX_REQUEST_BYTES} bytes")
    return line


MAX_OUTPUT_BYTES = 16 << 20
FACTS_S = 60.0
"""Timeout of some fifty short programs; a host that is lost is found before, by its silence."""
COPY_TIMEOUT_S = 60.0
# Arguments: file, mode, timeout in s. sshd does not notice for hours that a host was cut off.
PUT = r"""
umask 077
t=$(command -v timeout)
${t:+"$t" "$3"} cat >"$1" && chmod "$2" "$1"
"""


@dataclass(frozen=True)
class Completed:
    argv: tuple[str, ...]
    stdout: str
    stderr: str
    exit_status: int


class Host(ABC):
    """A machine that runs commands while it is open; every failure is a HostError with its name."""

    agent_directory = ""
    """Directory for the agent that the study names."""

    def __init__(self, name: str):
        self.name = name

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    @abstractmethod
    def open(self) -> None:
        """Connect to the host; do nothing if it is connected."""

    @abstractmethod
    def close(self) -> None:
        """Disconnect from the host; do nothing if it is not connected."""

    def put(self, local: Path, remote: str, mode: int) -> None:
        argv = ("sh", "-c", PUT, "put", remote, f"{mode:o}", f"{COPY_TIMEOUT_S:.0f}")
        self.run(argv, input=local.read_bytes(), timeout_s=COPY_TIMEOUT_S)

    def read_bytes(self, remote: str) -> bytes:
        text = self.run(("cat", "--", remote), timeout_s=COPY_TIMEOUT_S).stdout
        return text.encode("utf-8", "surrogateescape")

    @abstractmethod
    def _spawn(self, argv: tuple[str, ...]) -> Pipe:
        """Start argv without a shell's expansion and return its streams."""

    @cached_property
    def is_root(self) -> bool:
        return self.run(("id", "-u")).stdout.strip() == "0"

    @cached_property
    def can_sudo(self) -> bool:
        """True if ``sudo -n`` works: for the superuser, and where sudo asks for no password."""
        return self.is_root or not self._sudo_refusal

    @cached_property
    def _sudo_refusal(self) -> str:
        done = self.run(("sudo", "-n", "--", "true"), check=False)
        return "" if done.exit_status == 0 else done.stderr.strip() or "sudo failed"

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float = 20.0,
        check: bool = True,
        input: bytes | None = None,
        sudo: bool = False,
    ) -> Completed:
        command = self._checked(argv)
        deadline = time.monotonic() + timeout_s
        pipe = self._spawn(self._privileged(command) if sudo else command)
        try:
            if input is None:
                pipe.close_input()
            else:
                # in a thread: a command may fill its output pipe before it has read all input
                threading.Thread(target=_feed, args=(pipe, input), daemon=True).start()
            stdout = self._communicate(pipe, command, deadline, timeout_s)
            status = pipe.exit_status(max(0.0, deadline - time.monotonic()))
            stderr = pipe.stderr_text()
            lost = pipe.lost()
        finally:
            pipe.kill()
        if lost:
            raise self._error(command, lost, output=stderr, code="E-HOST-001")
        if status is None:
            raise self._timed_out(command, timeout_s, stderr)
        if check and status != 0:
            what = "the command failed" if status > 0 else "the command was ended by a signal"
            output = stderr or stdout
            raise self._error(command, what, exit_status=status, output=output, code="E-HOST-002")
        return Completed(command, stdout, stderr, status)

    def start(self, argv: Sequence[str], *, sudo: bool = False) -> LineProcess:
        command = self._checked(argv)
        pipe = self._spawn(self._privileged(command) if sudo else command)
        return LineProcess(pipe, host=self.name, argv=command)

    def facts(self, interface: str | None = None) -> dict[str, Any]:
        argv = facts_argv(interface)
        return parsed_facts(self.run(argv, timeout_s=FACTS_S).stdout, interface)

    def _checked(self, argv: Sequence[str]) -> tuple[str, ...]:
        if isinstance(argv, str) or not argv or not argv[0]:
            raise ValueError("argv is a program followed by its arguments")
        if any("\0" in word for word in argv):
            raise ValueError("no argument can hold a NUL")
        return tuple(argv)

    def _privileged(self, command: tuple[str, ...]) -> tuple[str, ...]:
        if self.is_root:
            return command
        if not self.can_sudo:
            output = self._sudo_refusal if "tty" in self._sudo_refusal else ""
            message = "the command needs root, and sudo " + (
                "wants a terminal; log in as root or take `requiretty` out of sudoers for this "
                "user (`Defaults:USER !requiretty`)"
                if output
                else "would ask for a password; log in as root or allow this user NOPASSWD in "
                "sudoers"
            )
            raise self._error(command, message, output=output, code="E-HOST-003")
        return ("sudo", "-n", "--", *command)

    def _error(self, argv: tuple[str, ...], what: str, *, code: str, **more: Any) -> HostError:
        return HostError(self.name, what, command=shown(argv), code=code, **more)

    def _timed_out(self, command: tuple[str, ...], timeout_s: float, stderr: str) -> HostError:
        what = f"did not end within {timeout_s:g} s"
        return self._error(command, what, output=stderr, code="E-HOST-004")

    def _communicate(
        self, pipe: Pipe, command: tuple[str, ...], deadline: float, timeout_s: float
    ) -> str:
        output = bytearray()
        while True:
            try:
                chunk = pipe.read(65536, max(0.001, deadline - time.monotonic()))
            except TimeoutError:
                raise self._timed_out(command, timeout_s, pipe.stderr_text()) from None
            if not chunk:
                return output.decode("utf-8", "surrogateescape")
            output += chunk
            if len(output) > MAX_OUTPUT_BYTES:
                message = f"printed over {MAX_OUTPUT_BYTES >> 20} MiB"
                raise self._error(command, message, code="E-HOST-005")


def shown(argv: Sequence[str]) -> tuple[str, ...]:
    """Format an argv for a message; a script among the words becomes ``SCRIPT``."""
    return tuple("SCRIPT" if "\n" in word else word for word in argv)


def _feed(pipe: Pipe, given: bytes) -> None:
    # a command may end without reading its input; its exit status tells
    with contextlib.suppress(OSError, ValueError):
        pipe.write(given)
        pipe.close_input()


# Facts of a host (kernel, CPU, NIC, bus), read by one command.


# Prints `NAME VALUE` for each fact it finds; uses only what every Linux host has.
SCRIPT = rf"""
i=$1
say() {{ if [ -n "$2" ]; then printf '%s %s\n' "$1" "$2"; fi; }}
first() {{ if [ -r "$1" ]; then head -n 1 "$1" 2>/dev/null; fi; }}
{LAYERS}
"""
SCRIPT += r"""
say hostname "$(uname -n)"
say kernel "$(uname -r)"
say machine "$(uname -m)"
say boot_id "$(first /proc/sys/kernel/random/boot_id)"
say network_namespace "$(readlink /proc/self/ns/net)"
say os "$(. /etc/os-release 2>/dev/null && printf %s "$PRETTY_NAME")"
say cpus "$(grep -c '^processor' /proc/cpuinfo)"
say cpu_model "$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)"
say memory_kB "$(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo)"
cpus=${2:-/sys/devices/system/cpu}
c=$cpus/cpu0
case $(first "$cpus/smt/active") in 1) say smt on ;; 0) say smt off ;; esac
# an entry for each IOMMU in use
if [ -d /sys/class/iommu ]; then
  units=$(ls /sys/class/iommu | wc -l)
  if [ "$units" -gt 0 ]; then say iommu on; else say iommu off; fi
fi
say governor "$(first "$c/cpufreq/scaling_governor")"
has() { if [ -r "$2" ]; then say "$1" "read in each run"; else say "$1" "unsupported: no $3"; fi; }
has cpu_frequency "$c/cpufreq/scaling_cur_freq" cpufreq
has thermal_throttling "$c/thermal_throttle/core_throttle_count" "count of throttling"
# a VLAN, or a bond with one slave, has the bus and the driver of the card below it
card() {
  set -- "$e"/lower_*
  if [ ! -e "$e/device" ] && [ $# -eq 1 ] && [ -e "$1" ]; then
    e=$1 c=${1##*/lower_}
    card
  fi
}
if [ -n "$i" ]; then
  d=/sys/class/net/$i
  if [ ! -e "$d" ]; then  # one of its other names
    i=$(PATH=$PATH:/usr/sbin:/sbin ip -o link show dev "$i" 2>/dev/null |
      sed -n 's/^[0-9]*: \([^:@]*\).*/\1/p')
    d=/sys/class/net/${i:-/none}
  fi
  if [ -e "$d" ]; then
    say interface_exists 1
    say interface "$i"
    say mtu_B "$(first "$d/mtu")"
    say link_speed_Mbps "$(first "$d/speed")"
    say duplex "$(first "$d/duplex")"
    say operstate "$(first "$d/operstate")"
    say mac_address "$(first "$d/address")"
    for port in "$d"/brif/*; do
      if [ ! -e "$port" ]; then continue; fi
      ports="$ports${ports:+, }${port##*/} $(first "/sys/class/net/${port##*/}/mtu") B"
    done
    say bridge_ports "$ports"
    layers "${d%/*}" "$i"
    e=$d c=$i
    card
    say nic_driver "$(basename "$(readlink "$e/device/driver")" 2>/dev/null)"
    say pci_vendor "$(first "$e/device/vendor")"
    say pci_device "$(first "$e/device/device")"
    say bus_address "$(basename "$(readlink "$e/device")" 2>/dev/null)"
    say bus_width "$(first "$e/device/current_link_width")"
    say bus_speed "$(first "$e/device/current_link_speed")"
    s=$e/device/config
    if [ ! -e "$s" ]; then s=$e/device/../config; fi  # of virtio the PCI device is the parent
    # from a capability of the configuration space, for root only. 16, PCI Express:
    # Max_Payload_Size, bits 7:5 of device control. 7, PCI-X: bit 16 of its status, a 64 bit device
    capability() { od -An -v -tu1 -N256 "$s" 2>/dev/null | awk -v id="$1" '
      { for (f = 1; f <= NF; f++) b[n++] = $f }
      END {
        at = b[52] - b[52] % 4
        for (k = 0; n == 256 && k < 48 && at >= 64 && at < 244; k++) {
          if (b[at] == id && id == 7) {
            print (b[at + 6] % 2 ? 64 : 32)
            exit
          }
          if (b[at] == id) {  # no ^: an awk of busybox may lack it
            size = 128
            for (v = int(b[at + 8] / 32) % 8; v > 0; v--) size *= 2
            print size
            exit
          }
          at = b[at + 1] - b[at + 1] % 4
        }
      }'; }
    say bus_max_payload_B "$(capability 16)"
    say bus_pci_x_bits "$(capability 7)"
    p=${3:-/sys/bus/pci}
    a=$(basename "$(readlink "$e/device")" 2>/dev/null)
    case $a in *:*:*.*)
      for t in "$p"/slots/*; do
        if [ "$(first "$t/address")" = "${a%.*}" ]; then
          say bus_slot_speed "$(first "$t/cur_bus_speed")"
        fi
      done
      say bus_devices "$(ls "$p/devices" 2>/dev/null |
        sed -n "s/^\(${a%:*}:[^.]*\)\..*/\1/p" | sort -u | wc -l)"
    ;; esac
    say numa_node "$(first "$e/device/numa_node")"
    say bus_max_width "$(first "$e/device/max_link_width")"
    say bus_max_speed "$(first "$e/device/max_link_speed")"
    PATH=$PATH:/usr/sbin:/sbin
    ethtool -i "$c" 2>/dev/null | sed -n \
      -e 's/^driver: */nic_driver /p' -e 's/^version: */nic_driver_version /p' \
      -e 's/^firmware-version: */nic_firmware /p'
  else
    say interface_exists 0
  fi
fi
"""
INTEGERS = (
    *("cpus", "memory_kB", "numa_node", "mtu_B", "link_speed_Mbps", "bus_width", "bus_max_width"),
    *("bus_max_payload_B", "bus_pci_x_bits", "bus_devices"),
)
TEXTS = (
    *(
        "hostname",
        "kernel",
        "machine",
        "boot_id",
        "network_namespace",
        "os",
        "cpu_model",
        "smt",
        "iommu",
        "governor",
    ),
    *("cpu_frequency", "thermal_throttling", "duplex", "operstate", "mac_address", "bridge_ports"),
    *("nic_driver", "nic_driver_version", "nic_firmware", "pci_vendor", "pci_device"),
    *("bus_address", "bus_speed", "bus_max_speed", "bus_slot_speed"),
)


ONE_HOST = (
    "log in to one host (its network namespace): the kernel passes packets between its own "
    "addresses inside, and no card carries them; take two hosts, or move one card into a network "
    "namespace with an sshd of its own (`ip netns add`, `ip link set CARD netns NAME`)"
)


def is_one_host(one: Mapping, other: Mapping) -> bool:
    """True if the facts of two logins name the same network namespace of the same boot."""
    names = ("boot_id", "network_namespace")
    return all(one.get(name) and one.get(name) == other.get(name) for name in names)


def whole_number(text: str) -> int | None:
    """The number that a host printed; None for other text, and beyond 64 bits."""
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text.strip()) else None


def facts_argv(interface: str | None = None) -> tuple[str, ...]:
    return ("sh", "-c", SCRIPT, "facts", interface or "")


def parsed_facts(text: str, interface: str | None = None) -> dict[str, Any]:
    layered = (line[6:] for line in text.splitlines() if line.startswith("layer "))
    stack = parsed_layers(layered)
    lines = (line.partition(" ") for line in text.splitlines())
    texts = {name: printable(value.strip()) for name, _, value in lines if value.strip()}
    facts: dict[str, Any] = {name: texts.get(name) for name in TEXTS}
    for name in INTEGERS:
        value = texts.get(name, "")
        # The kernel reports -1 for an unknown speed, and 0 or 255 for an unknown width.
        unknown = name.startswith("bus") and value in {"0", "255"}
        facts[name] = None if unknown else whole_number(value)
    facts["interface"] = interface and texts.get("interface", interface)
    facts["interface_exists"] = None if interface is None else texts.get("interface_exists") == "1"
    if facts["nic_driver"] == "veth" or stack.rows():
        # veth reports 10 Gb/s at any rate, which would look like a limit, and a bond a sum
        facts["link_speed_Mbps"] = None if facts["nic_driver"] == "veth" else stack.speed_Mbps
    return {**facts, "layers": rows} if (rows := stack.rows()) else facts
