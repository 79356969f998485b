"""A host runs commands to their end or says why it could not."""

import time

import pytest
from local_host import LocalHost
from refusals import refused

from netlab.errors import HostError


@pytest.fixture
def host(tmp_path):
    with LocalHost(tmp_path / "home") as here:
        yield here


def test_a_command_is_reported_whole_and_one_that_fails_without_its_script(host):
    done = host.run(("sh", "-c", "printf out; printf err >&2; exit 3"), check=False)
    assert (done.stdout, done.stderr, done.exit_status) == ("out", "err", 3)
    with refused(HostError, "E-HOST-002") as caught:
        host.run(("sh", "-c", "echo why >&2; exit 4"))
    assert (caught.value.host, caught.value.exit_status, caught.value.output) == ("here", 4, "why")
    with refused(HostError, "E-HOST-002", match=r"command: sh -c SCRIPT; exit status 1"):
        host.run(("sh", "-c", "true\nexit 1"))


def test_input_is_read_whole_or_not_at_all(host):
    text = b"0123456789abcdef" * 100_000  # larger than any pipe
    assert host.run(("cat",), input=text).stdout.encode() == text
    assert host.run(("true",), input=text).exit_status == 0
    assert host.run(("cat",)).stdout == ""


@pytest.mark.parametrize(
    ("argv", "timeout_s", "code"),
    [
        (("sleep", "60"), 0.3, "E-HOST-004"),
        (("sh", "-c", "exec >&- 2>&-; exec sleep 60"), 0.5, "E-HOST-004"),
        (("cat", "/dev/zero"), 20, "E-HOST-005"),
    ],
)
def test_a_command_without_a_good_end_is_an_error(host, argv, timeout_s, code):
    begun = time.monotonic()
    with refused(HostError, code):
        host.run(argv, timeout_s=timeout_s)
    assert time.monotonic() - begun < 30 or timeout_s == 20


@pytest.mark.parametrize("argv", [(), ("",), ("true", "a\0b"), "true"])
def test_an_invalid_argv_is_refused(host, argv):
    with pytest.raises(ValueError):
        host.run(argv)


def _login(tmp_path, sudo):
    """A host whose login is not root, with a configurable sudo."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in {"id": "echo 1000", "sudo": sudo}.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    return LocalHost(tmp_path / "home", path=f"{programs}:/usr/bin:/bin")


def test_without_root_a_command_goes_through_sudo_without_a_prompt(tmp_path):
    with _login(tmp_path, 'test "$1 $2" = "-n --" && shift 2 && PRIVILEGED=1 exec "$@"') as host:
        assert not host.is_root and host.can_sudo
        assert host.run(("sh", "-c", "echo $PRIVILEGED"), sudo=True).stdout == "1\n"
        assert host.run(("sh", "-c", "echo $PRIVILEGED")).stdout == "\n"


def test_a_sudo_that_would_prompt_is_an_error_before_any_command(tmp_path):
    with _login(tmp_path, "echo 'sudo: a password is required' >&2; exit 1") as host:
        for attempt in (host.run, host.start):
            with refused(HostError, "E-HOST-003"):
                attempt(("touch", str(tmp_path / "ran")), sudo=True)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("sudo", "fault"),
    [
        ("echo 'sudo: a password is required' >&2; exit 1", "would ask for a password; log in as"),
        ("echo 'sudo: unable to open /etc/sudoers' >&2; exit 1", "refuses; log in as root"),
        ("echo 'sudo: you must have a tty' >&2; exit 1", "wants a terminal; log in as root"),
        ("exit 127", "is not installed; log in as root"),
        ("exit 0", ""),
    ],
)
def test_the_fault_of_sudo_and_what_helps_are_words_of_a_sentence(tmp_path, sudo, fault):
    with _login(tmp_path, sudo) as host:
        assert host.sudo_fault.startswith(f"sudo {fault}" if fault else "")
        assert bool(host.sudo_fault) is bool(fault) is not host.can_sudo


def test_a_refusal_of_sudo_is_shown_in_its_own_words(tmp_path):
    says = "echo 'sudo: unable to open /etc/sudoers' >&2; exit 1"
    with _login(tmp_path, says) as host, pytest.raises(HostError, match=r"refuses.*\n.*unable to"):
        host.run(("true",), sudo=True)


def test_a_sudo_that_wants_a_terminal_is_named(tmp_path):
    says = "echo 'sudo: sorry, you must have a tty to run sudo' >&2; exit 1"
    with _login(tmp_path, says) as host, pytest.raises(HostError, match=r"requiretty.*\n.*sorry"):
        host.run(("true",), sudo=True)


def test_facts_of_this_machine_are_json_scalars(host):
    facts = host.facts("lo")
    assert facts["interface_exists"] is True
    assert facts["mtu_B"] > 0 and facts["cpus"] > 0 and facts["kernel"]
    assert all(value is None or isinstance(value, str | int) for value in facts.values())
    assert host.facts("nosuch0")["interface_exists"] is False
    assert host.facts()["interface"] is None
