"""Formats that are named, and why they are not read."""

from __future__ import annotations

import re
from functools import partial
from typing import NoReturn

from netlab.outputs.records import damaged


def _refuse(reason: str, _text: str) -> NoReturn:
    raise damaged(1, reason, code="E-IMPORT-142")


NAMED = {
    "sockperf text": (
        re.compile(r"^sockperf(?:\[\w+\])?: ", re.MULTILINE),
        partial(_refuse, "sockperf measures latency and messages; it has no goodput of a stream"),
    ),
    "qperf text": (
        re.compile(r"^(?:tcp|udp|sctp|sdp|rds|rc|uc|ud|xrc)_\w+:$", re.MULTILINE),
        partial(_refuse, "qperf prints a rate without the bytes or the time of its run"),
    ),
    "ethr text": (
        re.compile(
            r"^\s*\[ *(?:ID|\d+|SUM)\] +(?:Protocol +Interval|(?:TCP|UDP|HTTPS?) +\d)", re.M
        ),
        partial(
            _refuse, "ethr prints a rate without the bytes of its run, rounded to three digits"
        ),
    ),
    "pScheduler text": (
        re.compile(r"^(?:Submitting task\.\.\.|Running with tool '|\* Stream ID \d)", re.MULTILINE),
        partial(
            _refuse,
            "pscheduler prints rates for people; `pscheduler task --format json throughput ...`, "
            "or `pscheduler result --format json URL`, prints the same run with its bytes",
        ),
    ),
    "crusader text": (
        re.compile(r"\bClient version \S+ running\b"),
        partial(
            _refuse, "crusader loads a link to measure its latency; its totals are not of a run"
        ),
    ),
}
