"""Zero-copy sends on a lab's path, whose kernel copies every byte: as it reports."""

import pandas as pd
import yaml
from e2e.conftest import ANY_NOISE, run_netlab

import netlab


def test_a_run_has_the_bytes_of_zero_copy_sends_that_the_kernel_copied(tmp_path, machine_untouched):
    """What veth delivers to a socket of the same machine is copied (net/core/skbuff.c)."""
    content = {
        **{"netlab": 1, "name": "copies", "title": "Zero copy"},
        "hosts": {"left": {"kind": "lab"}, "right": {"kind": "lab"}},
        "paths": {"cable": {"ends": [{"host": "left"}, {"host": "right"}]}},
        "groups": [{"name": "one way", "path": "cable", "sender": "left"}],
        "factors": {"send": ["copy", "zerocopy"]},
        **{"streams": [2], "noise": ANY_NOISE},
        "timing": {"rounds": 1, "seconds": 0.5, "warmup_s": 0.2},
    }
    file = tmp_path / "study.yml"
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    run_netlab("run", str(file), "--results", str(tmp_path / "r"), timeout_s=120)
    runs = netlab.Results(tmp_path / "r").runs.sort_values("run_id")
    copied, zero_copy = runs.to_dict("records")
    assert "send=copy" in copied["run_id"] and pd.isna(copied["zerocopy_copied_B"])
    assert zero_copy["zerocopy_copied_B"] == zero_copy["sent_B"] > 0
