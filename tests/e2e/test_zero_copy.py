"""Zero-copy sends on a lab's path, whose kernel copies every byte: as it reports."""

import pandas as pd
from e2e.conftest import run_on_lab
from studies import two_hosts

import netlab


def test_a_run_has_the_bytes_of_zero_copy_sends_that_the_kernel_copied(tmp_path, machine_untouched):
    """What veth delivers to a socket of the same machine is copied (net/core/skbuff.c)."""
    content = two_hosts(
        "copies",
        **{"factors": {"send": ["copy", "zerocopy"]}, "streams": [2]},
        timing={"rounds": 1, "seconds": 0.5, "warmup_s": 0.2},
    )
    run_on_lab(tmp_path, content, timeout_s=120)
    runs = netlab.Results(tmp_path / "r").runs.sort_values("run_id")
    copied, zero_copy = runs.to_dict("records")
    assert "send=copy" in copied["run_id"] and pd.isna(copied["zerocopy_copied_B"])
    assert zero_copy["zerocopy_copied_B"] == zero_copy["sent_B"] > 0
