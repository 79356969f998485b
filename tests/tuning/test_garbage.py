"""A host that answers garbage is a one-line error of that host."""

import json

from hypothesis import given
from hypothesis import strategies as st

from netlab.errors import NetlabError
from netlab.experiment.endpoint import _Lines
from netlab.hosts.line_process import LineProcess
from netlab.tuning.knobs import Knob
from netlab.tuning.profiles import load_profile
from netlab.tuning.requests import _FINAL
from netlab.tuning.session import TuningSession

GARBAGE = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.just([])
    | st.sampled_from([{}, {"7": 1}, {"x": "y"}, "0-99999999999"])
)
PLAIN = {
    "event": "ready", "stale": 0, "supported": True, "writable": True, "value": "1", "reason": None,
    "knob": "irq", "name": None, "interface": "v0", "status": "applied", "found": "2",
    "values": {"7": "0-1"}, "handlers": {"7": "v0"}, "online": "0-1", "near": "0-1",
    "expected": "1",
}  # fmt: skip


class Scripted:
    """The streams of an agent: one key of its answers is garbage or missing."""

    def __init__(self, key, value, missing):
        self.garbage, self.missing = {key: value}, key if missing else ""
        self.left = [self.answer("ready")]

    def answer(self, event):
        answer = {**PLAIN, "event": event, **self.garbage}
        answer.pop(self.missing, None)
        return f"{json.dumps(answer)}\n".encode()

    def write(self, data):
        self.left.append(self.answer(_FINAL[data.split()[0].decode()]))

    def close_input(self):
        pass

    def read(self, size, timeout_s):
        return self.left.pop(0) if self.left else b""

    def stderr_text(self):
        return ""

    def exit_status(self, timeout_s):
        return 0

    def lost(self):
        return ""

    def kill(self):
        pass


@given(st.sampled_from(list(PLAIN)), GARBAGE, st.booleans())
def test_a_host_that_answers_garbage_is_an_error_of_that_host(key, value, missing):
    process = LineProcess(Scripted(key, value, missing), host="there", argv=("gensink",))
    profile = load_profile("openlab-2003-full")
    irq = Knob(kind="irq", name="affinity", value="local", source="SLAC")
    session = TuningSession(
        _Lines(process), profile, "v0", 9000, extra_knobs=[irq], host="there", hold_s=0
    )
    try:
        with session:
            pass
    except NetlabError as error:
        assert "there: " in str(error) or key != "event"
