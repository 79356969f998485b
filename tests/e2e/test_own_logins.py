"""Logins as people have them: a key in ~/.ssh, an agent, a Host block; no option of netlab."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from e2e.visitor import Visitor
from forked_controller import start_controller
from waiting import until

from netlab.results.store import Store
from netlab.study import load

BLOCK = """\
Host left
    HostName {a[0]}
Host right
    HostName {b[0]}
Host left right
    User root
    IdentityFile {key}
"""


def default_key(site: Visitor) -> tuple[str, tuple[str, str]]:
    site.move_key(site.ssh / "id_ed25519")
    return "", ("192.0.2.2", "192.0.2.6")


def home_with_blanks(site: Visitor) -> tuple[str, tuple[str, str]]:
    """A home named as people do, with the only known_hosts that has the host."""
    site.move_key(site.ssh / "id_ed25519")
    _, names = configured(site, "ServerAliveInterval 30")
    home = site.ssh.parent.rename(site.state / "Jörgs Haus, 100 %d")
    return f"HOME={shlex.quote(str(home))}", names


def agent(site: Visitor) -> tuple[str, tuple[str, str]]:
    socket = site.state / "agent"
    started = subprocess.Popen(("ssh-agent", "-D", "-a", socket), stdout=subprocess.DEVNULL)
    site.agents.append(started)
    until(socket.exists)
    subprocess.run(
        ("ssh-add", "-q", site.state / "key"),
        env={"SSH_AUTH_SOCK": str(socket), "PATH": "/usr/bin:/bin"},
        check=True,
    )
    (site.state / "key").unlink()
    return f"SSH_AUTH_SOCK={socket}", ("192.0.2.2", "192.0.2.6")


def host_block(site: Visitor) -> tuple[str, tuple[str, str]]:
    site.move_key(site.ssh / "for_the_lab")
    config = BLOCK.format(key="~/.ssh/for_the_lab", **site.addresses)
    (site.ssh / "config").write_text(config)
    site.use_aliases()
    return "", ("left", "right")


def configured(site: Visitor, text: str) -> tuple[str, tuple[str, str]]:
    """A configuration for both aliases."""
    names = "".join(
        f"Host {alias}\n HostName {site.addresses[name][0]}\n"
        for name, alias in (("a", "left"), ("b", "right"))
    )
    (site.ssh / "config").write_text(f"{text.format(ssh=site.ssh, state=site.state)}\n{names}")
    site.use_aliases()
    return "", ("left", "right")


def agent_with_identities_only(site: Visitor) -> tuple[str, tuple[str, str]]:
    """The configuration names the public key, whose private half only the agent has."""
    environment, _ = agent(site)
    _, names = configured(site, "IdentitiesOnly yes\nIdentityFile {state}/key.pub")
    return environment, names


def identity_agent(site: Visitor) -> tuple[str, tuple[str, str]]:
    """As password managers and tokens have it."""
    agent(site)
    return configured(site, "IdentityAgent {state}/agent")


def certificate(site: Visitor) -> tuple[str, tuple[str, str]]:
    """The hosts know an authority, and its certificate has a name of its own."""
    authority, key = site.state / "authority", site.state / "key"
    subprocess.run(("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", authority), check=True)
    sign = ("ssh-keygen", "-q", "-s", authority, "-I", "me", "-n", "root", f"{key}.pub")
    subprocess.run(sign, check=True)
    shutil.move(site.state / "key-cert.pub", site.state / "of_this_week")
    line = f"cert-authority {authority.with_suffix('.pub').read_text()}"
    for name in site.addresses:
        (site.state / name / "authorized_keys").write_text(line)
    text = "IdentityFile {state}/key\nCertificateFile {state}/of_this_week"
    return configured(site, text)


def known_hosts_command(site: Visitor) -> tuple[str, tuple[str, str]]:
    site.move_key(site.ssh / "id_ed25519")
    shutil.move(site.ssh / "known_hosts", site.state / "of_the_site")
    return configured(site, "KnownHostsCommand /bin/cat {state}/of_the_site")


def proxy_command(site: Visitor) -> tuple[str, tuple[str, str]]:
    """A line of the user's shell: a substitution and a redirection."""
    site.move_key(site.ssh / "id_ed25519")
    relay = (
        "import os, socket, sys, threading\n"
        "s = socket.create_connection((sys.argv[1], int(sys.argv[2])))\n"
        "def copy(read, write):\n"
        "    while chunk := read(65536):\n"
        "        write(chunk)\n"
        "threading.Thread(target=copy, args=(lambda n: os.read(0, n), s.sendall)).start()\n"
        "copy(s.recv, lambda chunk: os.write(1, chunk))\n"
    )
    (site.state / "relay.py").write_text(relay)
    words = f"{sys.executable} {{state}}/relay.py $(echo %h) %p 2>>{{state}}/relay.log"
    return configured(site, f"ProxyCommand {words}")


