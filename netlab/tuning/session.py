"""Apply a profile to a host for the length of a block of runs, then revert it."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from netlab.errors import BadInput, TuningError
from netlab.tuning.knobs import MOST, HostSetting, Knob, is_driver_set
from netlab.tuning.members import MEMBERED, one_answer, value_text, wanted
from netlab.tuning.plan import NO_INTERFACE, Change, make_plan
from netlab.tuning.profiles import Profile
from netlab.tuning.requests import (
    Requests,
    TuneChannel,
    TuneFault,
    beside_text,
    knob_words,
    read_knobs,
)
from netlab.tuning.session_outcome import Drift, Entries, TuningResult

_INTERFACE = re.compile(r"(?!\.{1,2}$)[!-.0-9;-~]{1,15}")
_LEFT = {"failed", "absent"}
"""A knob that a revert did not restore; it stays in the host's journal."""


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
        return read_knobs(self._requests, knob, self.interface)

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
        with contextlib.suppress(OSError):
            self._on_wait(note)  # a command prints an error without its notes

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
