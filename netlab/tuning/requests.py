"""Requests to `gensink tune` and its answers, over any channel of lines."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import quote

from netlab.errors import TuningError
from netlab.files.answers import checked
from netlab.files.bounded_json import parse_json
from netlab.tuning.knobs import HOSTWIDE, HostSetting
from netlab.tuning.members import MEMBERED, value_text
from netlab.tuning.plan import may_change
from netlab.tuning.session_outcome import Entries

_FINAL = {
    "read": "value",
    "list": "listed",
    "begin": "begun",
    "set": "set",
    "verify": "verified",
    "revert": "reverted_all",
    "recover": "reverted_all",
    "keepalive": "alive",
    "end": "ended",
}


AFTERWARDS = (
    "the guard on the host reverts the tuning, or a restart of the host ends it; if the guard was "
    "killed too, `netlab tune recover` does"
)
"""Fate of the tuning of a host whose connection is gone, as a message states it."""


class TuneChannel(Protocol):
    def send(self, line: str) -> None:
        """Send one request; the newline is added. Raises OSError when the other end is gone."""

    def receive(self, timeout_s: float) -> dict[str, Any]:
        """Next answer. Raises TimeoutError, or EOFError when the other end is gone."""


class TuneFault(TuningError):
    """The host answered a request with an error; ``reason`` is its word for it."""

    def __init__(self, message: str, *, reason: str, code: str | None = None):
        self.reason = reason
        super().__init__(message, code=code)


def _unrestored(answer: dict[str, Any]) -> dict[str, Any]:
    """A difference of the host that remains after a revert, as the entry of a knob in conflict."""
    was, found = (answer.get(key) or "absent" for key in ("was", "found"))
    reason = f"not restored: {answer.get('what')}, was {was}, is {found}"
    knob = {"knob": "host", "name": answer.get("what"), "interface": None, "status": "conflict"}
    return {"event": "reverted", **knob, "found": answer.get("found"), "reason": reason}


def _uncompared(kind: str) -> dict[str, Any]:
    """A part of the host that a revert could not compare, as the entry of a knob in conflict."""
    reason = f"the {kind} were not compared with those of before: unreadable, or over 50,000"
    knob = {"knob": "host", "name": kind, "interface": None, "status": "conflict"}
    return {"event": "reverted", **knob, "found": None, "reason": reason}


def beside_text(changes: Entries) -> str:
    """Changes by a knob beside its own, as a clause; the first of them if there are many."""
    texts = [
        f"{one['what']}, {one['was'] or 'absent'} to {one['found'] or 'absent'}"
        for one in changes[:MOST_BESIDE]
    ]
    more = len(changes) - len(texts)
    return f"also changed: {'; '.join(texts)}{f'; and {more} more' if more else ''}"


def request_line(verb: str, **words: str | None) -> str:
    encoded = (
        f"{key}={quote(value, safe='/._-:,+@')}"
        for key, value in words.items()
        if value is not None
    )
    return " ".join([verb, *encoded])


def knob_words(knob: HostSetting, interface: str) -> dict[str, str | None]:
    where = None if knob.kind in HOSTWIDE else interface
    return {"knob": knob.kind, "name": knob.name, "interface": where}


class Requests:
    """Send one request at a time, from any thread.

    An interrupted request (Ctrl-C) leaves its answer in the channel. The next request drains it
    first, so that no answer is taken for another request's.
    """

    def __init__(self, channel: TuneChannel, *, timeout_s: float = 20.0, host: str = ""):
        self._channel, self._timeout_s, self._host = channel, timeout_s, host
        self._where = f"{host}: " if host else ""
        self._lock = threading.Lock()
        self._owed: str | None = None

    def ready(self) -> dict[str, Any]:
        with self._lock:
            return self._until("ready")[-1]

    def ask(self, verb: str, **words: str | None) -> list[dict[str, Any]]:
        with self._lock:
            if self._owed:
                owed, self._owed = self._owed, None
                with contextlib.suppress(TuneFault):  # of the interrupted request
                    self._until(owed)
            line = request_line(verb, **words)
            self._owed = _FINAL[verb]
            try:
                self._channel.send(line)
            except OSError as error:
                message = f"the connection to the host is gone: {error}; {AFTERWARDS}"
                raise TuningError(message, host=self._host, code="E-TUNING-001") from error
            return self._until(_FINAL[verb])

    def _until(self, final: str) -> list[dict[str, Any]]:
        answers: Entries = []
        while True:
            try:
                answer = self._channel.receive(self._timeout_s)
            except TimeoutError as error:
                waited = f"did not answer in {self._timeout_s:g} s"
                message = f"{self._where}the host {waited}; {AFTERWARDS}"
                raise TuningError(message, host=self._host, code="E-TUNING-002") from error
            except ValueError as error:
                message = f"{self._where}the host sent an answer that breaks its protocol: {error}"
                raise TuningError(message, host=self._host, code="E-TUNING-030") from error
            except (EOFError, OSError) as error:
                message = f"the connection to the host is gone: {error}; {AFTERWARDS}"
                raise TuningError(message, host=self._host, code="E-TUNING-003") from error
            if answer.get("event") == "error":
                self._owed = None
                message = f"{self._where}{answer.get('message')} ({answer.get('code')})"
                raise TuneFault(message, reason=str(answer.get("code")), code="E-TUNING-017")
            unrestored = answer.get("event") == "unrestored"
            answers += map(_uncompared, answer.get("uncompared") or ())
            answers.append(_unrestored(answer) if unrestored else answer)
            if answer.get("event") == final:
                self._owed = None
                return answers


def read_knobs(requests: Requests, setting: HostSetting, interface: str) -> dict[str, Any]:
    words = knob_words(setting, interface)
    if setting.kind not in MEMBERED:
        return requests.ask("read", **words)[-1]
    listed = requests.ask("list", **{**words, "name": None})[-1]
    value = value_text(listed) if listed["supported"] else None
    return {**listed, "name": setting.name, "value": value}


def reading(binary: str, settings: Iterable[HostSetting], interface: str) -> tuple[str, ...]:
    """Command that answers for several settings in one exchange, and changes none."""
    lines = []
    for setting in settings:
        words = knob_words(setting, interface)
        membered = setting.kind in MEMBERED
        lines.append(
            request_line("list", **{**words, "name": None})
            if membered
            else request_line("read", **words)
        )
    return ("sh", "-c", 'printf "%s\\n" "$@" | "$0" tune', binary, *lines)


@dataclass(frozen=True)
class SettingsRead:
    """Values of settings by label, without those that a host lacks."""

    values: dict[str, str]
    fixed: tuple[str, ...]
    """Labels of those that no tuning can change there, such as below a read-only mount."""


def settings_read(
    printed: str, settings: Iterable[HostSetting], interface: str, *, host: str = ""
) -> SettingsRead:
    """Settings of a host from what :func:`reading` printed."""
    requests = Requests(_Printed(printed))
    values, fixed = {}, []
    try:
        requests.ready()
        for setting in settings:
            answer = read_knobs(requests, setting, interface)
            if answer["supported"] and answer["value"] is not None:
                values[setting.label] = answer["value"]
                if not may_change(answer):
                    fixed.append(setting.label)
    except TuningError as error:
        message = f"{host}: its settings cannot be read: {error}"
        raise TuningError(message, code="E-TUNING-020") from error
    return SettingsRead(values, tuple(fixed))


class _Printed:
    """Channel whose answers came all at once."""

    def __init__(self, text: str):
        self._lines = iter(text.splitlines())

    def send(self, line: str) -> None:
        return

    def receive(self, timeout_s: float) -> dict[str, Any]:
        line = next(self._lines, None)
        if line is None:
            raise EOFError("an answer is missing")
        return checked(parse_json(line))


MOST_BESIDE = 5
"""Changes beside a knob that a message lists."""
