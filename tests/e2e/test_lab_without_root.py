"""A user without root measures on the lab: it is made in a user namespace, and goes with it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import yaml
from e2e import lab_owner
from e2e.conftest import NETLAB, ROOT, measured_through, small_study, untouched
from waiting import until

from netlab.results.store import Store

USER = 61100 + os.getpid() % 4000
"""One for each worker of pytest: labs and processes are a user's."""
LABS = [Path(place) / f"netlab-labs-{USER}" for place in ("/var/tmp", "/tmp")]


# Arguments: directories that others may not enter, `--`, directories below them that the user
# needs, `--`, mode of the TUN device or -, `--`, the command. In a mount namespace of its own.
SCRIPT = r"""
set -e
mount --make-rprivate /
stage=$(mktemp -d)
mount -t tmpfs tmpfs "$stage"
closed=
while [ "$1" != -- ]; do closed="$closed $1"; shift; done
shift
n=0
opened=
while [ "$1" != -- ]; do
  mkdir "$stage/$n"
  mount --rbind "$1" "$stage/$n"
  opened="$opened $1"
  n=$((n + 1))
  shift
done
for directory in $closed; do mount -t tmpfs -o mode=755 tmpfs "$directory"; done
n=0
for directory in $opened; do
  mkdir -p "$directory"
  mount --rbind "$stage/$n" "$directory"
  n=$((n + 1))
done
if [ "$2" != - ]; then
  mknod -m "$2" "$stage/tun" c 10 200
  mount --bind "$stage/tun" /dev/net/tun
fi
umount --lazy "$stage"
rmdir "$stage"
shift 3
exec "$@"
"""


def _closed(path: Path) -> Path | None:
    """The topmost directory above a path that other users may not enter."""
    for directory in reversed((path, *path.parents)):
        if not directory.stat().st_mode & 0o001:
            return directory
    return None


def as_user(argv: Sequence[str], tun: str = "-") -> tuple[str, ...]:
    """The argv that runs `argv` as the user, who finds a /dev/net/tun of a mode."""
    needed = {Path(sys.base_prefix), Path(sys.prefix), ROOT}
    closed = {path: found for path in needed if (found := _closed(path))}
    return (
        *("unshare", "--mount", "--", "sh", "-c", SCRIPT, "unprivileged"),
        *map(str, sorted(set(closed.values()))),
        "--",
        *map(str, sorted(closed)),
        *("--", tun, "--", "setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"),
        "--bounding-set=-all",
        *argv,
    )


def environment(home: Path) -> dict[str, str]:
    """Environment of the user: no directory for root's programs in PATH, no session."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    own = {"HOME": str(home), "USER": "someone", "LOGNAME": "someone"}
    return {**kept, **own, "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}


def run(argv: Sequence[str], home: Path, tun: str = "-") -> subprocess.CompletedProcess[str]:
    """Run a command as the user, in his home, to its end."""
    return subprocess.run(
        as_user(argv, tun),
        cwd=home,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def processes() -> list[str]:
    """Command lines of the processes that the user has."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if entry.stat().st_uid == USER and (words := (entry / "cmdline").read_bytes()):
                found.append(words.replace(b"\0", b" ").decode())
    return found


def _assert_nothing_left() -> None:
    until(lambda: not [*processes(), *(labs for labs in LABS if labs.exists())], every_s=0.1)


@pytest.fixture
def home() -> Iterator[Path]:
    """Home of the user, with the small study; afterwards nothing is left of a lab of his."""
    with untouched(), tempfile.TemporaryDirectory(prefix="netlab-user-") as place:
        directory = Path(place)
        os.chown(directory, USER, USER)
        (directory / "small.yml").write_text(yaml.safe_dump(small_study("small"), sort_keys=False))
        yield directory
        _assert_nothing_left()


def _measured(home: Path) -> list[dict]:
    """The runs of the study, whose ledger closes."""
    runs = Store(home / "results").runs()
    assert len(runs) == 8
    assert not runs["flags"].str.contains("failed|lost_host|ledger").any(), runs["message"].tolist()
    assert (runs["ledger_error_B"] == 0).all()
    assert (runs["sent_B"] == runs["received_B"]).all()
    assert (runs["interval_sum_B"] == runs["received_B"]).all()
    return runs.to_dict("records")


def test_a_benchmark_compares_with_a_tool_and_sets_the_routes_of_its_path(home: Path):
    cell = ("--streams", "1", "--mtu", "1500", "--offloads", "on", "--mode", "same")
    how = ("--rounds", "1", "--seconds", "1", "--peer", "nuttcp", "--out", "bench")
    done = run((*NETLAB, "bench", *cell, *how), home)
    assert done.returncode == 0, done.stdout + done.stderr
    (directory,) = home.glob("bench/*")
    runs = Store(directory).runs()
    assert {name.partition(" ")[0] for name in runs["group"]} == {"gensink", "plain", "nuttcp"}
    assert not runs["flags"].str.contains("failed").any(), runs["message"].tolist()


