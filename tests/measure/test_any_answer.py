"""Any JSON at any place of a result: the run is measured, or fails with the host's name."""

from hypothesis import given
from hypothesis import strategies as st
from scripted import Clock, good_agent, request, result, side

from netlab.errors import RunError
from netlab.measure.exchange import measure
from netlab.measure.fairness import stream_columns
from netlab.measure.ledger import audit
from netlab.measure.record import interval_rows

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.text(max_size=5),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=3), values),
    max_leaves=5,
)
PLACES = [
    (),
    *[(key,) for key in ("window", "samples", "per_stream", "total_bytes", "t_go_ns")],
    *[("samples", key) for key in ("t_ns", "bytes", "parts")],
    *[("samples", "t_ns", 3), ("samples", "bytes", 0), ("samples", "bytes", 1, 4)],
    *[("window", key) for key in ("t0_ns", "t1_ns", "bytes")],
    *[("per_stream", 0), *(("per_stream", 1, key) for key in ("bytes", "window_bytes"))],
]


def put(answer: dict, place: tuple, value: object) -> dict:
    """The answer with another value at a place; at its root, with further keys."""
    if not place:
        return {**answer, **(value if isinstance(value, dict) else {})}
    inner = answer
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return answer


@given(role=st.sampled_from(["gen", "sink"]), place=st.sampled_from(PLACES), value=JSON)
def test_samples_and_windows_of_any_shape_are_audited_or_fail_the_run(role, place, value):
    answers = {name: result(name) for name in ("gen", "sink")}
    put(answers[role], place, value)
    clock = Clock()
    listening = {"event": "listening", "run": 7, "port": 1}
    a = good_agent(clock, gen=lambda _: [answers["gen"]])
    b = good_agent(clock, sink=lambda _: [listening, answers["sink"]])
    try:
        flows = measure(side("a", a), side("b", b), request(), now=clock, run_number=7).flows
    except RunError as error:
        assert str(error).startswith(("a: ", "b: "))
        return
    audit([(flow.gen, flow.sink) for flow in flows], mtu_B=1500, both=False)
    stream_columns(flows)
    interval_rows("run", flows)
