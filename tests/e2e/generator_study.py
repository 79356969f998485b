"""A study of several generators on a lab."""

from __future__ import annotations

from studies import ANY_NOISE, two_hosts

GENERATORS = ("netlab", "iperf3", "iperf2", "nuttcp")


RATE_MBPS = 100.0
"""So slow that the path limits every sender, not the processors of a busy machine."""


def study_of(*, streams=(1, 4), mtus_B=(1500, 9000), **timing) -> dict:
    group = {"direction": "->", "buffer_B": 0}
    group["record_length_B"] = 16384  # a tool counts whole records
    return two_hosts(
        "generators",
        {"rate_Mbps": RATE_MBPS},
        *({**group, "name": f"by {name}", "generator": name} for name in GENERATORS),
        tunings=[{"name": "openlab-2003-normal", "mtus_B": list(mtus_B)}],
        streams=list(streams),
        timing={"rounds": 1, "seconds": 0.5, "warmup_s": 0.2, "interval_ms": 100, **timing},
        noise={**ANY_NOISE, "retries": 0},
    )
