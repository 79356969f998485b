"""A host over SSH: a fabric connection that accepts known host keys only."""

from __future__ import annotations

import contextlib
import getpass
import logging
import os
import pwd
import re
import shlex
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import fabric
import paramiko

from netlab.errors import BadInput, HostError, why
from netlab.hosts.host import STDERR_KEPT_BYTES, Host, Pipe
from netlab.hosts.known_hosts import KnownKeys, RevokedHostKey, UnknownHostKey

CONNECT_TIMEOUT_S = 8.0
KEEPALIVE_S = 5.0
SILENCE_S = 15.0
GLOBAL_KNOWN_HOSTS = "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2"
USER_KNOWN_HOSTS = "~/.ssh/known_hosts ~/.ssh/known_hosts2"
KEY_FILES = ("id_ed25519", "id_ecdsa", "id_rsa", "id_ecdsa_sk", "id_ed25519_sk")

# Errors are raised; without a handler paramiko would also print tracebacks into notebooks.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


class KnownKeysOnly(paramiko.MissingHostKeyPolicy):
    def __init__(self, known: KnownKeys):
        self.known = known

    def missing_host_key(
        self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey
    ) -> None:
        self.known.check(key)


class Transport(paramiko.Transport):
    """A transport that asks for the kinds of host keys that can be checked first, as ssh does."""

    known: KnownKeys

    @property
    def preferred_keys(self) -> tuple[str, ...]:
        return tuple(sorted(super().preferred_keys, key=self.known.rank))


class ResolvedConfig(paramiko.SSHConfig):
    """The user's SSH configuration as ssh reads it, with Include, Match, tokens and all."""

    KEYS = (
        *("hostname", "user", "port", "identitiesonly", "hostkeyalias", "proxyjump"),
        *("proxycommand", "globalknownhostsfile", "userknownhostsfile", "identityfile"),
    )

    def __init__(self, address: str, user: str | None, port: int | None):
        super().__init__()
        self.address = address
        named = {"-l": user, "-p": port}
        self.options = [str(word) for item in named.items() if item[1] for word in item]

    def lookup(self, hostname: str) -> paramiko.config.SSHConfigDict:
        home, account = os.path.expanduser("~"), pwd_home()
        file = f"{home}/.ssh/config"
        # ssh asks the account for the home, not the environment
        other = ["-F", file if os.path.exists(file) else os.devnull] if home != account else []
        options = self.options if hostname == self.address else []
        done = subprocess.run(
            ["ssh", "-G", *other, *options, "--", hostname],
            capture_output=True,
            text=True,
            errors="surrogateescape",
            stdin=subprocess.DEVNULL,
        )
        if done.returncode != 0:
            reason = done.stderr.strip().splitlines()[:1] or [f"exit code {done.returncode}"]
            raise BadInput(reason[0], where=f"ssh -G {hostname}", code="E-HOST-043")
        resolved = paramiko.config.SSHConfigDict(hostname=hostname)
        keys = []
        for line in done.stdout.splitlines():
            key, _, value = line.partition(" ")
            # ssh prints ~ as it was written, also for the default keys
            if key == "identityfile" and os.path.exists(file := os.path.expanduser(value)):
                keys.append(file)
            elif key in self.KEYS and key != "identityfile" and value != "none":
                resolved[key] = value.replace(f"{account}/", f"{home}/") if other else value
        if keys:
            resolved["identityfile"] = keys
        return resolved


def pwd_home() -> str:
    """Home directory of the account; that of the environment without an account."""
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return os.path.expanduser("~")


