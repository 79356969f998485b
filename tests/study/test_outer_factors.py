"""Outer factors, which a person sets between blocks."""

from __future__ import annotations

from refusals import refused
from study.crossed_study import crossed

from netlab.errors import BadInput
from netlab.study.factor_checks import chosen_outer
from netlab.study.schedule import rounds


def test_outer_factors_are_blocks_of_their_own():
    study = crossed(outer={"kernel": ["smp", "up"], "mmrbc": [512, 4096]})
    blocks = rounds(study)[0]
    assert len(blocks) == 2 * 4
    assert {b.outer for b in blocks} == {
        (("kernel", kernel), ("mmrbc", size)) for kernel in ("smp", "up") for size in (512, 4096)
    }
    assert "cable@plain@1500@kernel=up@mmrbc=512" in {b.block_id for b in blocks}
    assert blocks[0].runs[0].levels == blocks[0].outer


def test_outer_levels_are_taken_as_a_person_gives_them():
    study = crossed(outer={"kernel": ["smp", "up"], "mmrbc": [512, 4096]})
    assert chosen_outer(study, {"mmrbc": "512", "kernel": "up"}) == (
        ("kernel", "up"),
        ("mmrbc", 512),
    )
    assert chosen_outer(crossed(), {}) == ()
    with refused(BadInput, "E-STUDY-073", match="outer.kernel.*smp, up"):
        chosen_outer(study, {"mmrbc": 512})
    with refused(BadInput, "E-STUDY-074", match="no-such|smp, up"):
        chosen_outer(study, {"mmrbc": 512, "kernel": "no-such"})
    with refused(BadInput, "E-STUDY-072", match="firmware"):
        chosen_outer(study, {"firmware": "1"})
