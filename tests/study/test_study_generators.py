"""A study that asks of another tool what it cannot do is refused when it is read."""

import copy

import pytest
from openlab import CONTENT

from netlab.errors import BadInput
from netlab.files.yaml_file import validated
from netlab.study import Study


def study_of(generator: str, *, streams=(1, 4), congestion="cubic", **more) -> dict:
    content = copy.deepcopy(CONTENT)
    content["streams"], content["congestion"] = list(streams), congestion
    content["groups"] = [{**content["groups"][0], "generator": generator, **more}]
    return content


REFUSED = {
    "streams": ({"streams": (1, 129)}, ("iperf3", "nuttcp"), "at most 128 streams, not 129"),
    "record": ({"record_length_B": 2**20 + 1}, ("iperf3",), "at most 1048576 B, not 1048577"),
    "buffers": ({"receive_buffer_B": 65536}, ("iperf3",), "takes no receive_buffer_B"),
    "mixture": (
        {"congestion": "cubic+reno"},
        ("iperf3", "iperf2", "nuttcp"),
        "one congestion control, not 'cubic+reno'",
    ),
}


@pytest.mark.parametrize("generator", ["netlab", "iperf3", "iperf2", "nuttcp"])
@pytest.mark.parametrize("what", REFUSED)
def test_only_options_that_a_generator_lacks_are_refused(what, generator):
    change, unable, sentence = REFUSED[what]
    content = study_of(generator, **change)
    if generator not in unable:
        assert validated(Study, content, "my.yml").groups[0].generator == generator
        return
    with pytest.raises(BadInput, match="groups: Linux64 -> Linux64") as caught:
        validated(Study, content, "my.yml")
    assert f"{generator} " in str(caught.value) and sentence in str(caught.value)


def test_a_loss_is_timed_by_netlabs_own_start_alone():
    content = study_of("iperf2", force_loss_at_s=0.1)
    content["paths"]["64-64"]["link"] = {"emulator": {"rtt_ms": 10.0}}
    with pytest.raises(BadInput, match="start, so no loss can be timed"):
        validated(Study, content, "my.yml")
    content["groups"][0]["generator"] = "netlab"
    assert validated(Study, content, "my.yml").groups[0].force_loss_at_s == 0.1


def test_streams_that_a_group_leaves_out_do_not_count_against_its_tool():
    content = study_of("iperf3", streams=(1, 500))
    content["groups"][0]["streams"] = [1]
    assert validated(Study, content, "my.yml").generators("64-64") == ("iperf3",)


def test_a_path_names_the_tools_that_its_hosts_must_have():
    content = study_of("nuttcp")
    own = {**content["groups"][0], "name": "ours", "generator": "netlab"}
    content["groups"] += [own, {**content["groups"][0], "name": "again"}]
    study = validated(Study, content, "my.yml")
    assert study.generators("64-64") == ("nuttcp",)
    assert study.generators("32-64") == ()
