"""Gigabit hosts before and after tuning, and their limits."""

import pandas as pd

from netlab.openlab.published import gigabit_layout


def test_before_and_after_have_their_ratio():
    frame = gigabit_layout.tuning_table().frame
    assert list(frame["Times"].round(2)) == [2.45, 3.89]
    assert frame.loc[0, "Sender window, KiB"] == "27.5 → 192"
    assert pd.isna(frame.loc[1, "Sender window, KiB"])


def test_no_tuned_host_is_above_its_link():
    limits = gigabit_layout.ceilings().set_index("name")["ceiling_Mbps"]
    after = gigabit_layout.tuning_table().frame["After, Mb/s"]
    assert after[0] < limits["TCP on the link, MTU 9000"]
    assert after[1] < limits["TCP on the link, MTU 1500"]
    assert limits["PCI 32 bit, 33 MHz, in practice"] == 640


def test_ceilings_are_shown_in_both_units_and_pcie_generations_grow():
    frame = gigabit_layout.ceilings_table().frame
    assert (frame["Mb/s"] == 8 * frame["MB/s"]).all()
    frame = gigabit_layout.pcie_table(lanes=4, payload_B=128).frame
    assert len(frame) == 6 and frame["After the code, MB/s"].is_monotonic_increasing
