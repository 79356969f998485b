"""The agent on processors of another word size and byte order, as an emulator of user mode runs it.

Both ends and their controller must agree on every field, whichever machine each is on: s390x is
big-endian, armhf has words of 32 bits, mipsel no atomic counters of 64. Musl is another C library.
"""

from __future__ import annotations

import functools
import json
import re
import shlex
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from netlab import core
from netlab.hosts.agent import COMPILE, packed_sources

TOKEN = "00112233445566778899aabbccddeeff"
WORDS = ("--json", "--streams", "2", "--interval_ms", "100")
SINK_MS, GEN_MS = "400", "1000"
"""Windows. An emulated sink may read its counters late: the gen still sends then."""
COMPILERS = {
    "aarch64": "aarch64-linux-gnu-gcc",
    "arm": "arm-linux-gnueabihf-gcc",
    "mipsel": "mipsel-linux-gnu-gcc",
    "s390x": "s390x-linux-gnu-gcc",
}
OWN, MUSL = "this", "musl"
PAIRS = [
    (OWN, MUSL),
    ("mipsel", OWN),
    (MUSL, "mipsel"),
    (OWN, "s390x"),
    ("s390x", OWN),
    ("arm", "s390x"),
    ("aarch64", "arm"),
]
"""In an order in which each compiles at most one more agent."""


@pytest.fixture(scope="module")
def agent_of(tmp_path_factory) -> Callable[[str], tuple[str, ...]]:
    """Name of a machine -> argv of its agent, which is compiled as a host does when first needed.

    Each test compiles what it runs in its own time: all together take minutes on a busy machine.
    """
    place = tmp_path_factory.mktemp("architectures")
    _, *words = shlex.split((core.source_dir() / "BUILD").read_text())

    @functools.cache
    def agent(name: str) -> tuple[str, ...]:
        if name == OWN:
            return (str(core.gensink_path()),)
        compiler = str(musl_compiler(place)) if name == MUSL else COMPILERS[name]
        argv = ("sh", "-c", COMPILE, "compile", str(place), name, name, compiler, *words)
        subprocess.run(argv, input=packed_sources(core.source_dir()), check=True)
        return (*(() if name == MUSL else (f"qemu-{name}-static",)), str(place / name))

    return agent


def musl_compiler(place: Path) -> Path:
    """Debian's compiler for musl, with the kernel's headers, which its package leaves out."""
    headers, compiler = place / "kernel", place / "musl-cc"
    headers.mkdir()
    machine = sysconfig.get_config_var("MULTIARCH")
    for name, where in (("linux", ""), ("asm-generic", ""), ("asm", machine)):
        (headers / name).symlink_to(Path("/usr/include", where, name))
    compiler.write_text(f'#!/bin/sh\nexec musl-gcc -idirafter {headers} "$@"\n')
    compiler.chmod(0o755)
    return compiler


@pytest.mark.parametrize(("sender", "receiver"), PAIRS, ids=map(" to ".join, PAIRS))
def test_two_machines_agree_on_every_byte(agent_of, tmp_path, sender, receiver):
    receiving, sending = agent_of(receiver), agent_of(sender)
    token = tmp_path / "token"
    token.write_text(TOKEN)
    port = str(28000 + PAIRS.index((sender, receiver)))
    sink = subprocess.Popen(
        (*receiving, "sink", *WORDS, "--window_ms", SINK_MS,
         "--bind", "127.0.0.1", "--port", port, "--token", str(token), "--accept_ms", "20000"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert sink.stderr.readline().startswith("listening")
    gen = subprocess.run(
        (*sending, "gen", *WORDS, "--window_ms", GEN_MS,
         "--to", "127.0.0.1", "--port", port, "--token", str(token), "--connect_ms", "20000"),
        stdout=subprocess.PIPE, text=True, timeout=60,
    )  # fmt: skip
    received, sent = sink.communicate(timeout=60)[0], gen.stdout
    assert (sink.returncode, gen.returncode) == (0, 0), f"{sent}\n{received}"
    there, here = json.loads(received.splitlines()[-1]), json.loads(sent.splitlines()[-1])
    assert there["total_bytes"] == here["total_bytes"] > 1_000_000


@pytest.mark.parametrize("name", [*COMPILERS, MUSL])
def test_each_agent_has_the_digest_of_its_sources(agent_of, name):
    said = subprocess.run((*agent_of(name), "version"), capture_output=True, text=True, check=True)
    assert said.stdout.split()[-1] == core.source_digest()


def test_more_memory_than_32_bits_address_is_refused(agent_of):
    """100 records of this size, in whole pages, are 4 GiB and 96 KiB."""
    words = ("sink", "--bind", "127.0.0.1", "--streams", "100", "--record_B", "42949672")
    argv = (*agent_of("arm"), *words, "--engine", "blocking")
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "memory for 100 records of 42949672 B" in done.stderr


@pytest.mark.parametrize("name", [OWN, MUSL])
def test_an_error_of_the_kernel_is_in_words(agent_of, name):
    words = ("sink", "--bind", "203.0.113.1", "--streams", "1")
    done = subprocess.run((*agent_of(name), *words), capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert re.search(r"bind 203.0.113.1 port 0: [A-Z][a-z ]+ \(errno 99\)", done.stderr)


def test_an_agent_of_musl_needs_no_library(agent_of):
    (program,) = agent_of(MUSL)
    parts = subprocess.run(("readelf", "-l", program), capture_output=True, text=True, check=True)
    assert "LOAD" in parts.stdout and "INTERP" not in parts.stdout
