"""The agent is copied to a host once, complete, under its digest, and removed on request."""

import hashlib
import os
import pwd
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from local_host import LocalHost
from refusals import refused

from netlab.errors import HostError
from netlab.hosts.agent import PLACES, machine_of, push_agent
from netlab.hosts.leftovers import clean_host

SOURCES = {
    "BUILD": "cc -O1 -std=c11 -Iinclude -Isrc -o gensink src/main.c src/agent.c\n",
    "src/nl_digest.h": '#define NL_SOURCE_DIGEST "d1"\n',
    "include/agent.h": "int agent(void);\n",
    "src/agent.c": '#include "agent.h"\n#include "nl_digest.h"\n#include <stdio.h>\n'
    'int agent(void) { return printf("%s\\n", NL_SOURCE_DIGEST) < 0; }\n',
    "src/main.c": '#include "agent.h"\nint main(void) { return agent(); }\n',
}


@pytest.fixture
def host(tmp_path):
    with LocalHost(tmp_path / "my home") as here:
        yield here


@pytest.fixture
def binary(tmp_path):
    path = tmp_path / "agent"
    path.write_text("#!/bin/sh\necho pushed\n")
    path.chmod(0o644)
    return path


def bare(tmp_path, *more: str) -> LocalHost:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "mkdir", "chmod", "uname", "df", "tail", "cut", "id", *more):
        (programs / name).symlink_to(shutil.which(name))
    return LocalHost(tmp_path / "home", path=str(programs))


@pytest.fixture
def sources(tmp_path):
    directory = tmp_path / "sources"
    for name, text in SOURCES.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    return directory


def _foreign(tmp_path):
    """The head of a program for a machine that this one is not."""
    path = tmp_path / "foreign"
    path.write_bytes(b"\x7fELF\x02\x02\x01" + bytes(9) + struct.pack(">HH", 2, 22) + bytes(64))
    return path


def test_the_agent_arrives_ready_to_run_in_a_private_directory(host, binary):
    remote = push_agent(host, binary)
    assert host.run((remote,)).stdout == "pushed\n"
    directory = host.home / ".cache" / "netlab"
    assert directory.stat().st_mode & 0o777 == 0o700
    (only,) = directory.iterdir()
    assert str(only) == remote and only.stat().st_mode & 0o777 == 0o700
    assert hashlib.sha256(binary.read_bytes()).hexdigest().startswith(only.name[8:])


@pytest.mark.parametrize("environment", [{}, {"HOME": ""}])
def test_without_home_the_cache_is_in_the_home_directory_of_the_user(environment):
    script = f'{PLACES}first() {{ echo "$1"; }}\neach first'
    environment |= {"PATH": os.environ["PATH"]}
    done = subprocess.run(
        ("sh", "-c", script, "look", ""), env=environment, capture_output=True, text=True
    )
    assert done.stdout == f"{pwd.getpwuid(os.getuid()).pw_dir}/.cache/netlab\n"


@pytest.mark.parametrize("damage", ["#!/bin/sh\necho damaged\n", "", None])
def test_an_intact_agent_is_not_sent_again_and_a_damaged_one_is_replaced(host, binary, damage):
    remote = push_agent(host, binary)
    if damage is not None:
        with open(remote, "w") as file:
            file.write(damage)
    assert push_agent(host, binary) == remote
    assert len(host.puts) == (1 if damage is None else 2)
    assert host.run((remote,)).stdout == "pushed\n"


def test_a_corrupted_copy_is_refused_and_removed(host, binary):
    host.spoil = True
    with refused(HostError, "E-HOST-012"):
        push_agent(host, binary)
    assert list((host.home / ".cache" / "netlab").iterdir()) == []


def test_without_sha256sum_the_digest_is_that_of_the_copy_read_back(tmp_path, binary):
    with bare(tmp_path, "mv", "rm") as host:
        remote = push_agent(host, binary)
        assert push_agent(host, binary) == remote
        assert len(host.puts) == 1
        with open(remote, "a") as file:
            file.write("damage")
        push_agent(host, binary)
        assert len(host.puts) == 2


@pytest.fixture
def unwritable(host, tmp_path, monkeypatch):
    """A host with another place for an agent than its home, which cannot be written."""
    (host.home / ".cache").write_text("a file")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    return host


def test_without_a_cache_that_can_be_written_the_agent_lies_elsewhere(unwritable, binary, tmp_path):
    remote = push_agent(unwritable, binary)
    assert Path(remote).parent == tmp_path / "run" / "netlab-cache"
    assert unwritable.run((remote,)).stdout == "pushed\n"
    assert push_agent(unwritable, binary) == remote and len(unwritable.puts) == 1


def test_a_named_directory_that_cannot_be_made_is_one_clear_message(unwritable, binary):
    unwritable.agent_directory = str(unwritable.home / ".cache" / "of us")
    with refused(HostError, "E-HOST-013", match=r"agent_directory(.|\n)*(File exists|Not a dir)"):
        push_agent(unwritable, binary)


