"""A link's parameters become the kernel's units."""

import pytest
from pydantic import ValidationError

from netlab.lab.link import LinkSettings, bucket_B
from netlab.lab.link_queues import sending_masks
from netlab.study import LabLink


def test_the_default_link_is_the_untuned_card_of_2003():
    settings = LinkSettings.of(LabLink(), 2128.0)
    assert settings.rate_bps == 17_024_000_000
    assert settings.interrupt_delay_ns == 52_429
    assert settings.settings_argv("data0")[-5:] == ("data0", "off", "off", "52429", "1")
    assert settings.ip_lines("data0") == [
        "link set dev data0 txqueuelen 1000 gro_max_size 100"
    ]  # fmt: skip


def test_the_bucket_takes_half_a_millisecond_and_always_two_frames_of_any_mtu():
    assert LinkSettings.of(LabLink(), 2128.0).burst_B == 1_064_000
    assert LinkSettings.of(LabLink(rate_Mbps=10.0), None).burst_B == 32_768 >= 2 * (16_114 + 14)
    assert LinkSettings.of(LabLink(rate_Mbps=10.0), None, 65_535).burst_B == 2 * (65_535 + 14)
    # a slow link parts large segments, and no bucket lasts less than 4 ms for it
    rates_bps = (100_000_000, 200_000_000, 400_000_000, 1_000_000_000)
    assert list(map(bucket_B, rates_bps)) == [50_000, 100_000, 131_072, 131_072]


def test_a_link_without_bus_or_rate_is_not_shaped():
    settings = LinkSettings.of(LabLink(), None)
    assert settings.rate_bps is None
    assert settings.tc_lines("data0") == []


def test_a_tuned_link_offloads_and_does_not_wait():
    link = LabLink(interrupt_delay_us=0.0, segmentation_offload=True, checksum_offload=True)
    settings = LinkSettings.of(link, None)
    assert settings.settings_argv("data0")[-5:] == ("data0", "on", "on", "0", "0")
    assert "gro_max_size" not in settings.ip_lines("data0")[0]


def test_without_root_of_the_machine_a_link_sets_no_deferral_and_no_cpus_of_queues():
    for queues in (1, 2):
        argv = LinkSettings.of(LabLink(queues=queues), None).settings_argv("data0", reserved=False)
        assert argv[-3:] == ("data0", "off", "off")


def test_several_queues_are_made_with_the_pair_and_shared_out():
    one, two = LabLink(), LabLink(queues=2)
    assert LinkSettings.of(one, None).add_words == ""
    settings = LinkSettings.of(two, None)
    assert settings.add_words == " numtxqueues 2 numrxqueues 2"
    masks = settings.settings_argv("data0")[-2:]
    assert settings.settings_argv("data0")[:-2] == LinkSettings.of(one, None).settings_argv("data0")
    assert masks == sending_masks(2)


@pytest.mark.parametrize("queues", [0, 257])
def test_a_number_of_queues_that_cannot_be_is_refused(queues):
    with pytest.raises(ValidationError, match="queues"):
        LabLink(queues=queues)
