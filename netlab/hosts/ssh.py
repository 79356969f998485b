"""A host over SSH: options of its ssh, and why a login failed."""

from __future__ import annotations

import os
import pwd
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from netlab.errors import BadInput, HostError
from netlab.hosts.command_output import command_line
from netlab.hosts.connection import (
    CONNECT_TIMEOUT_S,
    KEEPALIVE_S,
    LOGIN_SPARE_S,
    SILENCE_S,
    Connection,
    SshPipe,
    option_words,
    said_by_ssh,
)
from netlab.hosts.controls import CONTROLS
from netlab.hosts.host import Host
from netlab.hosts.line_process import Pipe
from netlab.hosts.terminal import place_of_login, terminal

OWN_OPTIONS = (
    *("BatchMode=yes", "ControlPersist=no", "RemoteCommand=none", "ForkAfterAuthentication=no"),
    *("ClearAllForwardings=yes", "Tunnel=no", "ForwardAgent=no", "ForwardX11=no"),
)
"""Parts of a user's configuration that are for other uses of `ssh HOST` than commands."""
UNSAFE_NAME = re.compile(r"[^!-~\x80-\U0010ffff]|['`\"$\\;&<>|(){}]|^-")
"""Names that a shell could execute in a ProxyCommand with %h or %r; ssh refuses them since 9.6."""


class Resolved:
    """Configuration of a host from `ssh -G`, and options for a home that is not the account's.

    ssh asks the account for the home, not the environment.
    """

    def __init__(self, address: str, words: list[str]):
        home, account = os.path.expanduser("~"), account_home()
        self.words: list[str] = []
        if home != account:
            # a file, since ssh passes it on to the ssh of a jump host
            file = f"{CONTROLS.path()}.config"
            Path(file).write_text(_config_of(home))
            self.words += ["-F", file]
        done = subprocess.run(
            ["ssh", "-G", *self.words, *words, "--", address],
            capture_output=True,
            text=True,
            errors="surrogateescape",
            stdin=subprocess.DEVNULL,
        )
        if done.returncode != 0:
            reason = done.stderr.strip().splitlines()[:1] or [f"exit code {done.returncode}"]
            raise BadInput(reason[0], where=f"ssh -G {address}", code="E-HOST-043")
        self.values: dict[str, str] = {}
        keys = []
        for line in done.stdout.splitlines():
            key, _, value = line.partition(" ")
            self.values[key] = value
            if key == "identityfile":
                keys.append(value)

        def moved(path: str) -> str:
            return re.sub(rf"^(~|{re.escape(account)})(?=/)", home, path)

        if home != account:
            # `ssh -G` quotes no name, and one may have blanks: a name begins with / or ~
            known = re.split(r" +(?=[/~]|none$)", self.values.get("userknownhostsfile", ""))
            files = " ".join(_quoted(moved(file)) for file in known if file)
            self.words += ["-o", f"UserKnownHostsFile={files}"] if files else []
            there = [file for key in keys if os.path.exists(file := moved(key))]
            for file in there or ["none"]:
                self.words += ["-o", f"IdentityFile={_quoted(file)}"]


def _quoted(file: str) -> str:
    """A file's name as a word of ssh's configuration, which expands % in these."""
    return f'"{file.replace("%", "%%")}"'


KEY_FILES = ("id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", "id_dsa")


def _config_of(home: str) -> str:
    """The configuration of a home, with its default keys and known_hosts."""
    place = f"{home}/.ssh"
    keys = [f"{place}/{name}" for name in KEY_FILES if os.path.exists(f"{place}/{name}")]
    lines = [f'Include "{place}/config"'] if os.path.exists(f"{place}/config") else []
    known = " ".join(_quoted(f"{place}/{name}") for name in ("known_hosts", "known_hosts2"))
    lines += ["Match all", f"UserKnownHostsFile {known}"]
    lines += [f"IdentityFile {_quoted(key)}" for key in keys]
    return "".join(f"{line}\n" for line in lines)


def account_home() -> str:
    """Home directory of the account; that of the environment without an account."""
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return os.path.expanduser("~")


AT_A_TERMINAL = "ssh can ask for it only at a terminal, once for each command"
PASSPHRASE, SECOND_FACTOR = "E-HOST-026", "E-HOST-055"
"""Logins that fail because ssh asks for it."""


