"""Apply a profile to a host for the length of a block of runs, then revert it."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol
from urllib.parse import quote

from netlab.errors import BadInput, TuningError
from netlab.files.answers import checked
from netlab.files.bounded_json import parse_json
from netlab.tuning.knobs import HOSTWIDE, MOST, HostSetting, Knob, is_driver_set
from netlab.tuning.plan import (
    MEMBERED,
    NO_INTERFACE,
    Change,
    make_plan,
    may_change,
    one_answer,
    value_text,
    wanted,
)
from netlab.tuning.profiles import Profile

# Outcome of a tuning session: knobs applied, found, recovered, in conflict.


@dataclass(frozen=True)
class Drift:
    """A knob whose value differs from the applied one; ``found`` is None where it is gone."""

    knob: str
    name: str | None
    interface: str | None
    expected: str
    found: str | None


Entries = list[dict[str, Any]]


@dataclass
class TuningResult:
    """Knobs of a session by what became of them; it fills as the session goes on."""

    profile: str
    applied: Entries = field(default_factory=list)
    unchanged: Entries = field(default_factory=list)
    unsupported: Entries = field(default_factory=list)
    found: Entries = field(default_factory=list)
    recovered: Entries = field(default_factory=list)
    conflicts: Entries = field(default_factory=list)
    failed: Entries = field(default_factory=list)
    beside: Entries = field(default_factory=list)
    """What knobs with a risk changed beside themselves; a revert puts it back, or reports it."""

    def record(self) -> dict[str, Any]:
        return asdict(self)


# Requests to `gensink tune` and its answers, over any channel of lines.

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
    """What a knob changed beside itself, as a clause; the first of them if there are many."""
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


def _read(requests: Requests, setting: HostSetting, interface: str) -> dict[str, Any]:
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
            answer = _read(requests, setting, interface)
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


_INTERFACE = re.compile(r"(?!\.{1,2}$)[!-.0-9;-~]{1,15}")
_LEFT = {"failed", "absent"}
"""A knob that a revert did not restore; it stays in the host's journal."""

MOST_BESIDE = 5
"""Changes beside a knob that a message lists."""

_BUSY_S = 5.0
"""Timeout for the guard of a session that just died to revert its knobs."""


def _label(answer: dict[str, Any]) -> str:
    words = (answer.get("interface"), answer.get("knob"), answer.get("name"))
    return " ".join(str(word) for word in words if word)


def _key(kind: str, name: str | None) -> tuple[str, str | None]:
    """Kind and name; members of a kind are one."""
    return (kind, None if kind in MEMBERED else name)


def _explained(answer: dict[str, Any]) -> str:
    return f"{_label(answer)} ({answer['reason']})"