def late_banner(site: Visitor) -> tuple[str, tuple[str, str]]:
    """A server that is slow to answer, for a user who allows it the time."""
    relayed = proxy_command(site)
    config = site.ssh / "config"
    config.write_text(f"ConnectTimeout 60\n{config.read_text()}")
    relay = site.state / "relay.py"
    relay.write_text(f"import time\ntime.sleep(12)\n{relay.read_text()}")
    return relayed


def match_exec(site: Visitor) -> tuple[str, tuple[str, str]]:
    """As wrappers of Teleport, Vault and step-ca: a command decides, and fetches the key."""
    site.move_key(site.state / "of_the_vault")
    fetch = "cp {state}/of_the_vault {state}/fetched && echo %n >>{state}/asked"
    return configured(
        site, f'Match originalhost left,right exec "{fetch}"\n IdentityFile {{state}}/fetched'
    )


LOGINS = (
    *(
        default_key,
        home_with_blanks,
        agent,
        host_block,
        agent_with_identities_only,
        identity_agent,
        certificate,
    ),
    *(known_hosts_command, proxy_command, late_banner, match_exec),
)


@pytest.fixture(params=LOGINS, ids=lambda case: case.__name__)
def login(request, tmp_path) -> Iterator[tuple[Visitor, str, tuple[str, str]]]:
    with Visitor(tmp_path) as site:
        arrange: Callable[[Visitor], tuple[str, tuple[str, str]]] = request.param
        environment, names = arrange(site)
        yield site, f"env {environment}", names


def test_whoever_can_log_in_with_ssh_checks_finds_and_measures(login):
    site, prefix, names = login

    def done(*words: str) -> str:
        process = site.start(*words, prefix=prefix)
        out, complaint = process.communicate(timeout=240)
        assert process.returncode in (0, 4), out + complaint  # 4: other work on this machine
        assert "E-HOST" not in complaint, complaint
        return out

    assert "packets of 9000 B pass both ways" in done("check", str(site.study))
    assert "mine.yml: a study of" in done("init", *names, "-o", "mine.yml")
    assert all(host.identity_file is None for host in load(site.state / "mine.yml").hosts.values())
    assert "MB/s" in done("measure", *names)
    site.finished(site.measure(seconds=0.3, prefix=prefix))
    (row,) = site.rows().itertuples()
    assert row.ledger_error_B == 0, (row.flags, row.message)


def test_a_jump_host_by_its_own_block(tmp_path):
    """The host is reached from the jump host alone."""
    with Visitor(tmp_path) as site:
        site.move_key(site.ssh / "id_ed25519")
        text = "Host right\n ProxyJump left\nHost left\n User root"
        configured(site, text)
        known = (site.ssh / "known_hosts").read_text()
        address_b = site.addresses["b"][0]
        data_b = site.addresses["b"][2]
        (site.ssh / "known_hosts").write_text(known.replace(address_b, data_b))
        config = site.state / "b" / "sshd_config"
        config.write_text(config.read_text().replace(address_b, data_b))
        site.serve("b")
        own = site.ssh / "config"
        own.write_text(own.read_text().replace(address_b, data_b))
        process = site.start("check", str(site.study))
        out, complaint = process.communicate(timeout=240)
        assert "E-HOST" not in complaint, complaint
        assert "packets of 9000 B pass both ways" in out, out + complaint