def test_a_host_of_another_machine_type_builds_its_own_once(host, sources, tmp_path):
    foreign = _foreign(tmp_path)
    remote = push_agent(host, foreign, source_dir=sources)
    assert host.run((remote,)).stdout == "d1\n"
    assert host.puts == []
    before = os.stat(remote)
    assert push_agent(host, foreign, source_dir=sources) == remote
    assert os.stat(remote).st_ino == before.st_ino
    (sources / "src" / "nl_digest.h").write_text('#define NL_SOURCE_DIGEST "d2"\n')
    second = push_agent(host, foreign, source_dir=sources)
    assert remote != second and host.run((second,)).stdout == "d2\n", "other sources"


def test_a_processor_without_atomics_of_64_bits_is_built_with_its_library(tmp_path, sources):
    """Its linker lacks __atomic_load_8, here by a compiler that asks for the library."""
    compiler = tmp_path / "bin" / "cc"
    compiler.parent.mkdir()
    compiler.write_text(
        '#!/bin/sh\ncase " $* " in *" -latomic "*) ;; *)\n'
        "  echo 'undefined reference to `__atomic_load_8' >&2; exit 1 ;;\n"
        f'esac\nexec {shutil.which("cc")} "$@"\n'
    )
    compiler.chmod(0o755)
    with LocalHost(tmp_path / "home", path=f"{compiler.parent}:{os.environ['PATH']}") as host:
        remote = push_agent(host, _foreign(tmp_path), source_dir=sources)
        assert host.run((remote,)).stdout == "d1\n"


def test_a_damaged_agent_that_was_built_there_is_built_again(host, sources, binary):
    remote = push_agent(host, binary, source_dir=sources, force_compile=True)
    with open(remote, "ab") as file:
        file.write(b"damage")
    push_agent(host, binary, source_dir=sources, force_compile=True)
    assert host.run((remote,)).stdout == "d1\n"


def test_sources_that_do_not_compile_leave_no_file_and_give_the_reason(host, sources, binary):
    (sources / "src" / "main.c").write_text("int main(void) { return nosuch; }\n")
    with refused(HostError, "E-HOST-018", match="nosuch"):
        push_agent(host, binary, source_dir=sources, force_compile=True)
    assert list((host.home / ".cache" / "netlab").iterdir()) == []


def test_without_a_compiler_the_message_names_both_machine_types(tmp_path, sources):
    says = r"the agent is built for s390x, .*none of cc, gcc and clang"
    with bare(tmp_path, "sha256sum") as host, refused(HostError, "E-HOST-017", match=says):
        push_agent(host, _foreign(tmp_path), source_dir=sources)


def test_the_machine_type_is_read_from_the_program_itself(tmp_path):
    assert machine_of(b"#!/bin/sh\n") is None
    assert machine_of(_foreign(tmp_path).read_bytes()) == ("s390x",)
    little = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 2, 62)
    assert machine_of(little) == ("x86_64",)


@pytest.fixture
def cache(tmp_path):
    cache = tmp_path / "my home" / ".cache" / "netlab"
    cache.mkdir(parents=True)
    (cache / "gensink-1").write_bytes(b"x" * 5000)
    (cache.parent / "other").write_text("of another program")
    return cache


def test_the_cache_is_removed_its_files_are_counted_and_a_host_without_any_says_so(host, cache):
    assert clean_host(host) == f"removed {cache}: 1 files, 5 kB"
    assert not cache.exists() and (cache.parent / "other").exists()
    assert clean_host(host).startswith("no files of netlab in ")


def test_journals_stay_unless_asked_for(host, cache):
    inode = os.stat("/proc/self/ns/net").st_ino
    boot = Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
    journal = Path(f"/run/netlab/tune-{inode}-0-{boot}.journal")
    journal.parent.mkdir(mode=0o700, exist_ok=True)
    journal.write_text("set knob=mtu")
    with refused(HostError, "E-HOST-034", match="netlab tune recover"):
        clean_host(host)
    assert cache.exists() and journal.exists()
    assert f"removed {journal}" in clean_host(host, journals=True)
    assert not cache.exists() and not journal.exists()


def test_a_journal_of_another_boot_goes_with_the_cache(host, cache):
    inode = os.stat("/proc/self/ns/net").st_ino
    journal = Path(f"/run/netlab/tune-{inode}-0-01234567.journal")
    journal.parent.mkdir(mode=0o700, exist_ok=True)
    journal.write_text("set knob=mtu")
    assert f"removed {cache}" in clean_host(host)
    assert not cache.exists() and not journal.exists()


def test_a_link_in_place_of_the_cache_is_refused(host, cache, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    cache.rename(elsewhere)
    cache.symlink_to(elsewhere)
    with refused(HostError, "E-HOST-032", match="is a link or belongs to another user"):
        clean_host(host)
    assert (elsewhere / "gensink-1").exists()
