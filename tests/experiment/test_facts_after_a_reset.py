"""Facts of a card that the visit before has reset are read once its link is up again."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import campaigns
import pytest
from refusals import refused

from netlab.errors import HostError, TuningError
from netlab.experiment import found_facts
from netlab.experiment.conditions import stable_facts
from netlab.files.recorded_facts import HostFacts, host_facts


@dataclass
class Done:
    exit_status: int = 0
    stdout: str = ""


@dataclass
class ResettingHost:
    """Its card has no link until it is waited for."""

    name: str = "left"
    waits: list[tuple[str, ...]] = field(default_factory=list)
    comes_back: bool = True

    def facts(self, card: str) -> HostFacts:
        is_up = bool(self.waits) and self.comes_back
        known = {"operstate": "up", "link_speed_Mbps": 10000}
        lost = {"operstate": "down", "link_speed_Mbps": None}
        stated = {"interface": card, "kernel": "6.1", **(known if is_up else lost)}
        return host_facts(stated)

    def run(self, argv, **_options) -> Done:
        if "carrier" in " ".join(map(str, argv)):
            self.waits.append(tuple(argv))
            return Done(0 if self.comes_back else 3)
        asked = (
            [line.split() for line in argv[4:]] if argv[-1].startswith(("read ", "list ")) else []
        )
        words = [dict(pair.split("=") for pair in line[1:]) for line in asked]
        answers = [self.answer(each) for each in words]
        return Done(stdout="\n".join(map(json.dumps, [{"event": "ready"}, *answers])))

    def answer(self, asked: dict[str, str]) -> dict:
        value = {"net.ipv4.tcp_congestion_control": "bbr", "tso": "on"}.get(asked.get("name", ""))
        knob = {"event": "value", "knob": "mtu", "name": None, "interface": "data0"}
        found = {"value": value, "supported": value is not None, "reason": None}
        return {**knob, "writable": asked.get("name") != "tso", **found}


def facts_of(host: ResettingHost) -> dict:
    study = campaigns.study(tunings=[{"name": "openlab-2003-full", "mtus_B": [9000]}])
    return found_facts.facts_of(host, "eth1", study, "p1", "gensink")


def test_the_speed_is_that_of_the_link_that_came_back():
    host = ResettingHost()
    assert stable_facts(facts_of(host))["link_speed_Mbps"] == 10000
    assert len(host.waits) == 1


def test_a_link_that_stays_down_is_left_to_the_check_of_the_path():
    host = ResettingHost(comes_back=False)
    assert facts_of(host)["operstate"] == "down"


def test_the_settings_found_are_read_for_a_tuning_that_sets_the_mtu():
    """Those of the card, too, which no file has."""
    facts = facts_of(ResettingHost())
    assert facts["found"] == {"net.ipv4.tcp_congestion_control": "bbr", "feature tso": "on"}
    assert facts["fixed"] == ["feature tso"]


@pytest.mark.parametrize("printed", ["", '{"event": "ready"}', '{"event": "ready"}\nno', "[]"])
def test_a_host_whose_settings_cannot_be_read_is_named(printed):
    class Host(ResettingHost):
        def run(self, argv, **_options) -> Done:
            return Done(stdout=printed) if argv[-1].startswith("read ") else super().run(argv)

    with pytest.raises(TuningError, match="left: its settings cannot be read") as caught:
        facts_of(Host())
    assert caught.value.code == "E-TUNING-020"


@pytest.mark.parametrize(
    ("holder", "said"), [("enp2s0", "is an address of enp2s0: name that one"), ("", "eth1$")]
)
def test_a_card_that_a_restart_has_renamed_is_named_by_its_address(holder, said):
    class Host(ResettingHost):
        def facts(self, card: str) -> HostFacts:
            return host_facts({"interface": card, "kernel": "6.1", "interface_exists": False})

        def run(self, argv, **_options) -> Done:
            return Done(stdout=f"lo\n{holder}\n") if argv[3] == "leaves" else super().run(argv)

    with refused(HostError, "E-RUN-033", match=f"^left: has no interface .*{said}"):
        facts_of(Host())