class Connection(fabric.Connection):
    """A fabric connection that checks host keys, at its gateways too.

    A proxy command, also one of a jump host, runs in a session of its own on one end of a socket
    pair. Its end is detected at once (paramiko would wait for more in a loop that takes a whole
    CPU), and a Ctrl-C at the terminal does not close the connection that clean-up needs.
    """

    def __init__(self, host: str, *, known_hosts: tuple[str, ...] | None = None, **options: object):
        super().__init__(host, **options)
        self._set(_proxy=None, _proxy_stderr=None)
        if self.ssh_config.get("identitiesonly", "no") == "yes":
            self.connect_kwargs.setdefault("allow_agent", False)
            self.connect_kwargs.setdefault("look_for_keys", False)
        config = self.ssh_config
        files = known_hosts or (
            *shlex.split(config.get("globalknownhostsfile", GLOBAL_KNOWN_HOSTS)),
            *shlex.split(config.get("userknownhostsfile", USER_KNOWN_HOSTS)),
        )
        keys = KnownKeys.of(files, self.host, self.port, config.get("hostkeyalias"))
        self.client.set_missing_host_key_policy(KnownKeysOnly(keys))

        def transport(sock: socket.socket, **options: object) -> Transport:
            new = Transport(sock, **options)
            new.known = keys
            return new

        self.connect_kwargs["transport_factory"] = transport

    def get_gateway(self) -> Connection | str | None:
        gateway = None
        for hop in self.ssh_config.get("proxyjump", "").split(",") if self.ssh_config else ():
            if hop and self.derive_shorthand(hop)["host"] != self.original_host:
                gateway = Connection(hop, config=self.config, gateway=gateway)
        return gateway or self.ssh_config.get("proxycommand") or self.config.gateway

    def open_gateway(self) -> socket.socket | paramiko.Channel:
        if not isinstance(self.gateway, str):
            return super().open_gateway()
        # paramiko replaces %h, %p and the like when it looks a ProxyCommand up.
        expanding = paramiko.SSHConfig.from_text(
            f"Host *\n    ProxyCommand {self.gateway}\n    Port {self.port}\n    User {self.user}\n"
        )
        command = shlex.split(expanding.lookup(self.host)["proxycommand"])
        ours, theirs = socket.socketpair()
        stderr = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the proxy)
        try:
            process = subprocess.Popen(
                command,
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=stderr.fileno(),
                start_new_session=True,
            )
        except OSError:
            ours.close()
            stderr.close()
            raise
        finally:
            theirs.close()
        self._set(_proxy=process, _proxy_stderr=stderr)
        return ours

    def proxy_stderr(self) -> str:
        if self._proxy_stderr is None:
            return ""
        self._proxy_stderr.seek(0)
        return self._proxy_stderr.read(65536).decode("utf-8", "replace")

    def close(self) -> None:
        """Close the connection and end its proxy command, connected or not."""
        if self.is_connected:
            # paramiko's reader looks every 0.1 s whether it is to end; this wakes it
            with contextlib.suppress(OSError, EOFError):
                self.transport.sock.shutdown(socket.SHUT_RDWR)
        super().close()
        self.client.close()
        if self._proxy is not None:
            try:
                self._proxy.wait(1.0)
            except subprocess.TimeoutExpired:
                self._proxy.kill()
                self._proxy.wait()
            self._proxy_stderr.close()
            self._set(_proxy=None, _proxy_stderr=None)
        if isinstance(self.gateway, fabric.Connection):
            self.gateway.close()


BEGIN = b"netlab: what follows is of the command\n"
UNSAFE = re.compile(rb"[^ -~]|[\\'!]")
"""What a login shell may read in another way than sh within single quotes."""

PRINTED_BYTES = 1 << 16


def command_line(argv: tuple[str, ...]) -> bytes:
    """An argv as a line of one meaning to any login shell; start-up files print before `BEGIN`."""
    words = f"exec {shlex.join(argv)}".encode("utf-8", "surrogateescape")
    encoded = UNSAFE.sub(lambda byte: b"\\0%03o" % byte[0][0], words)
    return b"""sh -c 'echo "%s"; eval "$(printf %%b "$1")"' sh '%s'""" % (BEGIN.strip(), encoded)


