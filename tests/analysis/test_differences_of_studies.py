"""What two studies ask of their paths is among the differences of their results."""

from __future__ import annotations

import campaigns
import synthetic

from netlab.analysis.sides import DIGESTS, differences
from netlab.files.yaml_file import validated
from netlab.study import Study


def lab(rtt_ms: float) -> Study:
    hosts = {"left": {"kind": "lab"}, "middle": {"kind": "lab"}}
    link = {"emulator": {"rtt_ms": rtt_ms, "rate_Mbps": 1000.0}}
    paths = {"p1": {"ends": [{"host": "left"}, {"host": "middle"}], "link": link}}
    content = {**campaigns.STUDY, "hosts": hosts, "paths": paths, "factors": {}}
    content["groups"] = campaigns.STUDY["groups"][:1]
    return validated(Study, content, "lab.yml")


def test_the_rtt_that_differs_is_named_and_digests_come_last():
    near, far = lab(1.0), lab(20.0)
    runs = [synthetic.runs_of(study) for study in (near, far)]
    runs[1]["study_digest"] = "another"
    runs[1]["warmup_s"] = 0.4
    found = differences(*runs, (near, far))
    items = found["item"].tolist()
    row = found.set_index("item").loc["path p1, RTT, ms"]
    assert (row["a"], row["b"]) == ("1.0", "20.0")
    assert items[:2] == ["path p1, RTT, ms", "warm-up, s"]
    assert set(items[-1:]) <= DIGESTS
