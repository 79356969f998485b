"""A study between a host of this architecture and one of another: kernel, processor and userland.

Words of other sizes and byte orders are tested program by program, in
``tests/nightly/native/test_architectures.py``."""

from __future__ import annotations

import json

import pytest
from refusals import refused

from netlab import core
from netlab.errors import HostError
from netlab.hosts.agent import machine_of, push_agent

pytestmark = pytest.mark.timeout(900)
CACHE = "/root/.cache/netlab"


def test_the_machine_has_neither_python_nor_perl_nor_a_compiler(two_architectures):
    machine = two_architectures.machine
    for program in ("python3", "perl", "bash", "cc", "gcc", "clang"):
        assert machine.ssh(f"command -v {program}").returncode != 0, program
    assert machine.sh("uname -m") == "aarch64\n"


def test_the_agent_was_compiled_there_and_has_the_digest_of_its_sources(two_architectures):
    machine = two_architectures.machine
    (agent,) = machine.sh(f"ls {CACHE}/gensink-*-aarch64").split()
    digest = machine.sh(f"sha256sum {agent}").split()[0]
    assert machine.sh(f"cat {agent}.sha256").strip() == digest
    assert machine.sh(f"{agent} version").split()[-1] == core.source_digest()
    head = bytes.fromhex(machine.sh(f"head -c 20 {agent} | xxd -p"))
    assert machine_of(head) == ("aarch64",)


def test_a_host_without_a_compiler_and_without_the_agent_is_refused(two_architectures):
    machine = two_architectures.machine
    machine.sh(f"mv {CACHE} {CACHE}.kept")
    try:
        with (
            two_architectures.connected() as host,
            refused(HostError, "E-HOST-017", match="is aarch64, the agent is built for x86_64"),
        ):
            push_agent(host, core.gensink_path(), source_dir=core.source_dir())
        code, said = two_architectures.check()
    finally:
        machine.sh(f"rm -rf {CACHE}; mv {CACHE}.kept {CACHE}")
    assert code == 1
    assert "and the host has none of cc, gcc and clang to build it: install one" in said, said
    assert "Traceback" not in said


def test_a_study_between_architectures_closes_its_ledger(two_architectures):
    site = two_architectures
    code, complaint = site.finished(site.measure(seconds=1), 300)
    assert "Traceback" not in complaint and "Warning" not in complaint, complaint
    rows = site.rows()
    assert code == 0, complaint
    assert list(rows["flags"]) == ["", ""], rows[["flags", "message"]].to_dict("records")
    assert (rows["ledger_error_B"] == 0).all() and (rows["goodput_MBps"] > 1).all()
    assert set(rows["group"]) == {"from-a", "from-b"}
    for text in rows["provenance"]:
        hosts = json.loads(text)["hosts"]
        assert (hosts["a"]["machine"], hosts["b"]["machine"]) == ("x86_64", "aarch64")
    assert not site.journals() and not site.machine.sh(
        "ls /run/netlab/tune-*.journal 2>/dev/null || true"
    )