class SshHost(Host):
    def __init__(
        self,
        name: str,
        address: str,
        *,
        user: str | None = None,
        port: int | None = None,
        identity_file: str | None = None,
        proxy_command: str | None = None,
        known_hosts: Path | None = None,
        prefix: tuple[str, ...] = (),
        connect_timeout_s: float | None = None,
        keepalive_s: float = KEEPALIVE_S,
        silence_s: float = SILENCE_S,
    ):
        super().__init__(name)
        self.address, self.user, self.port = address, user, port
        self.identity_file, self.known_hosts = identity_file, known_hosts
        self.proxy_command, self.prefix = proxy_command, prefix
        self.connect_timeout_s = connect_timeout_s
        self.keepalive_s, self.silence_s = keepalive_s, silence_s
        self._connection: Connection | None = None

    @property
    def connection(self) -> Connection:
        if self._connection is None:
            raise HostError(self.name, "is not connected", code="E-HOST-019")
        return self._connection

    def open(self) -> None:
        if self._connection is not None:
            return
        if not shutil.which("ssh"):
            message = "there is no `ssh` program on this machine: install OpenSSH's client"
            raise HostError(self.name, message, code="E-HOST-050")
        if not self.prefix:
            try:
                pwd.getpwuid(os.getuid())
            except KeyError:
                message = (
                    f"ssh refuses this user: no account has the user id {os.getuid()}; add one to "
                    "/etc/passwd, or run the container as a user that is listed there"
                )
                raise HostError(self.name, message, code="E-HOST-052") from None
        place = place_of_login(self.address, self.user, self.port, self.identity_file)
        self._connection = (place and Connection.adopted(place)) or self._logged_in(place)

    def _logged_in(self, place: Path | None, *, asks: bool = False) -> Connection:
        words, self._said, timeout_s = self._options()
        connection, at = Connection(self.address, words=words, prefix=self.prefix), terminal()
        try:
            if asks and at and place:
                connection.ask(place, at)
            else:
                connection.open(timeout_s + LOGIN_SPARE_S)
            return connection
        except (TimeoutError, ConnectionError) as problem:
            log, complaint = connection.log, connection.complaint
            # a jump host is another ssh, and the connection through it has not begun
            through_jump = "debug1: " in complaint and "debug1: Server host key" not in log
            reason, code = self._explained(problem, complaint if through_jump else log, timeout_s)
            if code in (PASSPHRASE, SECOND_FACTOR) and at and not asks:
                return self._logged_in(place, asks=True)
            said = "\n".join([*said_by_ssh(complaint), *said_by_ssh(log)])
            raise HostError(self.name, reason, output=said, code=code) from None
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            connection.close()

    def _spawn(self, argv: tuple[str, ...]) -> Pipe:
        connection = self.connection
        problem = connection.words_of_master() if connection.has_ended(0.0) else None
        if problem is None:
            pipe = connection.start(command_line(argv))
            problem = pipe.begin(CONNECT_TIMEOUT_S)
            if not problem:
                return pipe
            pipe.kill()
        if connection.has_ended(0.5):
            problem = connection.words_of_master() or problem
            reason = f"is no longer connected: {problem}"
        else:
            reason = (
                "cannot start a command; it may limit the sessions of a connection (MaxSessions "
                f"in its sshd_config; netlab uses up to 6 at a time): {problem}"
            )
        raise self._error(argv, reason, code="E-HOST-023")

    def _timed_out(self, pipe: Pipe, command: tuple[str, ...], timeout_s: float) -> HostError:
        if not isinstance(pipe, SshPipe) or pipe.has_begun:
            return super()._timed_out(pipe, command, timeout_s)
        reason = (
            f"its login shell started no command within {timeout_s:g} s; a start-up file such as "
            "~/.bashrc may wait for input, or print without end, also where there is no terminal"
        )
        return self._error(command, reason, output=pipe.stderr_text(), code="E-HOST-071")

    def _options(self) -> tuple[list[str], dict[str, str], float]:
        """Words for ssh, what its configuration says of the host, and the timeout to connect."""
        for key, value in (("address", self.address), ("user", self.user or "x")):
            if not value or UNSAFE_NAME.search(value):
                raise BadInput(f"is not a {key} for SSH", key=key, value=value, code="E-HOST-051")
        named = {"-l": self.user, "-p": self.port}
        words = [str(word) for item in named.items() if item[1] for word in item]
        if self.identity_file is not None:
            key = os.path.expanduser(self.identity_file)
            if not os.path.exists(key) and not os.path.exists(f"{key}.pub"):
                raise HostError(self.name, f"{key} does not exist", code="E-HOST-031")
            words += ["-i", key.replace("%", "%%"), "-o", "IdentitiesOnly=yes"]
        if self.known_hosts is not None:
            words += option_words(
                (f'UserKnownHostsFile="{self.known_hosts}"', "GlobalKnownHostsFile=/dev/null")
            )
        timeout_s = self.connect_timeout_s
        said = {"hostname": self.address, "port": str(self.port or 22), "user": self.user or ""}
        if self.proxy_command is not None:
            words = ["-F", "none", "-o", f"ProxyCommand={self.proxy_command}", *words]
            words += option_words(("UpdateHostKeys=no", "StrictHostKeyChecking=yes"))
        else:
            resolved = Resolved(self.address, words)
            said |= resolved.values
            words += resolved.words
            configured = said.get("connecttimeout", "")
            if timeout_s is None and configured.isdecimal() and int(configured):
                timeout_s = int(configured)
        timeout_s = CONNECT_TIMEOUT_S if timeout_s is None else timeout_s
        every_s = max(1, round(self.keepalive_s))
        alive = (
            f"ConnectTimeout={max(1, round(timeout_s))}",
            f"ServerAliveInterval={every_s}",
            f"ServerAliveCountMax={max(1, round(self.silence_s / every_s))}",
        )
        return [*words, *option_words((*OWN_OPTIONS, *alive))], said, timeout_s

    def _explained(self, problem: Exception, log: str, timeout_s: float) -> tuple[str, str]:
        """Return what went wrong, with the remedy, and the code of the error."""
        address, port, user = (self._said[key] for key in ("hostname", "port", "user"))
        if reached := re.search(r"^debug1: Authenticating to (\S+):(\d+) as '(.*)'$", log, re.M):
            address, port, user = reached.groups()
        place = address if port == "22" else f"{address}:{port}"
        said = said_by_ssh(log)

        def found(pattern: str) -> re.Match[str] | None:
            return re.search(pattern, log, re.MULTILINE)

        shown = found(r"^debug1: Server host (?:key|certificate): (\S+ \S+?),?( |$)")
        key = f" ({shown[1]})" if shown else ""
        option = "" if port == "22" else f" -p {port}"
        if found(r"REVOKED HOST KEY DETECTED|was revoked and you|revoked by"):
            return f"the host key of {address} is revoked{key}", "E-HOST-044"
        if found(r"REMOTE HOST IDENTIFICATION HAS CHANGED|Host key for .* has changed"):
            name = address if port == "22" else f"[{address}]:{port}"
            return (
                f"the host key of {address} has changed{key}; if the host was reinstalled, remove "
                f"the old key with `ssh-keygen -R {shlex.quote(name)}`"
            ), "E-HOST-025"
        if found(r"^Host key verification failed|No .* host key is known for"):
            return (
                f"the host key of {address} is not known{key}; log in once with "
                f"`ssh{option} {address}` and check it there, or accept it unchecked with "
                f"`ssh-keyscan{option} {address} >> ~/.ssh/known_hosts`"
            ), "E-HOST-024"
        if found(r"Permission denied|Too many authentication failures|No more authentication"):
            return self._refused(log, user, place)
        if match := found(r"Could not resolve hostname (\S+): (.*)"):
            return f"{match[1]} does not resolve: {match[2]}", "E-HOST-028"
        if match := found(r"connect to host (\S+) port (\d+): (.*)"):
            target = match[1] if match[2] == "22" else f"{match[1]}:{match[2]}"
            if "timed out" not in match[3]:
                return f"{target} cannot be reached: {match[3]}", "E-HOST-029"
            return f"{target} did not answer within {timeout_s:g} s", "E-HOST-030"
        if found(r"timed out during banner exchange"):
            return (
                f"{place} sent no SSH banner within {timeout_s:g} s; allow more with "
                "`ConnectTimeout` in ~/.ssh/config"
            ), "E-HOST-053"
        if isinstance(problem, TimeoutError):
            seconds = timeout_s + LOGIN_SPARE_S
            return f"{place} did not complete the login within {seconds:g} s", "E-HOST-054"
        message = f"no SSH session with {place}: {said[0] if said else 'ssh has ended'}"
        if found(r"MaxStartups|kex_exchange_identification"):
            message += "; its sshd may refuse logins at one time (MaxStartups in its sshd_config)"
        return message, "E-HOST-020"

    def _refused(self, log: str, user: str, place: str) -> tuple[str, str]:
        if "with partial success" in log:
            asked = re.search(r"Permission denied \((.*)\)", log)
            return (
                f"the key was accepted for user {user} at {place}, and {asked[1] if asked else ''} "
                f"is asked as a second factor; {AT_A_TERMINAL}"
            ), SECOND_FACTOR
        if "debug1: Server accepts key" in log:
            if "sign_and_send_pubkey" not in log:
                return (
                    f"the key needs a passphrase; unlock it with `ssh-add`; {AT_A_TERMINAL}"
                ), PASSPHRASE
        elif "debug1: Offering public key" not in log and "Trying private key" not in log:
            # the protocol of agents does not tell a locked one from an empty one
            locked = " (an agent that is locked shows none: `ssh-add -X`)"
            return (
                "this user has no SSH key, and no agent has one"
                f"{locked if 'SSH_AUTH_SOCK' in os.environ else ''}: make one with "
                "`ssh-keygen -t ed25519` and install it with "
                f"`ssh-copy-id {user}@{place}`"
            ), "E-HOST-036"
        offered = log.count("debug1: Offering public key")
        if "Too many authentication failures" in log and offered:
            return (
                f"{place} closed the login of user {user} after {offered} keys, before one that it "
                "accepts (MaxAuthTries in its sshd_config); an agent offers all that it has: name "
                "the right one by `IdentityFile` with `IdentitiesOnly yes` in ~/.ssh/config, or by "
                "`identity_file` in the study"
            ), "E-HOST-056"
        return (
            f"no key or agent was accepted for user {user} at {place} "
            "(netlab uses no passwords); try `ssh-copy-id`"
        ), "E-HOST-027"
