"""From an emulator of the study to the requests that set it."""

import json
from dataclasses import asdict

import pytest
from lab_study import lab_study
from pydantic import ValidationError

from netlab.lab.emulator import EmulatorSettings
from netlab.lab.topology import Topology, topology
from netlab.study import Emulator, LabLink


def test_a_round_trip_is_halved_and_units_are_converted():
    settings = EmulatorSettings.of(
        Emulator(
            rtt_ms=183.2,
            rate_Mbps=2500.0,
            queue_B=4_000_000,
            loss=1e-6,
            jitter_ms=0.5,
            reorder=0.01,
            reorder_ms=2.0,
            seed=7,
        )
    )
    there, back = settings.requests()
    assert there == (
        "set direction=ab rate_bps=2500000000 queue_B=4000000 queue_packets=0 delay_us=91600 "
        "loss_ppb=1000 jitter_us=500 reorder_ppb=10000000 reorder_us=2000 seed=14"
    )
    assert back == there.replace("=ab", "=ba").replace("seed=14", "seed=15")


def test_each_way_may_have_its_own_delay():
    settings = EmulatorSettings.of(Emulator(delay_ms=(10.0, 173.2)))
    assert settings.delay_us == (10_000, 173_200)
    assert settings.rate_bps == settings.queue_B == settings.queue_packets == 0


def test_a_topology_with_an_emulator_survives_its_state_file():
    study = lab_study(
        paths={
            "a-b": {
                "ends": [{"host": "a"}, {"host": "b"}],
                "link": {"emulator": {"with": "netlab", "rtt_ms": 2.0}},
            }
        }
    )
    plan = topology(study)
    assert plan.paths[0].emulator.delay_us == (1000, 1000)
    assert plan.paths[0].settings.card is False
    assert Topology.from_dict(json.loads(json.dumps(plan.as_dict()))) == plan
    assert EmulatorSettings.from_dict(json.loads(json.dumps(asdict(plan.paths[0].emulator))))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"rtt_ms": 1.0, "delay_ms": [1.0, 1.0]}, "give one"),
        ({"queue_packets": 10}, "needs a rate_Mbps"),
        ({"delay_ms": [1.0]}, "delay_ms"),
    ],
)
def test_an_emulator_that_contradicts_itself_is_refused(content, says):
    with pytest.raises(ValidationError, match=says):
        Emulator.model_validate(content)


def test_a_link_is_a_card_or_a_long_path():
    with pytest.raises(ValidationError, match="no segmentation_offload"):
        LabLink.model_validate({"emulator": {}, "segmentation_offload": True})
    with pytest.raises(ValidationError, match="no queues"):
        LabLink.model_validate({"emulator": {}, "queues": 2})
    assert LabLink.model_validate({"emulator": {"rate_Mbps": 5.0}}).shaped_Mbps == 5.0
    assert LabLink(rate_Mbps=7.0).shaped_Mbps == 7.0


def test_an_emulator_is_part_of_a_studys_digest():
    def digest(rtt_ms: float) -> str:
        link = {"emulator": {"rtt_ms": rtt_ms}}
        path = {"ends": [{"host": "a"}, {"host": "b"}], "link": link}
        return lab_study(paths={"a-b": path}).digest()

    assert digest(1.0) == digest(1.0) != digest(2.0)