def test_a_lab_stays_until_its_user_takes_it_down_and_is_tuned_and_reverted(home: Path):
    def netlab(*argv: str) -> str:
        done = run((*NETLAB, *argv), home)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def settings() -> str:
        names = ("net.ipv4.tcp_sack", "net.ipv4.tcp_rmem", "net.ipv4.tcp_timestamps")
        link = netlab("lab", "shell", "left", "cat", "/sys/class/net/data0/mtu")
        return netlab("lab", "shell", "left", "/sbin/sysctl", *names) + link

    made = netlab("lab", "up", "small.yml")
    assert "complete, in a user namespace" in made
    shown = netlab("lab", "status")
    assert made in shown and "host left: up" in shown and "path cable" in shown
    before = settings()
    assert netlab("lab", "shell", "left", "id", "-u") == "0\n"
    measured_through(run((*NETLAB, "run", "small.yml", "--results", "results"), home))
    _measured(home)
    assert settings() == before
    lab_id = made.split()[1].rstrip(":")
    assert netlab("lab", "down") == f"removed: {lab_id}\n"
    assert lab_id not in netlab("lab", "status")


def test_a_notebook_measures_and_records_what_the_kernel_reserves_for_root(home: Path):
    """A process with several threads cannot enter a user namespace itself."""
    program = (
        "import threading, netlab; from pathlib import Path\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "netlab.Study('small.yml').run(results=Path('results'))\n"
    )
    done = run((sys.executable, "-c", program), home)
    assert done.returncode == 0, done.stderr
    for row in _measured(home):
        assert json.loads(row["provenance"])["user_namespace"] is True
        lacking = {(entry["host"], entry["knob"]) for entry in json.loads(row["unsupported"])}
        assert {(host, "interrupt_delay_us") for host in ("left", "right")} <= lacking
        knobs = json.loads(row["knobs"])["left"]
        assert knobs["mtu"] == str(row["mtu_B"])
        assert (row["tuning"] == "openlab-2003-full") == (knobs["net.ipv4.tcp_sack"] == "0")


def test_an_end_in_the_middle_of_up_leaves_nothing(home: Path):
    argv = as_user((sys.executable, lab_owner.__file__, "middle"))
    given = environment(home)
    given["PYTHONPATH"] += f":{ROOT / 'tests'}"
    with subprocess.Popen(argv, cwd=home, env=given, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"start\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGKILL)
    _assert_nothing_left()


def test_a_lab_whose_holders_were_killed_is_incomplete_and_can_be_taken_down(home: Path):
    made = run((*NETLAB, "lab", "up", "small.yml"), home).stdout
    lab_id = made.split()[1].rstrip(":")
    holders = next(labs / lab_id / "holders" for labs in LABS if labs.exists())
    holder = int(holders.read_text().split()[0])
    os.kill(holder, signal.SIGKILL)
    until(lambda: not os.path.lexists(f"/proc/{holder}/ns/net"))
    assert "NOT complete" in run((*NETLAB, "lab", "status"), home).stdout
    shell = run((*NETLAB, "lab", "shell", "left", "true"), home)
    assert "[E-LAB-030]" in shell.stderr
    down = run((*NETLAB, "lab", "down"), home)
    assert down.stdout == f"removed: {lab_id}\n"


@pytest.fixture
def emulated(home: Path) -> str:
    """A study over a path of netlab's own emulator."""
    study = small_study("small")
    study["paths"]["cable"]["link"] = {"emulator": {"with": "netlab", "rtt_ms": 10.0}}
    study["tunings"] = study["tunings"][:1]
    study["streams"] = [1]
    (home / "emulated.yml").write_text(yaml.safe_dump(study))
    return "emulated.yml"


def test_an_emulated_path_is_measured_where_tun_devices_are_open(home: Path, emulated: str):
    argv = (*NETLAB, "run", emulated, "--results", "results")
    measured_through(run(argv, home, tun="0666"))
    runs = Store(home / "results").runs()
    assert (runs["sent_B"] == runs["received_B"]).all()
    assert (runs["min_rtt_us"] > 9000).all()


FORBID = 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"'
FORBIDDEN = ("unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c", FORBID, "sh")
NO_NAMESPACES = ("user.max_user_namespaces is 0", "with sudo, or permit it: sudo sysctl")
REFUSED = {
    "a study": (FORBIDDEN, ("run", "small.yml", "--results", "r"), "E-LAB-019", NO_NAMESPACES),
    "a lab": (FORBIDDEN, ("lab", "up", "small.yml"), "E-LAB-019", NO_NAMESPACES),
    "closed TUN": ((), ("lab", "up", "emulated.yml"), "E-LAB-031", ("may not open /dev/net/tun",)),
    "two delays": ((), ("lab", "up", "delays.yml"), "E-LAB-032", ()),
}
"""Words before the command, its own, and the code and words of the refusal."""


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_kernel_does_not_permit_is_named_with_the_remedy(
    home: Path, emulated: str, case: str
):
    below, argv, code, words = REFUSED[case]
    study = small_study("small")
    ends = study["paths"]["cable"]["ends"]
    study["paths"]["other"] = {"ends": ends, "link": {"interrupt_delay_us": 0.0}}
    (home / "delays.yml").write_text(yaml.safe_dump(study))
    done = run((*below, *NETLAB, *argv), home, tun="0600")
    assert done.returncode == 1
    assert f"[{code}]" in done.stderr and all(word in done.stderr for word in words)
    assert len(done.stderr.splitlines()) == 1
