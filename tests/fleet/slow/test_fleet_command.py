"""``netlab fleet`` plans without a host, refuses what it cannot use, and shows the state."""

from __future__ import annotations

import re
import sys

import pandas as pd
import pytest
import synthetic
from click.testing import CliRunner
from fleet.fleet_effects import fleet_runs
from fleet.fleet_study import TEMPLATE

from netlab.cli import main
from netlab.errors import NetlabError
from netlab.fleet import controller
from netlab.fleet.controller import FleetOptions, controlling, run_fleet
from netlab.fleet.plan import read_plan
from netlab.fleet.status import fleet_status
from netlab.study import load

INVENTORY = "[rack1]\nn[1:4]\n[rack2]\nn[5:6]\n"


@pytest.fixture
def invoke(tmp_path):
    (tmp_path / "study.yml").write_text(TEMPLATE)
    (tmp_path / "hosts").write_text(INVENTORY)

    def run(command: str, *words: str):
        results = str(tmp_path / "results")
        place = [results]
        if command in ("plan", "run"):
            inventory = ("--inventory", str(tmp_path / "hosts"))
            place = [str(tmp_path / "study.yml"), *inventory, "--results", results]
        return CliRunner().invoke(main, ["fleet", command, *place, *words])

    return run


def test_a_plan_says_what_it_takes_and_writes_the_workflow(invoke, tmp_path):
    done = invoke("plan")
    assert done.exit_code == 0, done.output
    assert done.stdout == f"{tmp_path / 'results' / 'fleet'}\n"
    assert "6 pairs of 6 hosts in 2 rounds" in done.stderr
    assert "24 jobs of 48 runs, 24 jobs left; at least 2 min" in done.stderr
    plan = read_plan(tmp_path / "results")
    assert {path.name for path in plan.folder.iterdir()} >= {"Snakefile", "workflow.json"}


def test_the_time_of_a_plan_grows_with_pairs_that_wait_for_others(invoke, tmp_path):
    """40 hosts make 20 pairs of a round, of which 8 are measured at a time."""
    (tmp_path / "hosts").write_text("[all]\nn[1:40]\n")
    done = invoke("plan")
    assert "40 pairs of 40 hosts in 2 rounds" in done.stderr and "at least 4 min" in done.stderr


def test_groups_and_rules_choose_the_pairs(invoke, tmp_path):
    done = invoke("plan", "--only", "rack1", "--pairs", "all", "--rounds", "1")
    assert "6 pairs of 4 hosts in 3 rounds" in done.stderr
    assert set(read_plan(tmp_path / "results").hosts) == {"n1", "n2", "n3", "n4"}


