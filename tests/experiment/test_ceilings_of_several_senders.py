"""Ceilings of a run that several hosts send: what each limits of it."""

from __future__ import annotations

import pytest
import yaml
from synthetic import FOREIGN

from netlab.experiment.memory_copy import Copies
from netlab.experiment.trial import setting_of
from netlab.files.recorded_facts import end_facts
from netlab.study import Study, load, schedule


def study(entries: list[dict], **buses_MBps: float) -> Study:
    """The hosts left and third send to right, over SSH."""
    content = yaml.safe_load(FOREIGN)
    content["hosts"]["third"] = {"kind": "ssh", "address": "third.example.org"}
    content["paths"]["rack"]["also"] = [
        {"host": "third", "address": "192.0.2.77", "interface": "eth0"}
    ]
    content["groups"] = [{"name": "incast", "path": "rack", "sender": "left", "flows": entries}]
    content["streams"] = [2]
    for host, bandwidth_MBps in buses_MBps.items():
        content["hosts"][host]["bus"] = {"bandwidth_MBps": bandwidth_MBps, "label": f"of {host}"}
    return load(content)


BOTH, ALONE = [{}, {"from": "third"}], [{"count": 2}]
FACTS = {name: end_facts({"boot_id": name, "cpus": 4}) for name in ("left", "right", "third")}


@pytest.mark.parametrize(
    ("entries", "buses_MBps", "MBps", "text"),
    [
        (BOTH, {"left": 500, "third": 600, "right": 2000}, 1100, "of left and of third together"),
        (BOTH, {"left": 500, "third": 600, "right": 1000}, 1000, "of right"),
        (ALONE, {"left": 500, "third": 100, "right": 1000}, 500, "of left"),
        (BOTH, {"left": 500, "right": 1000}, None, ""),
    ],
)
def test_the_bus_is_the_receivers_or_that_of_all_senders_together(entries, buses_MBps, MBps, text):
    of = study(entries, **{host: float(rate) for host, rate in buses_MBps.items()})
    setting = setting_of(of, "rack", 1500, group=of.groups[0], facts=FACTS)
    assert setting.bus_MBps == MBps
    assert setting.bus_source == (f"{text}, as the study states" if text else "")


@pytest.mark.parametrize(
    ("entries", "most_MBps", "host"), [(BOTH, 2 * 900, "right"), (ALONE, 2 * 100, "left")]
)
def test_copies_limit_the_receiver_alone_where_several_send(entries, most_MBps, host):
    """Each sender has a part of the streams, and a slow one leaves the rest to others."""
    of = study(entries)
    (run, *_) = schedule.visits(of)[0].runs
    copies = Copies(each_MBps={"left": 100.0, "right": 900.0, "third": 50.0})
    rate_MBps, source = copies.ceiling(of, run, FACTS)
    assert rate_MBps == most_MBps and f"of {host}, measured there" in source
