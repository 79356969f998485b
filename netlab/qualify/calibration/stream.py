"""One stream over a calibrated path: its goodput, and what of it cannot be relied on."""

from __future__ import annotations

from dataclasses import dataclass

from netlab.errors import RunError
from netlab.experiment.endpoint import Endpoint
from netlab.lab.emulator import LabEmulator
from netlab.lab.lab import Lab
from netlab.lab.namespaces import tool as run_ip
from netlab.measure import Emulated, Setting, Side, audit, interval_rows, measure, record
from netlab.measure.exchange import Request
from netlab.measure.flags import flags_of
from netlab.qualify.calibration.rate_cells import RECEIVER, SENDER
from netlab.study import Socket, Study, Timing

RECORD_LENGTH_B = 65536
INTERVAL_MS = 50
KEPT = (
    *("window_s", "window_B", "mss_B", "retransmits", "ledger_error_B"),
    *("steal_percent", "foreign_cpu_percent", "busiest_core_percent"),
)
"""Columns of a run that a calibration keeps."""

KEPT_OF_EMULATOR = ("emulator_late_us", "emulator_waited_percent", "path_drops")
"""And those where the path has an emulator."""


@dataclass(frozen=True)
class Stream:
    """What is asked of a stream.

    Parameters
    ----------
    mtu_B : int
        MTU of the path.
    buffer_B : int
        Socket buffers of both ends.
    warmup_s, window_s : float
        Before the window, and the window.
    congestion : str
        Congestion control.
    pacing_MBps : float, optional
        Rate it is paced to, 10^6 B/s.
    record_length_B : int
        Bytes of one send, and of one read at most.
    """

    mtu_B: int
    buffer_B: int
    warmup_s: float
    window_s: float
    congestion: str
    pacing_MBps: float | None = None
    record_length_B: int = RECORD_LENGTH_B


def set_mtu(lab: Lab, endpoint: Endpoint, mtu_B: int) -> None:
    """Set the MTU of a lab end, for good: a tuning would refuse one that ends its IPv6."""
    line = ("link", "set", "dev", endpoint.interface, "mtu", str(mtu_B))
    run_ip(("ip", "-n", lab.namespace(endpoint.name), *line), host=endpoint.name)


def side(endpoint: Endpoint, buffer_B: int = 0) -> Side:
    """An end of a path as a run has it."""
    return Side(
        host=endpoint.name,
        channel=endpoint.agent,
        address=endpoint.address,
        interface=endpoint.interface,
        sndbuf_B=buffer_B,
        rcvbuf_B=buffer_B,
    )


def run_stream(
    study: Study,
    endpoints: dict[str, Endpoint],
    stream: Stream,
    emulator: LabEmulator | None = None,
) -> dict:
    """Send one stream.

    Parameters
    ----------
    study : Study
        Of the calibration.
    endpoints : dict of str to Endpoint
        Both ends of the path.
    stream : Stream
        What to send.
    emulator : LabEmulator, optional
        The emulator of the path.

    Returns
    -------
    dict
        ``goodput_MBps`` (None if it failed), :data:`KEPT` (with an emulator also
        :data:`KEPT_OF_EMULATOR`), ``flags`` with commas between them and a ``message``.

    Raises
    ------
    HostError
        An end of the path, or the emulator, was lost.
    """
    request = Request(
        streams=1,
        record_length_B=stream.record_length_B,
        congestion=stream.congestion,
        force_buffer=study.force_buffer,
        receive=study.receive,
        warmup_ms=round(1e3 * stream.warmup_s),
        window_ms=round(1e3 * stream.window_s),
        interval_ms=INTERVAL_MS,
        both=False,
        socket=Socket(pacing_MBps=stream.pacing_MBps),
    )
    sender, receiver = (side(endpoints[name], stream.buffer_B) for name in (SENDER, RECEIVER))
    before = emulator.report(restart_ms=INTERVAL_MS) if emulator else None
    try:
        outcome = measure(sender, receiver, request)
    except RunError as error:
        return {"goodput_MBps": None, "flags": "failed", "message": str(error)}
    emulated = Emulated(before, emulator.report(samples=True), "ab") if emulator else None
    flows = [(flow.gen, flow.sink) for flow in outcome.flows]
    ledger = audit(flows, mtu_B=stream.mtu_B, both=False)
    # The rate is what is examined here, so it is no ceiling that a figure could be held to.
    setting = Setting(stream.mtu_B, None, None, None, bus_shared=False, one_machine=True)
    row = record(outcome, setting, ledger, emulated)
    intervals = interval_rows("calibration", outcome.flows)
    timing = Timing(repeats=1, seconds=stream.window_s, interval_ms=INTERVAL_MS)
    flags = flags_of(row, outcome, ledger.problems, [], intervals, timing, emulated)
    kept = KEPT + (KEPT_OF_EMULATOR if emulator else ())
    return {
        "goodput_MBps": row["goodput_MBps"],
        **{name: row[name] for name in kept},
        "flags": ",".join(flags),
        "message": "; ".join(flags.values()),
    }
