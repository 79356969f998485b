"""Causes of faults of the controller."""

from __future__ import annotations

import io
import os
import shlex
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

from e2e.faults.fault_site import ADDRESSES, Site, run, until
from e2e.faults.under_way import GONE_S, HERE, Result, under_way

from netlab import core
from netlab.hosts.agent import packed_sources


def controller(site: Site, number: int) -> Result:
    process = under_way(site, seconds=60)
    os.killpg(process.pid, number) if number == signal.SIGKILL else process.send_signal(number)
    return site.finished(process)


def controller_stopped(site: Site) -> Result:
    process = under_way(site)
    site.signal_controller(signal.SIGSTOP)
    for name in ADDRESSES:
        until(lambda name=name: not site.processes(name), GONE_S)
    site.signal_controller(signal.SIGKILL)
    return site.finished(process)


def controller_asleep(site: Site) -> Result:
    """It stops for longer than the hosts wait, as a laptop whose lid is closed, and goes on."""
    process = under_way(site, seconds=10)
    site.signal_controller(signal.SIGSTOP)
    for name in ADDRESSES:
        until(lambda name=name: not site.processes(name), GONE_S)
    site.signal_controller(signal.SIGCONT)
    return site.finished(process)


def two_controllers(site: Site, results: str) -> Result:
    first = under_way(site, seconds=300)
    into = ("--results", str(site.state / results), "--rounds", "1")
    result = site.finished(site.start("run", str(site.study), *into))
    first.send_signal(signal.SIGTERM)
    assert site.finished(first)[0] == 143
    if results == site.results.name:
        assert f"process {first.pid} of user root since 20" in result[1], result[1]
    return result


def mounted(site: Site, options: str) -> Result:
    """`ip netns exec` has given the process a mount namespace of its own."""
    return site.finished(site.measure(prefix=f"mount -t tmpfs -o {options} x {site.results}; exec"))


def shifted_clock(site: Site) -> tuple[Path, str]:
    """File of seconds by which a wall clock is ahead, and the shell's words that preload it."""
    library, offset = site.state / "shifted_clock.so", site.state / "offset"
    run("cc", "-shared", "-fPIC", "-O2", "-o", library, HERE / "shifted_clock.c")
    offset.write_bytes(bytes(8))
    return offset, f"export LD_PRELOAD={library} NL_OFFSET={offset}"


def set_clock(offset: Path, *hours: int) -> None:
    for each in hours:
        with offset.open("r+b") as mapped:  # in place: a process that maps an empty file is killed
            mapped.write((each * 3600).to_bytes(8, sys.byteorder, signed=True))
        time.sleep(0.5)


def clock_of_controller_set(site: Site) -> Result:
    """Its wall clock jumps by hours, forth and back, during the run."""
    offset, preload = shifted_clock(site)
    process = under_way(site, prefix=f"{preload}; exec")
    set_clock(offset, 5, -7, 0, 24 * 400)
    return site.finished(process)


def clock_of_host_set(site: Site) -> Result:
    """The wall clock of host b jumps during the run.

    Its agent is compiled there without -static, as where no static library is, so that a library
    can be preloaded: the clock of this machine is that of others.
    """
    offset, preload = shifted_clock(site)
    place = site.state / "dynamic"
    place.mkdir()
    with tarfile.open(fileobj=io.BytesIO(packed_sources(core.source_dir()))) as sources:
        sources.extractall(place)
    _, *words = shlex.split((core.source_dir() / "BUILD").read_text())
    quick = ["-O0" if word.startswith("-O") else word for word in words]
    subprocess.run(["cc", *quick], cwd=place, check=True)
    other = f"sed 's#[^ \"]*/gensink-[0-9a-z_-]*#{place}/gensink#'"
    site.wrap(
        "b",
        f"""case $SSH_ORIGINAL_COMMAND in *" agent "*)
  {preload}
  SSH_ORIGINAL_COMMAND=$(printf %s "$SSH_ORIGINAL_COMMAND" | {other}) ;;
esac""",
    )
    process = under_way(site)
    set_clock(offset, 5, -7, 24 * 400)
    result = site.finished(process)
    site.wrap("b")
    return result