def plain_entries(site: Visitor, known: str) -> str:
    return known


def hashed_entries(site: Visitor, known: str) -> str:
    file = site.state / "hashed"
    file.write_text(known)
    subprocess.run(("ssh-keygen", "-q", "-H", "-f", file), check=True, capture_output=True)
    text = file.read_text()
    assert "192.0.2" not in text and text.count("|1|") == 2
    return text


def pattern_entries(site: Visitor, known: str) -> str:
    return known.replace("192.0.2.2 ", "192.0.?.2 ").replace("192.0.2.6 ", "!192.0.2.2,192.* ")


def negated_pattern(site: Visitor, known: str) -> str:
    return known.replace("192.0.2.6 ", "192.0.2.*,!192.0.2.6 ")


def several_keys(site: Visitor, known: str) -> str:
    """The key of each host stands behind another one of the same kind."""
    one, other = known.splitlines()
    return f"192.0.2.2 {other.split(' ', 1)[1]}\n192.0.2.6 {one.split(' ', 1)[1]}\n{known}"


def host_authority(site: Visitor, known: str) -> str:
    """Host b shows a certificate of an authority, and its key is in no list."""
    authority, host = site.state / "of_hosts", site.state / "b"
    authority.unlink(missing_ok=True)
    subprocess.run(("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", authority), check=True)
    sign = ("ssh-keygen", "-q", "-h", "-s", authority, "-I", "b", "-n", "192.0.2.6")
    subprocess.run((*sign, host / "host_key.pub"), check=True)
    config = host / "sshd_config"
    config.write_text(f"{config.read_text()}HostCertificate {host}/host_key-cert.pub\n")
    site.serve("b")
    authorities = f"@cert-authority 192.0.2.* {authority.with_suffix('.pub').read_text()}"
    return known.splitlines(keepends=True)[0] + authorities


def revoked_authority(site: Visitor, known: str) -> str:
    text = host_authority(site, known)
    return f"{text}@revoked * {(site.state / 'of_hosts.pub').read_text()}"


def unknown_key(site: Visitor, known: str) -> str:
    return known.splitlines()[0]


def changed_key(site: Visitor, known: str) -> str:
    one, _ = known.splitlines()
    return f"{one}\n192.0.2.6 {one.split(' ', 1)[1]}"


def revoked_key(site: Visitor, known: str) -> str:
    return f"{known}@revoked * {known.splitlines()[1].split(' ', 1)[1]}"


def revoked_in_a_file(site: Visitor, known: str) -> str:
    shutil.copy(site.state / "b" / "host_key.pub", site.state / "revoked")
    (site.ssh / "config").write_text(f"RevokedHostKeys {site.state}/revoked\n")
    return known


ACCEPTED = (plain_entries, hashed_entries, pattern_entries, several_keys, host_authority)
REFUSED = {
    unknown_key: ("is not known", "E-HOST-024", "Host key verification failed."),
    negated_pattern: ("is not known", "E-HOST-024", "Host key verification failed."),
    changed_key: ("has changed", "E-HOST-025", "Host key for 192.0.2.6 has changed"),
    revoked_key: ("is revoked", "E-HOST-044", "REVOKED HOST KEY DETECTED"),
    revoked_in_a_file: ("is revoked", "E-HOST-044", "revoked by file"),
    revoked_authority: ("is revoked", "E-HOST-044", "REVOKED HOST KEY DETECTED"),
}
"""Of each case: netlab's words, the code, and a line of ssh."""


@pytest.fixture(scope="module")
def known_site(tmp_path_factory) -> Iterator[Visitor]:
    with Visitor(tmp_path_factory.mktemp("known")) as site:
        site.move_key(site.ssh / "id_ed25519")
        yield site