class ChannelPipe:
    def __init__(self, channel: paramiko.Channel):
        self._channel = channel
        self._stderr = bytearray()
        self._before: bytes | None = b""  # None once the command has begun

    def write(self, data: bytes) -> None:
        self._channel.sendall(data)

    def close_input(self) -> None:
        with contextlib.suppress(EOFError):
            self._channel.shutdown_write()

    def read(self, size: int, timeout_s: float) -> bytes:
        deadline = time.monotonic() + timeout_s
        while True:
            remaining = deadline - time.monotonic()
            # short waits: a process blocked on a full stderr would never write to stdout
            self._channel.settimeout(max(0.0, min(0.25, remaining)))
            try:
                chunk = self._channel.recv(size)
                if self._before is None:
                    return chunk
                printed, begins, output = (self._before + chunk).partition(BEGIN)
                if begins or not chunk or len(printed) > PRINTED_BYTES:
                    self._before = None
                    if begins and not output:
                        continue
                    return output if begins else printed
                self._before = printed
            except TimeoutError:
                self._drain_stderr()
                if remaining <= 0:
                    raise

    def _drain_stderr(self) -> None:
        while self._channel.recv_stderr_ready():
            self._stderr += self._channel.recv_stderr(65536)
            del self._stderr[:-STDERR_KEPT_BYTES]

    def stderr_text(self) -> str:
        self._drain_stderr()
        return bytes(self._stderr).decode("utf-8", "replace")

    def exit_status(self, timeout_s: float) -> int | None:
        deadline = time.monotonic() + timeout_s
        while not self._channel.status_event.wait(0.05):
            self._drain_stderr()
            if time.monotonic() >= deadline:
                return None
        return self._channel.exit_status

    def lost(self) -> str:
        transport = self._channel.get_transport()
        if transport.is_active() or self._channel.exit_status != -1:
            return ""
        return "the SSH connection was lost"

    def kill(self) -> None:
        self._channel.close()


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
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
        keepalive_s: float = KEEPALIVE_S,
        silence_s: float = SILENCE_S,
    ):
        super().__init__(name)
        self.address, self.user, self.port = address, user, port
        self.identity_file, self.known_hosts = identity_file, known_hosts
        self.proxy_command, self.connect_timeout_s = proxy_command, connect_timeout_s
        self.keepalive_s, self.silence_s = keepalive_s, silence_s
        self._connection: Connection | None = None
        self._closing = threading.Event()

    @property
    def connection(self) -> Connection:
        if self._connection is None:
            raise HostError(self.name, "is not connected", code="E-HOST-019")
        return self._connection

    def open(self) -> None:
        if self._connection is not None:
            return
        connection = self._made()
        try:
            connection.open()
        except BaseException as problem:
            complaint = connection.proxy_stderr()
            connection.close()
            if not isinstance(problem, Exception):
                raise
            reason, code = self._explained(problem, connection)
            raise HostError(self.name, reason, output=complaint, code=code) from problem
        self._connection = connection
        self._closing = threading.Event()
        given = (connection.transport, self._closing, self.keepalive_s, self.silence_s)
        threading.Thread(target=_watch, args=given, daemon=True).start()

    def close(self) -> None:
        if self._connection is None:
            return
        self._closing.set()
        connection, self._connection = self._connection, None
        connection.close()

    def _spawn(self, argv: tuple[str, ...]) -> Pipe:
        transport = self.connection.transport
        try:
            channel = transport.open_session(timeout=self.connect_timeout_s)
            channel.exec_command(command_line(argv))
        except (OSError, EOFError, paramiko.SSHException) as problem:
            what = "cannot start a command" if transport.is_active() else "is no longer connected"
            if isinstance(problem, paramiko.ChannelException):
                what += (
                    "; it may limit the sessions of a connection (MaxSessions in its sshd_config; "
                    "netlab uses up to 6 at a time)"
                )
            message = f"{what}: {problem or type(problem).__name__}"
            raise self._error(argv, message, code="E-HOST-023") from problem
        return ChannelPipe(channel)

    def _made(self) -> Connection:
        try:
            getpass.getuser()
        except (KeyError, OSError):  # a container's uid without an account; paramiko wants a name
            os.environ["LOGNAME"] = str(os.getuid())
        timeouts = ("banner_timeout", "auth_timeout")
        keys: dict[str, object] = dict.fromkeys(timeouts, self.connect_timeout_s)
        if self.identity_file is not None:
            keys["key_filename"] = os.path.expanduser(self.identity_file)
        config = None
        if self.proxy_command is not None:
            keys |= {"allow_agent": False, "look_for_keys": False}
            config = paramiko.SSHConfig()
        elif shutil.which("ssh"):
            config = ResolvedConfig(self.address, self.user, self.port)
            keys["look_for_keys"] = False  # the configuration names them all
        try:
            return Connection(
                self.address,
                known_hosts=None if self.known_hosts is None else (str(self.known_hosts),),
                user=self.user,
                port=self.port,
                config=fabric.Config(ssh_config=config, lazy=config is not None),
                gateway=self.proxy_command,
                connect_timeout=max(1, round(self.connect_timeout_s)),
                connect_kwargs=keys,
            )
        except ValueError as error:  # ssh has not read all of what it prints
            raise BadInput(why(error), where=f"ssh -G {self.address}", code="E-HOST-048") from None

    def _has_key(self, connection: Connection) -> bool:
        named = connection.connect_kwargs.get("key_filename")
        if named or connection.ssh_config.get("identityfile") or self.proxy_command is not None:
            return True
        paths = (os.path.expanduser(f"~/.ssh/{name}") for name in KEY_FILES)
        return any(map(os.path.exists, paths)) or bool(paramiko.Agent().get_keys())

    def _explained(self, problem: Exception, connection: Connection) -> tuple[str, str]:
        """Return what went wrong, with the remedy, and the code of the error."""
        place = connection.host if connection.port == 22 else f"{connection.host}:{connection.port}"
        # no key was accepted, or there was none to offer
        refused = isinstance(problem, paramiko.AuthenticationException)
        refused |= "No authentication methods available" in str(problem)
        match problem:
            case RevokedHostKey():
                return (
                    f"the host key of {problem.hostname} is revoked by a known_hosts file "
                    f"({problem.key.get_name()} {problem.key.fingerprint})"
                ), "E-HOST-044"
            case UnknownHostKey():
                # the names come from the problem: it may be the key of a jump host
                named = re.fullmatch(r"\[(.+)\]:(\d+)", problem.hostname)
                shown_by, option = (
                    (named[1], f" -p {named[2]}") if named else (problem.hostname, "")
                )
                why = f", and {problem.why}" if problem.why else ""
                return (
                    f"the host key of {problem.hostname} is not known{why} "
                    f"({problem.key.get_name()} {problem.key.fingerprint}); log in once with "
                    f"`ssh{option} {shown_by}` and check it there, or accept it unchecked with "
                    f"`ssh-keyscan{option} {shown_by} >> ~/.ssh/known_hosts`"
                ), "E-HOST-024"
            case paramiko.BadHostKeyException():
                return (
                    f"the host key of {problem.hostname} has changed: known is "
                    f"{problem.expected_key.fingerprint}, received was {problem.key.fingerprint}; "
                    "if the host was reinstalled, remove the old key with "
                    f"`ssh-keygen -R {shlex.quote(problem.hostname)}`"
                ), "E-HOST-025"
            case paramiko.PasswordRequiredException():
                return "the key needs a passphrase; unlock it with `ssh-add`", "E-HOST-026"
            case paramiko.SSHException() if refused and not self._has_key(connection):
                # the protocol of agents does not tell a locked one from an empty one
                locked = " (an agent that is locked shows none: `ssh-add -X`)"
                return (
                    "this user has no SSH key, and no agent has one"
                    f"{locked if 'SSH_AUTH_SOCK' in os.environ else ''}: make one with "
                    "`ssh-keygen -t ed25519` and install it with "
                    f"`ssh-copy-id {connection.user}@{place}`"
                ), "E-HOST-036"
            case paramiko.AuthenticationException():
                return (
                    f"no key or agent was accepted for user {connection.user} at {place} "
                    "(netlab uses no passwords); try `ssh-copy-id`"
                ), "E-HOST-027"
            case socket.gaierror():
                return f"{connection.host} does not resolve: {problem.strerror}", "E-HOST-028"
            case paramiko.ssh_exception.NoValidConnectionsError():
                reasons = {os.strerror(error.errno or 0) for error in problem.errors.values()}
                return f"{place} cannot be reached: {', '.join(sorted(reasons))}", "E-HOST-029"
            case TimeoutError():
                return f"{place} did not answer within {self.connect_timeout_s:g} s", "E-HOST-030"
            case FileNotFoundError() if problem.filename:
                return f"{problem.filename} does not exist", "E-HOST-031"
        message = f"no SSH session with {place}: {str(problem) or type(problem).__name__}"
        if "banner" in message:
            message += "; its sshd may refuse logins at one time (MaxStartups in its sshd_config)"
        return message, "E-HOST-020"