class TuningSession:
    """A tuning as a transaction over a channel to `gensink tune`.

    As a context manager: entering reads, plans, begins, sets and verifies; leaving reverts,
    verifies and ends, whatever happened inside. If entering fails half way, the knobs set so far
    are reverted before the error is raised. If this process dies, the guard on the host reverts.

    A profile without knobs, with no MTU to set, only reads: no session begins on the host, and
    no right to change it is needed.
    """

    def __init__(
        self,
        channel: TuneChannel,
        profile: Profile,
        interface: str,
        mtu_B: int | None = None,
        *,
        extra_knobs: Iterable[Knob] = (),
        software_deferral: bool = False,
        hold_s: float = 30.0,
        timeout_s: float = 20.0,
        host: str = "",
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        on_wait: Callable[[str], None] = lambda text: None,
    ):
        if not _INTERFACE.fullmatch(interface):
            message = "not a name the kernel takes for an interface"
            raise BadInput(message, key="interface", value=interface, code="E-TUNING-009")
        self.profile, self.interface, self.mtu_B = profile, interface, mtu_B
        self._extra, self._software_deferral = tuple(extra_knobs), software_deferral
        self._hold_s = hold_s
        self._where = f"{host}: " if host else ""
        self._clock, self._sleep, self._on_wait = clock, sleep, on_wait
        self._requests = Requests(channel, timeout_s=timeout_s, host=host)
        self._ready: dict[str, Any] | None = None
        self._changes: tuple[Change, ...] | None = None
        self.result = TuningResult(profile.name)
        self._begun = False
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._lost: TuningError | None = None

    # --- before ---

    @property
    def ready(self) -> dict[str, Any]:
        if self._ready is None:
            self._ready = self._requests.ready()
        return self._ready

    @property
    def only_reads(self) -> bool:
        """True if the session has no knob to set."""
        return not self.profile.items and self.mtu_B is None and not self._extra

    def read(self, knob: HostSetting) -> dict[str, Any]:
        return _read(self._requests, knob, self.interface)

    def _listed(self, words: dict[str, str | None]) -> dict[str, Any]:
        return self._requests.ask("list", **{**words, "name": None})[-1]

    def resolve(self, knob: Knob) -> dict[str, Any]:
        words = knob_words(knob, self.interface)
        if knob.value == MOST:
            answer = self.read(knob)
            if most := answer.get("most"):
                return {**answer, "value": most}
            return {**answer, "supported": False, "reason": "the device states no maximum"}
        if knob.kind not in MEMBERED:
            answer = self._requests.ask("read", **words, value=knob.value)[-1]
            return {**answer, "value": knob.value}
        listed = self._listed(words)
        try:
            values = wanted(listed, knob.value)
        except ValueError as error:
            return {"supported": False, "value": None, "reason": str(error)}
        return {**listed, "value": value_text({**listed, "values": values})}

    def plan(self) -> tuple[Change, ...]:
        if self._changes is None:
            _ = self.ready
            self._changes = make_plan(
                self.read,
                self.profile,
                self.interface,
                mtu_B=self.mtu_B,
                extra_knobs=self._extra,
                software_deferral=self._software_deferral,
                resolve=self.resolve,
            )
        return self._changes

    def recover(self) -> tuple[dict[str, Any], ...]:
        """Revert the knobs that sessions left which died together with their guard."""
        try:
            answers = self._while_busy("recover")[:-1]
        except TuneFault as fault:
            raise TuningError(str(fault), code="E-TUNING-018") from fault
        self.result.recovered.extend(answers)
        self.result.conflicts.extend(a for a in answers if a["knob"] == "host")
        failed = [_explained(answer) for answer in answers if answer.get("status") == "failed"]
        if failed:
            raise TuningError(
                f"{self._where}a session that died left settings changed, and they cannot be "
                f"reverted: {', '.join(failed)}",
                code="E-TUNING-011",
            )
        return tuple(answers)

    def _while_busy(self, verb: str, **words: str | None) -> list[dict[str, Any]]:
        """Send a request; retry while the guard of a dead session still owns the host."""
        until, noted = self._clock() + _BUSY_S, False
        while True:
            try:
                return self._requests.ask(verb, **words)
            except TuneFault as fault:
                if fault.reason != "in_use" or self._clock() >= until:
                    raise
                if not noted:
                    reason = str(fault).removeprefix(self._where)
                    self._on_wait(f"{self._where}waiting up to {_BUSY_S:g} s: {reason}")
                    noted = True
            self._sleep(0.05)

    # --- the transaction ---

    def __enter__(self) -> TuningSession:
        try:
            if self.ready["stale"]:
                self.recover()
            changes = self.plan()
            self._record_found()
            if self.only_reads:
                return self
            if reason := self.ready.get("note"):
                self._on_wait(f"{self._where}{reason}")
            self._begun = True
            self._while_busy("begin")
            if self._hold_s > 0:
                self._stop.clear()
                beat = threading.Thread(target=self._beat, name="netlab-keepalive", daemon=True)
                beat.start()
                self._thread = beat
            for change in changes:
                self._apply(change)
            drift = self.drift()
            if drift:
                raise TuningError(
                    f"{self._where}changed by somebody else while it was applied: "
                    + ", ".join(_label(vars(one)) for one in drift),
                    code="E-TUNING-012",
                )
        except BaseException as error:
            self._leave(error)
            raise
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._leave(error)

    def _apply(self, change: Change) -> None:
        if not change.supported:
            self.result.unsupported.append(change.record())
            return
        words = knob_words(change.knob, self.interface)
        if change.knob.kind in MEMBERED:
            answer = self._set_members(words, change)
        else:
            risk = "1" if change.knob.risk else None
            *beside, answer = self._requests.ask("set", **words, value=change.new, risk=risk)
            self._report_beside(change, beside)
        entry = {**change.record(), **{k: v for k, v in answer.items() if k != "event"}}
        entry["supported"] = answer["status"] != "unsupported"
        if answer["status"] == "refused":
            raise TuningError(
                f"{self._where}{_label(answer)} = {change.new} ({change.source}): refused: "
                f"{answer['reason']}",
                code="E-TUNING-013",
            )
        status = answer["status"]
        getattr(self.result, "applied" if status == "differs" else status).append(entry)

    def _report_beside(self, change: Change, beside: Entries) -> None:
        """Record and print what a knob with a risk changed beside itself."""
        each = [{key: one[key] for key in ("what", "was", "found")} for one in beside]
        if each:
            self.result.beside.append({"knob": change.knob.label, "changes": each})
            text = beside_text(each)
            self._on_wait(f"{self._where}{change.knob.label} = {change.new} {text}")

    def _set_members(self, words: dict[str, str | None], change: Change) -> dict[str, Any]:
        answers = []
        for number, value in wanted(self._listed(words), change.new).items():
            answers.append(self._requests.ask("set", **{**words, "name": number}, value=value)[-1])
            if answers[-1]["status"] in ("refused", "unsupported"):
                break
        return {**words, **one_answer(answers), "readback": self.read(change.knob)["value"]}

    def _record_found(self) -> None:
        """Read the settings that the profile records; those that the host lacks are left out."""
        for setting in self.profile.records:
            answer = self.read(setting)
            reason = str(answer["reason"] or "")
            if reason.startswith(NO_INTERFACE):
                message = f"{self._where}{self.interface} {setting.label}: {reason}"
                raise TuningError(message, code="E-TUNING-014")
            if answer["supported"] and answer["value"] is not None:
                entry = {k: answer[k] for k in ("knob", "name", "interface", "value")}
                self.result.found.append(entry)

    def drift(self) -> tuple[Drift, ...]:
        """Knobs that no longer have the value applied or found; call it between runs."""
        if self._lost:
            raise self._lost
        if not self.only_reads:
            keys = ("knob", "name", "interface", "expected", "found")
            answers = self._requests.ask("verify")[:-1]
            return tuple(Drift(**{key: answer[key] for key in keys}) for answer in answers)
        drift = []
        recorded = [(HostSetting(kind=e["knob"], name=e["name"]), e) for e in self.result.found]
        values = {setting.label: entry["value"] for setting, entry in recorded}
        for setting, entry in recorded:
            names = (entry["knob"], entry["name"], entry["interface"])
            now = self.read(setting)["value"]
            if now != entry["value"] and not is_driver_set(setting.label, values):
                drift.append(Drift(*names, expected=entry["value"], found=now))
        return tuple(drift)

    def keepalive(self) -> None:
        self._requests.ask("keepalive")

    # --- after ---

    def _leave(self, error: BaseException | None) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=self._hold_s)
            self._thread = None
        if not self._begun:
            return
        self._begun = False
        cause: TuningError | None = None
        try:
            self._revert()
        except TuningError as failure:
            cause, code = failure, "E-TUNING-015"
            reason = str(failure).removeprefix(self._where)
            note = f"{self._where}the tuning of {self.interface}: {reason}"
        else:
            if not self.result.failed:
                return
            code = "E-TUNING-016"
            note = (
                f"{self._where}could not be reverted: "
                f"{', '.join(map(_explained, self.result.failed))}; the journal on the "
                "host keeps them: `netlab tune recover` tries again"
            )
        if error is None:
            raise TuningError(note, code=code) from cause
        error.add_note(note)

    def _revert(self) -> None:
        try:
            answers = self._requests.ask("revert")[:-1]
        except TuneFault as fault:
            if fault.reason == "bad_request":
                return  # `begin` itself was refused, so there is nothing to put back
            raise
        conflicts = [a for a in answers if a["status"] == "conflict"]
        self.result.conflicts.extend(conflicts)
        self.result.failed.extend(a for a in answers if a["status"] in _LEFT)
        self._verify_reverted({_key(a["knob"], a["name"]) for a in conflicts})
        ended = self._requests.ask("end")
        done = {
            _label(answer)
            for answer in ended
            if answer["event"] == "reverted" and answer["status"] not in _LEFT
        }
        self.result.failed = [one for one in self.result.failed if _label(one) not in done]

    def _verify_reverted(self, excused: set[tuple[str, str | None]]) -> None:
        reported = {_key(entry["knob"], entry["name"]) for entry in self.result.failed}
        written = {_key(entry["knob"], entry["name"]) for entry in self.result.applied}
        for change in self._changes or ():
            if _key(*change.key) not in written - excused - reported:
                continue
            now = self.read(change.knob)
            # without the interface's old name, the host's own answer counts
            if now["supported"] and now["value"] != change.old:
                reason = f"it was {change.old} and reads {now['value']} after the revert"
                entry = {k: now[k] for k in ("knob", "name", "interface")}
                entry |= {"status": "failed", "found": now["value"], "reason": reason}
                self.result.failed.append(entry)

    # --- keepalive ---

    def _beat(self) -> None:
        while not self._stop.wait(self._hold_s / 3):
            try:
                self.keepalive()
            except TuningError as error:
                self._lost = error
                return
