"""A search on a real lab path: its verdict, its budget, its files, its clean-up."""

import json
import time

import pytest
from e2e.lab_search import BUDGET_S, search
from lab_study import lab_study

from netlab.errors import NetlabError
from netlab.lab.lab import Lab
from netlab.search.autotune.request import SearchRequest
from netlab.search.autotune.run import SLACK_S, autotune


def test_the_cost_is_searched_under_a_tuning_that_is_reverted(tmp_path, machine_untouched):
    levels = ("--record-length", "65536", "--buffer", "262144", "--streams", "1")
    how = ("--for", "cpu", "--engines", "all", "--tuning", "openlab-2003-normal", "--mtu", "9000")
    done, wall_s = search(tmp_path, *how, *levels)
    assert wall_s <= BUDGET_S + SLACK_S
    assert done.returncode in (0, 1), done.stderr  # 1: too few rounds for a conclusion
    document = json.loads((tmp_path / "best.json").read_text())
    assert document["mtu_B"] == 9000 and document["asked"]["tuning"] == "openlab-2003-normal"
    words = ("engine", "send", "receive")
    assert len({tuple(sample.get(word) for word in words) for sample in document["samples"]}) > 1
    measured = [sample["cpu_s_per_GB"] for sample in document["samples"] if sample["counted"]]
    assert measured and all(0 < cost < 100 for cost in measured)
    assert (done.returncode == 1) == ("no conclusion" in document["verdict"])


def test_a_search_during_which_a_setting_changes_has_no_result():
    """Another program gives the receiver other buffers while candidates race."""
    study = lab_study(name="changed")
    buffers = "net.ipv4.tcp_rmem=4096 65536 65536"
    with Lab.up(study) as lab, lab.host("b") as receiver:

        def say(line: str) -> None:
            if line.startswith("current settings"):
                receiver.run(("sysctl", "-w", buffers))

        ask = SearchRequest(study=study, path="a-b", seconds=15, noisy=True, given={"streams": [1]})
        with pytest.raises(NetlabError, match="settings changed during the search") as caught:
            autotune(ask, began_s=time.monotonic(), say=say)
    assert "b: net.ipv4.tcp_rmem was " in str(caught.value)
    assert "is 4096 65536 65536" in str(caught.value)