def _watch(
    transport: paramiko.Transport, closing: threading.Event, keepalive_s: float, silence_s: float
) -> None:
    """Close the transport when keep-alives get no answer: a host without power sends no reset."""
    while not closing.wait(keepalive_s) and transport.is_active():
        alarm = threading.Timer(silence_s, transport.close)
        alarm.daemon = True
        alarm.start()
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            transport.global_request("keepalive@openssh.com", wait=True)
        alarm.cancel()


# Names of hosts in an SSH configuration, and what it says of each.

_HOST = re.compile(r"\s*host[\s=]+(?P<names>.*)", re.IGNORECASE)


@dataclass(frozen=True)
class SshAlias:
    line: int
    said: dict[str, str | int]
    """Address, user, port and key, where they are named."""
    needs_proxy: bool


def aliases(path: Path) -> dict[str, SshAlias]:
    try:
        text = path.expanduser().read_text(encoding="utf-8")
        config = paramiko.SSHConfig.from_text(text)
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        raise BadInput(message, where=str(path), code="E-HOST-040") from None
    except (paramiko.ConfigParseError, UnicodeDecodeError, ValueError) as error:
        message = f"is not an SSH configuration: {error}"
        raise BadInput(message, where=str(path), code="E-HOST-041") from None
    # as paramiko has read them: a pattern would miss a word with quotes inside, such as ex""ec
    kinds = [match["type"] for block in config._config for match in block.get("matches", ())]
    if "exec" in map(str.lower, kinds):
        message = "`Match exec` runs a command, and an inventory is data: take it out"
        raise BadInput(message, where=str(path), code="E-HOST-045")
    resolved: dict[str, SshAlias] = {}
    blocks_of = _blocks_by_name(config._config)
    for number, line in enumerate(text.splitlines(), start=1):
        match = _HOST.fullmatch(line)
        for name in match["names"].replace('"', " ").split() if match else ():
            if not set(name) & set("*?!") and name not in resolved:
                config._config = blocks_of(name)
                try:
                    resolved[name] = _alias(config.lookup(name), number)
                except (ValueError, KeyError, paramiko.SSHException) as error:
                    at = f"{path}:{number}"
                    message = f"cannot be looked up: {why(error)}"
                    raise BadInput(message, where=at, key=name, code="E-HOST-047") from None
    return resolved


def _blocks_by_name(blocks: list[dict]) -> Callable[[str], list[dict]]:
    """Select the blocks that can match a name; paramiko tries each pattern: minutes for 10,000."""
    literal: dict[str, dict[int, dict]] = defaultdict(dict)
    others = {}
    # which tries the blocks again with another name
    canonical = any("canonicalizehostname" in block["config"] for block in blocks)
    for at, block in enumerate(blocks):
        patterns = block.get("host", ())
        if canonical or not patterns or set("".join(patterns)) & set("*?!["):
            others[at] = block
        else:
            for name in patterns:
                literal[name][at] = {**block, "host": [name]}
    return lambda name: [block for _, block in sorted((others | literal[name]).items())]


def _alias(said: dict, line: int) -> SshAlias:
    named = {"address": said["hostname"], "user": said.get("user")}
    named |= {"port": int(said["port"])} if "port" in said else {}
    named |= {"identity_file": next(iter(said.get("identityfile", ())), None)}
    named = {key: value for key, value in named.items() if value is not None}
    return SshAlias(line, named, "proxycommand" in said or "proxyjump" in said)
