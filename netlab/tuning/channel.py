"""Requests to `gensink tune` and its answers, over any channel of lines."""

from __future__ import annotations

import contextlib
import threading
from typing import Any, Protocol
from urllib.parse import quote

from netlab.errors import TuningError
from netlab.tuning.knobs import HOSTWIDE, HostSetting

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
    "the guard on the host reverts the tuning; if it was killed too, `netlab tune recover` does"
)
"""Fate of the tuning of a host whose connection is gone, as a message states it."""


class TuneChannel(Protocol):
    """Lines to a `gensink tune` and back."""

    def send(self, line: str) -> None:
        """Send one request; the newline is added. Raises OSError when the other end is gone."""

    def receive(self, timeout_s: float) -> dict[str, Any]:
        """Next answer. Raises TimeoutError, or EOFError when the other end is gone."""


class TuneFault(TuningError):
    """The host answered a request with an error; ``reason`` is its word for it."""

    def __init__(self, message: str, *, reason: str, code: str | None = None):
        self.reason = reason
        super().__init__(message, code=code)


def request_line(verb: str, **words: str | None) -> str:
    """One request; values are percent-encoded, words that are None are left out."""
    encoded = (
        f"{key}={quote(value, safe='/._-:,+@')}"
        for key, value in words.items()
        if value is not None
    )
    return " ".join([verb, *encoded])


def knob_words(knob: HostSetting, interface: str) -> dict[str, str | None]:
    """The words of a request that name a knob."""
    where = None if knob.kind in HOSTWIDE else interface
    return {"knob": knob.kind, "name": knob.name, "interface": where}


class Requests:
    """Send one request at a time, from any thread.

    An interrupted request (Ctrl-C) leaves its answer in the channel. The next request drains it
    first, so that no answer is taken for another request's.
    """

    def __init__(self, channel: TuneChannel, *, timeout_s: float = 20.0):
        self._channel, self._timeout_s = channel, timeout_s
        self._lock = threading.Lock()
        self._owed: str | None = None

    def ready(self) -> dict[str, Any]:
        """First line of the host: its version and state."""
        with self._lock:
            return self._until("ready")[-1]

    def ask(self, verb: str, **words: str | None) -> list[dict[str, Any]]:
        """Every answer to one request, the final one last."""
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
                raise TuningError(
                    f"the connection to the host is gone: {error}; {AFTERWARDS}",
                    code="E-TUNING-001",
                ) from error
            return self._until(_FINAL[verb])

    def _until(self, final: str) -> list[dict[str, Any]]:
        answers = []
        while True:
            try:
                answer = self._channel.receive(self._timeout_s)
            except TimeoutError as error:
                raise TuningError(
                    f"the host did not answer in {self._timeout_s:g} s", code="E-TUNING-002"
                ) from error
            except (EOFError, OSError, ValueError) as error:
                raise TuningError(
                    f"the connection to the host is gone: {error}; {AFTERWARDS}",
                    code="E-TUNING-003",
                ) from error
            if answer.get("event") == "error":
                self._owed = None
                raise TuneFault(
                    f"{answer.get('message')} ({answer.get('code')})",
                    reason=str(answer.get("code")),
                    code="E-TUNING-017",
                )
            answers.append(answer)
            if answer.get("event") == final:
                self._owed = None
                return answers
