"""The bottleneck of paths whose limit is known is named."""

from __future__ import annotations

import pytest
import yaml

from netlab.analysis.conditions import verdicts
from netlab.results.store import Store
from tests.e2e.conftest import ANY_NOISE, measured_through, run_netlab

LINK = {"rate_Mbps": 500, "rtt_ms": 20, "queue_B": 2_500_000}
LARGE = {
    "net.ipv4.tcp_wmem": "4096 65536 16777216",
    "net.ipv4.tcp_rmem": "4096 131072 16777216",
}
SMALL = {"net.ipv4.tcp_wmem": "4096 65536 131072"}


def tuning(name: str, knobs: dict[str, str]) -> dict:
    listed = [{"kind": "sysctl", "name": knob, "value": value} for knob, value in knobs.items()]
    return {"name": name, "mtus_B": [1500], "knobs": listed}


def path(**more: float) -> dict:
    return {"ends": [{"host": "left"}, {"host": "right"}], "link": {"emulator": LINK | more}}


@pytest.mark.timeout(300)
def test_little_loss_on_a_long_path_and_a_small_send_buffer_are_named(tmp_path):
    """Reno at 0.05 % loss and 20 ms has 6 to 9 % of the link; 128 KiB of tcp_wmem 10 %."""
    content = {
        "netlab": 1,
        "name": "words",
        "title": "Known limits",
        "hosts": {"left": {"kind": "lab"}, "right": {"kind": "lab"}},
        "paths": {"lossy": path(loss=0.0005), "clean": path()},
        "groups": [
            {"name": name, "path": name, "sender": "left", "congestion": "reno"}
            for name in ("lossy", "clean")
        ],
        "tunings": [tuning("large", LARGE), tuning("small", SMALL)],
        "streams": [1],
        "timing": {"rounds": 3, "seconds": 2.0, "warmup_s": 1.0, "interval_ms": 100},
        "noise": ANY_NOISE,
    }
    file = tmp_path / "words.yml"
    file.write_text(yaml.safe_dump(content))
    measured_through(run_netlab("run", str(file), "--results", str(tmp_path / "r"), timeout_s=280))
    found = verdicts(Store(tmp_path / "r").runs()).set_index(["group", "tuning"])["bottleneck"]
    assert found["lossy", "large"] == "loss"
    assert found["clean", "small"] == "send buffer"
    assert found["clean", "large"] == "link"
