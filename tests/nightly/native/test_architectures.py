"""The agent on processors of another word size and byte order, as an emulator of user mode runs it.

Both ends and their controller must agree on every field, whichever machine each is on: s390x is
big-endian, armhf has words of 32 bits.
"""

from __future__ import annotations

import json
import shlex
import subprocess

import pytest

from netlab import core

TOKEN = "00112233445566778899aabbccddeeff"
WORDS = ("--json", "--streams", "2", "--interval_ms", "100")
SINK_MS, GEN_MS = "400", "1000"
"""Windows. An emulated sink may read its counters late: the gen still sends then."""
COMPILERS = {
    "aarch64": "aarch64-linux-gnu-gcc",
    "arm": "arm-linux-gnueabihf-gcc",
    "s390x": "s390x-linux-gnu-gcc",
}
OWN = "this"
PAIRS = [(OWN, "s390x"), ("s390x", OWN), ("aarch64", "arm"), ("arm", "s390x")]


@pytest.fixture(scope="module")
def agents(tmp_path_factory) -> dict[str, tuple[str, ...]]:
    """Name of a machine -> argv of its agent: that of this machine, and one of each compiler."""
    place = tmp_path_factory.mktemp("architectures")
    words = shlex.split((core.source_dir() / "BUILD").read_text())
    sources = [word for word in words if word.endswith(".c")]
    found: dict[str, tuple[str, ...]] = {OWN: (str(core.gensink_path()),)}
    for name, compiler in COMPILERS.items():
        program = place / name
        flags = ("-std=c11", "-D_GNU_SOURCE", "-pthread", "-Iinclude", "-Isrc", "-static")
        argv = (compiler, *flags, "-o", str(program), *sources, "-lm")
        subprocess.run(argv, cwd=core.source_dir(), check=True, timeout=120)
        found[name] = (f"qemu-{name}-static", str(program))
    return found


@pytest.mark.parametrize(("sender", "receiver"), PAIRS, ids=map(" to ".join, PAIRS))
def test_two_machines_agree_on_every_byte(agents, tmp_path, sender, receiver):
    token = tmp_path / "token"
    token.write_text(TOKEN)
    port = str(28000 + PAIRS.index((sender, receiver)))
    sink = subprocess.Popen(
        (*agents[receiver], "sink", *WORDS, "--window_ms", SINK_MS,
         "--bind", "127.0.0.1", "--port", port, "--token", str(token), "--accept_ms", "20000"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert sink.stderr.readline().startswith("listening")
    gen = subprocess.run(
        (*agents[sender], "gen", *WORDS, "--window_ms", GEN_MS,
         "--to", "127.0.0.1", "--port", port, "--token", str(token), "--connect_ms", "20000"),
        stdout=subprocess.PIPE, text=True, timeout=60,
    )  # fmt: skip
    received, sent = sink.communicate(timeout=60)[0], gen.stdout
    assert (sink.returncode, gen.returncode) == (0, 0), f"{sent}\n{received}"
    there, here = json.loads(received.splitlines()[-1]), json.loads(sent.splitlines()[-1])
    assert there["total_bytes"] == here["total_bytes"] > 1_000_000


@pytest.mark.parametrize("name", COMPILERS)
def test_each_agent_has_the_digest_of_its_sources(agents, name):
    said = subprocess.run((*agents[name], "version"), capture_output=True, text=True, check=True)
    assert said.stdout.split()[-1] == core.source_digest()


def test_more_memory_than_32_bits_address_is_refused(agents):
    """100 records of this size, in whole pages, are 4 GiB and 96 KiB."""
    words = ("sink", "--bind", "127.0.0.1", "--streams", "100", "--record_B", "42949672")
    argv = (*agents["arm"], *words, "--engine", "blocking")
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "memory for 100 records of 42949672 B" in done.stderr
