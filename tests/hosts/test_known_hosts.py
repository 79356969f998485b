"""Host keys are judged as ssh judges them; ssh-keygen makes the keys, hashes and certificates."""

import base64
import subprocess
from pathlib import Path

import paramiko
import pytest

from netlab.hosts.known_hosts import KnownKeys, RevokedHostKey, UnknownHostKey, matches


def keygen(*words: str | Path) -> None:
    subprocess.run(("ssh-keygen", "-q", *map(str, words)), check=True, stdin=subprocess.DEVNULL)


def made(file: Path, kind: str = "ed25519") -> str:
    """A new key's public half, as known_hosts writes it."""
    keygen("-t", kind, "-N", "", "-f", file)
    return " ".join(file.with_name(f"{file.name}.pub").read_text().split()[:2])


def presented(public: str) -> paramiko.PKey:
    return paramiko.Ed25519Key(msg=paramiko.Message(base64.b64decode(public.split()[1])))


@pytest.fixture(scope="module")
def keys(tmp_path_factory) -> dict[str, str]:
    """Keys of a host and of another, of an authority, and certificates of the host."""
    place = tmp_path_factory.mktemp("keys")
    found = {name: made(place / name) for name in ("host", "other", "authority")}
    certificates = {
        "good": ("-h", "-n", "gate,10.0.0.1"),
        "any": ("-h",),
        "elsewhere": ("-h", "-n", "other"),
        "past": ("-h", "-n", "gate", "-V", "20200101:20200102"),
        "user": ("-n", "gate"),
    }
    for name, options in certificates.items():
        keygen("-s", place / "authority", "-I", name, *options, place / "host.pub")
        found[name] = (place / "host-cert.pub").read_text()
    return found


def known(tmp_path: Path, *lines: str, host: str = "gate", port: int = 22, **more) -> KnownKeys:
    file = tmp_path / "known_hosts"
    file.write_text("\n".join(lines) + "\n")
    return KnownKeys.of([str(file), "/nosuch/file"], host, port, **more)


@pytest.mark.parametrize(
    ("patterns", "name", "found"),
    [
        ("gate", "gate", True),
        ("gate", "gates", False),
        ("a,GATE,b", "gate", True),
        ("*.lab.example", "a.lab.example", True),
        ("*,!gate", "gate", False),
        ("g?te", "gate", True),
        ("[gate]:2222", "[gate]:2222", True),
        ("[gate]:2222", "g", False),
        ("[*]:2222", "[gate]:2222", True),
        ("|1|x|y", "gate", False),
        ("|1|", "gate", False),
    ],
)
def test_the_names_of_a_line_are_patterns(patterns, name, found):
    assert matches(patterns, name) is found


def test_a_hashed_name_is_found(tmp_path, keys):
    file = tmp_path / "hashed"
    file.write_text(f"gate {keys['host']}\n")
    keygen("-H", "-f", file)
    assert "gate" not in file.read_text()
    KnownKeys.of([str(file)], "gate", 22).check(presented(keys["host"]))
    with pytest.raises(UnknownHostKey):
        KnownKeys.of([str(file)], "other", 22).check(presented(keys["host"]))


def test_a_key_is_known_changed_or_unknown(tmp_path, keys):
    lines = ("# a comment", "", "gate", f"gate {keys['host']} comment", "gate ssh-rsa !!!")
    known(tmp_path, *lines).check(presented(keys["host"]))
    with pytest.raises(paramiko.BadHostKeyException):
        known(tmp_path, *lines).check(presented(keys["other"]))
    with pytest.raises(UnknownHostKey):
        known(tmp_path, *lines, host="elsewhere").check(presented(keys["host"]))


def test_ports_and_aliases_name_a_host_as_in_ssh(tmp_path, keys):
    key = presented(keys["host"])
    known(tmp_path, f"[gate]:22022 {keys['host']}", port=22022).check(key)
    known(tmp_path, f"gate {keys['host']}", port=22022).check(key)  # ssh looks without the port too
    known(tmp_path, f"alias {keys['host']}", port=22022, alias="alias").check(key)
    with pytest.raises(UnknownHostKey, match="alias"):
        known(tmp_path, f"gate {keys['host']}", alias="alias").check(key)


def test_a_revoked_key_and_a_certificate_of_another_or_a_revoked_authority_are_refused(
    tmp_path, keys
):
    lines = (f"gate {keys['host']}", f"@revoked * {keys['host']}")
    with pytest.raises(RevokedHostKey):
        known(tmp_path, *lines).check(presented(keys["host"]))
    with pytest.raises(UnknownHostKey) as caught:
        known(tmp_path, f"@cert-authority gate {keys['other']}").check(presented(keys["good"]))
    assert "no known authority" in caught.value.why
    lines = (f"@cert-authority gate {keys['authority']}", f"@revoked gate {keys['authority']}")
    with pytest.raises(RevokedHostKey):
        known(tmp_path, *lines).check(presented(keys["good"]))


@pytest.mark.parametrize("name", ["good", "any"])
def test_a_certificate_of_a_known_authority_is_accepted(tmp_path, keys, name):
    line = f"@cert-authority *,!other {keys['authority']}"
    known(tmp_path, line).check(presented(keys[name]))
    with pytest.raises(UnknownHostKey):
        known(tmp_path, line, host="other").check(presented(keys[name]))


@pytest.mark.parametrize(
    ("name", "why"),
    [("elsewhere", "is for other"), ("past", "not valid today"), ("user", "none of a host")],
)
def test_a_certificate_that_does_not_hold_is_refused_with_the_reason(tmp_path, keys, name, why):
    authority = f"@cert-authority gate {keys['authority']}"
    with pytest.raises(UnknownHostKey) as caught:
        known(tmp_path, authority).check(presented(keys[name]))
    assert why in caught.value.why
    # its key may be known all the same
    known(tmp_path, authority, f"gate {keys['host']}").check(presented(keys[name]))


def test_kinds_that_can_be_checked_are_asked_for_first(tmp_path, keys):
    kinds = ["ecdsa-sha2-nistp256", "ssh-ed25519", "ssh-ed25519-cert-v01@openssh.com"]

    def order(*lines: str) -> list[str]:
        return sorted(kinds, key=known(tmp_path, *lines).rank)

    assert order() == kinds
    assert order(f"gate {keys['host']}")[0] == "ssh-ed25519"
    assert order(f"@cert-authority gate {keys['authority']}")[0] == kinds[2]
