"""Every processor sends into one queue of a link, and every queue has a processor."""

from hypothesis import given
from hypothesis import strategies as st

from netlab.lab.link_queues import queue_a_cpu, sending_masks
from netlab.study.links import MOST_QUEUES


def cpus_of(mask: str) -> set[int]:
    """As the kernel reads a bitmap: groups of 32 bits, the last one lowest."""
    groups = mask.split(",")
    assert all(len(group) <= 8 for group in groups)
    bits = sum(int(group, 16) << 32 * place for place, group in enumerate(reversed(groups)))
    return {cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1}


@given(st.integers(2, MOST_QUEUES), st.integers(1, 1024))
def test_processors_are_dealt_to_the_queues_in_turn(queues, cpus):
    masks = sending_masks(queues, cpus)
    assert len(masks) == queues
    for queue, mask in enumerate(masks):
        assert cpus_of(mask) == {cpu for cpu in range(cpus) if cpu % queues == queue}


def test_a_mask_of_many_processors_is_in_groups_of_32():
    assert sending_masks(2, 2) == ("00000001", "00000002")
    assert sending_masks(34, 34)[33] == "00000002,00000000"


def test_one_queue_serves_all_cpus_without_a_setting():
    assert sending_masks(1) == ()


def test_a_queue_a_processor_leaves_each_its_own():
    queues = queue_a_cpu()
    assert 1 <= queues <= MOST_QUEUES
    if queues > 1:
        assert all(len(cpus_of(mask)) == 1 for mask in sending_masks(queues))
