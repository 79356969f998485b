"""Superseded records are listed, and removed only whole and only when they do not count."""

import pytest
from click.testing import CliRunner
from refusals import refused
from test_campaigns import FIRST, SECOND, add, begin, run

from netlab.cli.results import results_group
from netlab.errors import BadInput, NetlabError
from netlab.results import store as results_store
from netlab.results.store import IMPORTS, OLDER, Store, planned, prune, summaries, summary


@pytest.fixture
def store(tmp_path):
    """Parts of an older netlab, an import, and two campaigns; the second adopts one record."""
    store = Store(tmp_path)
    add(store, "p@a@1500", run("r", 0))
    add(store, "imported@ab", run("i", 0))
    begin(tmp_path, FIRST)
    add(store, f"{FIRST}~gone@r1", run("r", 1, FIRST), run("s", 2, FIRST, "stalled"))
    add(store, f"{FIRST}~mixed@r1", run("q", 3, FIRST), run("t", 4, FIRST))
    begin(tmp_path, SECOND, **{f"{FIRST}_mixed@r1": ("q",)})
    add(store, f"{SECOND}~b@r1", run("r", 9, SECOND), run("t", 10, SECOND))
    for part in (f"{FIRST}~gone@r1", f"{FIRST}~mixed@r1", f"{SECOND}~b@r1"):
        notebook = tmp_path / "notebooks" / f"{part}.ipynb"
        notebook.parent.mkdir(exist_ok=True)
        notebook.write_text("{}")
    return store


def test_every_campaign_is_listed_with_its_counting_records(store):
    found = {one.campaign: one for one in summaries(store.directory)}
    assert list(found) == [OLDER, IMPORTS, FIRST, SECOND]
    numbers = {name: (one.runs, one.valid, one.superseded) for name, one in found.items()}
    assert numbers == {OLDER: (1, 1, 1), IMPORTS: (1, 1, 0), FIRST: (4, 3, 3), SECOND: (2, 2, 0)}
    assert all(one.size_B > 0 for one in found.values())
    assert found[SECOND].study_digest == "digest" and found[SECOND].log is not None


def test_only_parts_without_a_record_that_counts_go(store):
    before, every = store.runs(), store.runs(superseded=True)
    samples = store.intervals()
    plan = planned(store.directory)
    assert plan.parts == (f"{FIRST}~gone@r1", "p@a@1500")
    assert (plan.records, plan.kept, plan.folders) == (3, 1, ())
    names = {str(file.relative_to(store.directory)) for file in plan.files}
    assert f"notebooks/{FIRST}~gone@r1.ipynb" in names
    assert not any(SECOND in name or "mixed" in name or "imported" in name for name in names)
    prune(plan)
    assert store.runs().equals(before) and store.intervals().equals(samples)
    assert len(store.runs(superseded=True)) == len(every) - 3
    assert results_store.ids(store.directory) == [FIRST, SECOND]
    assert planned(store.directory).files == ()


def test_a_campaign_without_records_is_removed_with_its_log(tmp_path):
    store = Store(tmp_path)
    begin(tmp_path, FIRST)
    add(store, f"{FIRST}~b@r1", run("r", 0, FIRST))
    begin(tmp_path, SECOND)
    add(store, f"{SECOND}~b@r1", run("r", 9, SECOND))
    prune(planned(tmp_path))
    assert (
        results_store.ids(tmp_path) == [SECOND]
        and not results_store.folder(tmp_path, FIRST).exists()
    )


def test_the_latest_campaign_stays_though_it_has_no_run_yet(tmp_path):
    store = Store(tmp_path)
    begin(tmp_path, FIRST)
    add(store, f"{FIRST}~b@r1", run("r", 0, FIRST))
    begin(tmp_path, SECOND)
    prune(planned(tmp_path))
    assert results_store.ids(tmp_path) == [SECOND]


def test_an_outdated_plan_removes_no_file(store):
    plan = planned(store.directory)
    add(store, f"{SECOND}~b@r2", run("i2", 20, SECOND))
    begin(store.directory, "20260303T030303Z")
    with refused(NetlabError, "E-RESULTS-022"):
        prune(plan)
    assert all(file.is_file() for file in plan.files)


def test_a_file_that_cannot_be_removed_is_named(store, monkeypatch):
    from pathlib import Path

    def refuse(self):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "unlink", refuse)
    with refused(NetlabError, "E-RESULTS-023", match="Permission denied"):
        prune(planned(store.directory))


def test_unknown_campaigns_and_empty_directories_are_refused(store, tmp_path_factory):
    with pytest.raises(BadInput) as caught:
        summary(store.directory, "20200101T000000Z")
    assert caught.value.code == "E-RESULTS-021" and FIRST in str(caught.value)
    for use in (summaries, planned):
        with refused(BadInput, "E-RESULTS-020"):
            use(tmp_path_factory.mktemp("empty"))


def command(*argv, typed=None):
    return CliRunner().invoke(results_group, argv, input=typed)


def test_the_commands_list_and_show(store):
    listed = command("list", str(store.directory))
    assert listed.exit_code == 0
    assert [line.split()[0] for line in listed.stdout.splitlines()] == [
        "campaign", OLDER, IMPORTS, FIRST, SECOND,
    ]  # fmt: skip
    shown = command("show", str(store.directory))
    assert f"campaign: {SECOND}" in shown.stdout and "adopted from earlier campaigns: 1" in (
        shown.stdout
    )
    assert f"campaign: {FIRST}" in command("show", str(store.directory), FIRST).stdout
    assert command("show", str(store.directory), "none").exit_code == 2
    missing = command("list", str(store.directory / "nowhere"))
    assert missing.exit_code == 2 and "E-CLI-021" in missing.stderr


def test_prune_lists_the_removals_and_asks(store):
    kept = len(store.runs(superseded=True))
    for typed in ("n\n", "", None):
        refused = command("prune", str(store.directory), typed=typed)
        assert f"runs/{FIRST}~gone@r1.parquet" in refused.stdout
        assert len(store.runs(superseded=True)) == kept
    assert "1 superseded records stay beside records that count" in refused.stdout
    assert command("prune", str(store.directory), typed="y\n").exit_code == 0
    assert len(store.runs(superseded=True)) == kept - 3
    again = command("prune", str(store.directory), "--yes")
    assert again.exit_code == 0 and "Nothing to remove" in again.stdout


def test_prune_with_yes_does_not_ask(store):
    done = command("prune", str(store.directory), "--yes")
    assert done.exit_code == 0 and "Remove them?" not in done.output
    assert planned(store.directory).files == ()