@pytest.mark.parametrize(
    ("words", "code", "status"),
    [
        (("--pairs", "square"), "E-FLEET-020", 2),
        (("--only", "rack3"), "E-FLEET-004", 2),
        (("--format", "netlab"), "E-YAML-007", 2),
        (("--precision", "5", "--budget", "5min"), "E-FLEET-026", 2),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_code(invoke, words, code, status):
    done = invoke("plan", *words)
    assert (done.exit_code, done.stdout) == (status, "")
    assert f"[{code}]" in done.stderr


def test_a_run_without_snakemake_ends_before_a_file_is_written(invoke, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "snakemake", None)
    done = invoke("run")
    assert done.exit_code == 1 and "[E-FLEET-032]" in done.stderr
    assert not (tmp_path / "results").exists()


def test_a_plan_is_not_replaced_while_a_controller_runs_it(invoke, tmp_path):
    assert invoke("plan").exit_code == 0
    before = (tmp_path / "results" / "fleet" / "plan.json").read_text()
    with controlling(tmp_path / "results"):
        done = invoke("plan", "--rounds", "1")
    assert done.exit_code == 1 and "[E-FLEET-033]" in done.stderr
    assert (tmp_path / "results" / "fleet" / "plan.json").read_text() == before


def test_a_run_shows_its_progress_until_the_workflow_ends(invoke, tmp_path, monkeypatch):
    invoke("plan")
    plan, shown = read_plan(tmp_path / "results"), []
    monkeypatch.setattr(controller, "WATCH_S", 0.05)
    monkeypatch.setattr(controller, "require_engine", lambda: None)
    argv = ["sh", "-c", "sleep 0.3; exit 1"]
    monkeypatch.setattr(controller, "engine_argv", lambda folder: argv)
    with pytest.raises(NetlabError, match="exit code 1"):
        run_fleet(plan, FleetOptions(), watch=lambda: shown.append(fleet_status(plan).sentence))
    assert len(shown) >= 2 and set(shown) == {"0 of 24 jobs done"}


def test_the_status_lists_every_host_in_a_terminal_and_a_notebook(invoke, tmp_path):
    invoke("plan")
    done, plan = invoke("status"), read_plan(tmp_path / "results")
    assert done.exit_code == 0, done.output
    shown = fleet_status(plan)._repr_html_()
    assert "0 of 24 jobs done, no controller runs" in done.stdout and "last failure" in shown
    assert "0 of 24 jobs done, no controller runs" in shown
    assert all(host in done.stdout and f">{host}</th>" in shown for host in plan.hosts)
    nowhere = CliRunner().invoke(main, ["fleet", "status", str(tmp_path / "nowhere")])
    assert nowhere.exit_code == 1 and "[E-FLEET-028]" in nowhere.stderr


def test_hosts_whose_links_all_differ_are_named_below_the_links(invoke, monkeypatch):
    invoke("plan")
    monkeypatch.setattr("netlab.fleet.view.fleet_runs", lambda plan: fleet_runs(8, 3))
    done = invoke("links", "--most", "1")
    assert done.exit_code == 0, done.output
    _, slowest, *hosts = done.stdout.splitlines()
    assert slowest.endswith("h05 -> h06") or slowest.endswith("h06 -> h05")
    assert len(hosts) == 2 and all(line.startswith("host h03 ") for line in hosts)
    assert all(re.search(r"at (69|70)\.\d % of the others \(7 links, p ", line) for line in hosts)


def test_links_of_a_fleet_without_a_run_are_an_error(invoke):
    invoke("plan")
    done = invoke("links")
    assert done.exit_code == 1 and "[E-FLEET-037]" in done.stderr


def test_the_slowest_links_come_first_and_are_written_to_files(invoke, tmp_path, monkeypatch):
    invoke("plan")
    rows = [("n1", "n2", 50.0), ("n2", "n1", 100.0), ("n2", "n3", 100.0), ("n3", "n2", 110.0)]
    runs = pd.DataFrame(rows, columns=["sender", "receiver", "goodput_MBps"])
    runs = runs.assign(run_id="cable@as-found@found@only@1@1", flags="")
    monkeypatch.setattr("netlab.fleet.view.fleet_runs", lambda plan: runs)
    files = (tmp_path / "cells.csv", tmp_path / "matrix.svg")
    done = invoke("links", "--csv", str(files[0]), "--chart", str(files[1]), "--most", "2")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines() == [
        "   goodput  link (% of the median of all links)",
        "    50.0 %  n1 -> n2 *",
        "   100.0 %  n2 -> n1",
    ]
    assert len(pd.read_csv(files[0])) == 4 and files[1].read_text().startswith("<svg ")


def test_cells_of_many_stores_are_shown_and_compared(tmp_path):
    study = tmp_path / "two-racks.yml"
    study.write_text(synthetic.FOREIGN.replace("[1, 64]", "[1, 4]"), encoding="utf-8")
    synthetic.store_of(tmp_path / "results" / "a~b", load(study, rounds=3))
    results = str(tmp_path / "results")

    def run(*words: str):
        done = CliRunner().invoke(main, ["fleet", *words])
        assert done.exit_code == 0, done.output
        return done

    csv = tmp_path / "cells.csv"
    cells = run("cells", results, "--study", "two-racks", "--csv", str(csv))
    assert "low_MBps" in cells.stdout
    assert len(csv.read_text().splitlines()) == 3
    assert "median_MBps" in run("cells", results, "--samples").stdout
    compared = run("compare", results, "--by", "streams", "--of", "1", "4", "--most", "1")
    assert "1  the same" in compared.stdout
    empty = tmp_path / "empty"
    empty.mkdir()
    done = CliRunner().invoke(main, ["fleet", "cells", str(empty)])
    assert done.exit_code == 2 and "[E-FLEET-042]" in done.stderr