@pytest.fixture
def knows(known_site) -> Iterator[Callable[[Callable[[Visitor, str], str]], None]]:
    """Replace the user's known_hosts; the former one, and what a case changed, come back."""
    known, config = known_site.ssh / "known_hosts", known_site.state / "b" / "sshd_config"
    before = known.read_text(), config.read_text()
    yield lambda entries: known.write_text(entries(known_site, before[0]))
    known.write_text(before[0])
    (known_site.ssh / "config").unlink(missing_ok=True)
    if config.read_text() != before[1]:
        config.write_text(before[1])
        known_site.serve("b")


@pytest.mark.parametrize("entries", ACCEPTED, ids=lambda case: case.__name__)
def test_a_host_key_that_ssh_knows_is_accepted(known_site, knows, entries):
    knows(entries)
    _, printed = known_site.check()
    assert "packets of 9000 B pass both ways" in printed and "E-HOST" not in printed, printed


@pytest.mark.parametrize("entries", REFUSED, ids=lambda case: case.__name__)
def test_a_host_key_that_ssh_refuses_is_refused_in_its_words(known_site, knows, entries):
    knows(entries)
    process = known_site.start("init", "192.0.2.2", "192.0.2.6", "-o", "refused.yml")
    code, complaint = known_site.finished(process)
    sentence, error, of_ssh = REFUSED[entries]
    show = ("ssh-keygen", "-lf", known_site.state / "b" / "host_key.pub")
    fingerprint = re.escape(subprocess.check_output(show, text=True).split()[1])
    words = rf"the host key of 192.0.2.6 {sentence} \(ssh-ed25519\S* {fingerprint}\)"
    assert code == 1 and re.search(words, complaint) and f"[{error}]" in complaint, complaint
    lines = [line for line in complaint.splitlines() if line.startswith("| ")]
    assert any(of_ssh in line for line in lines), complaint


def test_an_agent_of_many_keys_ends_a_login_by_name_of_the_limit(tmp_path):
    """An agent offers all of its keys, and sshd closes the connection after six."""
    with Visitor(tmp_path) as site:
        key, agents_keys = site.state / "key", [site.state / f"other{n}" for n in range(7)]
        for file in agents_keys:
            make = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file)
            subprocess.run(make, check=True)
        shutil.copy(key, site.state / "kept")
        shutil.move(key, site.state / "last")
        shutil.move(agents_keys[0], key)
        environment, _ = agent(site)
        socket = {"SSH_AUTH_SOCK": environment.partition("=")[2], "PATH": "/usr/bin:/bin"}
        add = ("ssh-add", "-q", *agents_keys[1:], site.state / "last")
        subprocess.run(add, env=socket, check=True)
        words = ("init", "192.0.2.2", "192.0.2.6", "-o", "many.yml")
        code, complaint = site.finished(site.start(*words, prefix=f"env {environment}"))
        assert code == 1 and "after 6 keys" in complaint and "[E-HOST-056]" in complaint, complaint
        configured(site, "IdentitiesOnly yes\nIdentityFile {state}/kept")
        names = ("init", "left", "right", "-o", "many.yml")
        code, complaint = site.finished(site.start(*names, prefix=f"env {environment}"))
        assert code == 0, complaint


IN_A_LINE = """\
import netlab
study = netlab.Study.between("root@192.0.2.2", "192.0.2.6", ssh=True, rate_Mbps=10_000,
                             timing={"rounds": 1, "seconds": 0.3})
study.to_yaml("line.yml")
study.run(results="line", progress=False)
"""


def test_a_study_of_two_logins_in_a_line_of_python(tmp_path):
    with Visitor(tmp_path) as site:
        default_key(site)
        argv = site.inside("ctl", sys.executable, "-c", IN_A_LINE)
        process = start_controller(argv, home=site.state / "home", cwd=site.state)
        site.controllers.append(process)
        _, complaint = process.communicate(timeout=240)
        assert process.returncode == 0, complaint
        study = load(site.state / "line.yml")
        assert [end.interface for end in study.path("data").ends] == ["data0", "data0"]
        assert study.path("data").link_MBps == 1250
        assert [host.user for host in study.hosts.values()] == ["root", None]
        (row,) = Store(site.state / "line").runs().itertuples()
        assert row.ledger_error_B == 0 and row.link_MBps == 1250, (row.flags, row.message)
