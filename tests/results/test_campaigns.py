"""Records are never changed: a later campaign supersedes or adopts them."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from refusals import refused

from netlab.cli.results import results_group
from netlab.errors import BadInput, NetlabError
from netlab.results import campaign_files
from netlab.results.campaign_files import CampaignLog
from netlab.results.campaign_list import planned, prune, summaries, summary
from netlab.results.columns import INTERVAL_COLUMNS, RUN_COLUMNS
from netlab.results.frames import frame_of
from netlab.results.store import IMPORTS, OLDER, Damaged, Store

VALUES = {"int64": 0, "Int64": 0, "float64": 0.0, "string": "", "bool": False, "boolean": False}
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def run(run_id: str, at_s: int, campaign: str = "", flags: str = "") -> dict:
    row = {c.name: VALUES.get(c.dtype) for c in RUN_COLUMNS if not c.nullable}
    started = pd.Timestamp(NOW) + pd.Timedelta(seconds=at_s)
    return {
        **row,
        "run_id": run_id,
        "started_at": started,
        "flags": flags,
        "campaign": campaign or None,
    }


def add(store: Store, part: str, *rows: dict) -> None:
    samples = [
        {c.name: VALUES[c.dtype] for c in INTERVAL_COLUMNS} | {"run_id": row["run_id"], "bytes": n}
        for n, row in enumerate(rows)
    ]
    store.write(part, frame_of(list(rows)), frame_of(samples, INTERVAL_COLUMNS))


def begin(directory, campaign: str, **adopted: tuple[str, ...]) -> None:
    given = {part.replace("_", "~"): runs for part, runs in adopted.items()}
    log = CampaignLog(campaign, "key", "then", "s", "digest", "0.1.0", adopted=given)
    campaign_files.write_log(directory, log)


FIRST, SECOND = "20260102T030405Z", "20260102T030406Z"


def test_without_a_campaign_the_last_record_of_a_run_counts(tmp_path):
    store = Store(tmp_path)
    add(store, "p@a@1500", run("r", 0), run("q", 1))
    add(store, "p@b@1500", run("r", 5))
    assert store.runs()["run_id"].tolist() == ["q", "r"]
    assert store.runs()["started_at"].max() == pd.Timestamp(NOW) + pd.Timedelta(seconds=5)
    assert len(store.runs(superseded=True)) == 3


def test_a_run_measured_again_counts_though_the_clock_was_set_back(tmp_path):
    store = Store(tmp_path)
    begin(tmp_path, FIRST)
    add(store, f"{FIRST}~b@r1", run("r", 3600, FIRST, flags="interference"))
    add(store, f"{FIRST}~b@r1~2", run("r", 7, FIRST, flags="interference"))
    for number in range(3, 11):
        add(store, f"{FIRST}~b@r1~{number}", run("q", 0, FIRST))
    add(store, f"{FIRST}~b@r1~11", run("r", 0, FIRST))
    assert (store.runs()["flags"] == "").all()
    records = store.records()
    counting = records.loc[~records["superseded"], "part"]
    assert set(counting) == {f"{FIRST}~b@r1~{number}" for number in (10, 11)}


def test_a_later_campaign_supersedes_without_deleting(tmp_path):
    store = Store(tmp_path)
    begin(tmp_path, FIRST)
    add(store, f"{FIRST}~b@r1", run("r", 0, FIRST), run("q", 1, FIRST))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")}
    begin(tmp_path, SECOND)
    add(store, f"{SECOND}~b@r1", run("r", 9, SECOND))
    assert store.runs()["campaign"].tolist() == [SECOND]
    every = store.runs(superseded=True)
    assert every["run_id"].tolist() == ["r", "q", "r"]
    assert every["superseded"].tolist() == [True, True, False]
    assert all(path.read_bytes() == content for path, content in before.items())


def test_an_adopted_record_counts_with_its_samples(tmp_path):
    store = Store(tmp_path)
    begin(tmp_path, FIRST)
    add(store, f"{FIRST}~b@r1", run("r", 0, FIRST), run("q", 1, FIRST))
    begin(tmp_path, SECOND, **{f"{FIRST}_b@r1": ("q",)})
    add(store, f"{SECOND}~b@r1", run("r", 9, SECOND))
    assert sorted(zip(store.runs()["run_id"], store.runs()["campaign"], strict=True)) == [
        ("q", FIRST),
        ("r", SECOND),
    ]
    samples = store.intervals().set_index("run_id")["bytes"]
    assert samples.to_dict() == {"q": 1, "r": 0}


def test_a_block_is_read_from_its_own_parts(tmp_path):
    store = Store(tmp_path)
    begin(tmp_path, FIRST)
    add(store, f"{FIRST}~p@a@1500@r1", run("r", 0, FIRST))
    add(store, f"{FIRST}~p@a@15000@r1", run("other", 0, FIRST))
    add(store, f"{FIRST}~p@a@1500@r2", run("q", 0, FIRST))
    runs, intervals = store.block("p@a@1500")
    assert set(runs["run_id"]) == set(intervals["run_id"]) == {"r", "q"}


def test_ids_ascend_though_the_clock_is_set_back_and_eleven_are_of_one_second(tmp_path):
    found = []
    for minutes in (0, 0, -60, 1):
        found.append(campaign_files.new_id(tmp_path, NOW + timedelta(minutes=minutes)))
        begin(tmp_path, found[-1])
    assert found == [
        "20260102T030405Z",
        "20260102T030405Z-1",
        "20260102T030405Z-2",
        "20260102T030505Z",
    ]
    assert campaign_files.ids(tmp_path) == found and campaign_files.latest(tmp_path) == found[-1]
    for _ in range(8):
        begin(tmp_path, campaign_files.new_id(tmp_path, NOW + timedelta(minutes=1)))
    assert campaign_files.latest(tmp_path) == f"{found[-1]}-8"
    for _ in range(3):
        begin(tmp_path, campaign_files.new_id(tmp_path, NOW))
    assert campaign_files.latest(tmp_path) == f"{found[-1]}-11"


@pytest.mark.parametrize("field", ['"key": 3', '"adopted": {"p": [{}]}', '"looks": [1]', "]"])
def test_a_damaged_log_is_named(tmp_path, field):
    begin(tmp_path, FIRST)
    path = campaign_files.folder(tmp_path, FIRST) / "campaign.json"
    path.write_text(path.read_text().removesuffix("}\n") + f",{field}}}")
    with pytest.raises(NetlabError) as caught:
        campaign_files.read_log(tmp_path, FIRST)
    assert caught.value.code == "E-RESULTS-011" and str(path) in str(caught.value)


def test_a_damaged_file_is_left_out_and_stays_until_a_repair(tmp_path):
    store = Store(tmp_path)
    for part, run_id in (("a", "r"), ("b", "q")):
        add(store, part, run(run_id, 0))
    damaged = [tmp_path / "runs" / "a.parquet", tmp_path / "intervals" / "b.parquet"]
    for path in damaged:
        path.write_bytes(path.read_bytes()[:200])
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")}
    with pytest.warns(Damaged, match=r"runs/a\.parquet.*netlab results repair"):
        assert store.runs()["run_id"].tolist() == ["q"], "a run stands without its samples"
    with pytest.warns(Damaged, match=r"intervals/b\.parquet"):
        assert store.intervals().empty
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")} == before
    moved = store.repair()
    assert sorted(moved) == sorted(damaged)
    assert {aside.read_bytes() for aside in moved.values()} == {before[p] for p in damaged}
    assert store.repair() == {} and store.runs()["run_id"].tolist() == ["q"]
    add(store, "a", run("r", 5))
    assert sorted(store.runs()["run_id"]) == ["q", "r"]


READ_UNDER_A_LIMIT = """
import resource, sys
from pathlib import Path
import pyarrow.parquet
from netlab.results.parquet import DamagedFile, raw
path, limit = Path(sys.argv[1]), sys.argv[2]
if limit == "memory":
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize(),) * 2)
else:
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
try:
    raw(path)
except BaseException as error:
    words = type(error).__name__
else:
    words = "read"
sys.stdout.write(words)
"""


@pytest.mark.parametrize(("limit", "error"), [("memory", "MemoryError"), ("files", "OSError")])
def test_a_reader_that_lacks_memory_or_open_files_takes_no_file_for_damaged(tmp_path, limit, error):
    """A damaged one would be left out of the results, and moved away by a repair."""
    add(Store(tmp_path), "a", *(run(f"r{number}", number) for number in range(500)))
    argv = [sys.executable, "-c", READ_UNDER_A_LIMIT, tmp_path / "runs" / "a.parquet", limit]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120)
    # the C++ library may end a process that has no memory at all
    assert error in done.stdout or (limit == "memory" and "bad_alloc" in done.stderr), done


def test_a_second_damaged_file_does_not_replace_the_first(tmp_path):
    store = Store(tmp_path)
    for content in (b"one", b"two"):
        add(store, "a", run("r", 0))
        (tmp_path / "runs" / "a.parquet").write_bytes(content)
        store.repair()
    kept = sorted((tmp_path / "runs").iterdir())
    assert [path.read_bytes() for path in kept] == [b"one", b"two"]


def test_a_file_of_a_later_schema_is_refused_and_stays(tmp_path, monkeypatch):
    store = Store(tmp_path)
    with monkeypatch.context() as later:
        later.setattr("netlab.results.parquet.SCHEMA_VERSION", 99)
        add(store, "a", run("r", 0))
    with pytest.raises(NetlabError) as caught:
        store.runs()
    assert caught.value.code == "E-RESULTS-008" and store.parts() == ["a"]


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
    assert campaign_files.ids(store.directory) == [FIRST, SECOND]
    assert planned(store.directory).files == ()


def test_the_latest_campaign_stays_though_it_has_no_run_yet(tmp_path):
    store = Store(tmp_path)
    begin(tmp_path, FIRST)
    add(store, f"{FIRST}~b@r1", run("r", 0, FIRST))
    begin(tmp_path, SECOND)
    prune(planned(tmp_path))
    assert campaign_files.ids(tmp_path) == [SECOND]
    assert not campaign_files.folder(tmp_path, FIRST).exists(), "its log goes with its records"


def test_an_outdated_plan_removes_no_file(store):
    plan = planned(store.directory)
    add(store, f"{SECOND}~b@r2", run("i2", 20, SECOND))
    begin(store.directory, "20260303T030303Z")
    with refused(NetlabError, "E-RESULTS-022"):
        prune(plan)
    assert all(file.is_file() for file in plan.files)


def test_a_file_that_cannot_be_removed_is_named(store, monkeypatch):
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


def test_flags_of_imported_runs_and_of_those_without_a_campaign_are_shown(store):
    add(store, "imported@cd", run("k", 20, flags="sender_only"))
    add(store, "p@b@1500", run("l", 21, flags="failed"))
    assert "flags: sender_only 1;" in command("show", str(store.directory), IMPORTS).stdout
    assert "flags: failed 1;" in command("show", str(store.directory), OLDER).stdout


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
    assert "flags:" not in shown.stdout
    first = command("show", str(store.directory), FIRST).stdout
    assert f"campaign: {FIRST}" in first
    assert "flags: stalled 1; netlab guide flags says what to do about each" in first
    assert command("show", str(store.directory), "none").exit_code == 2
    missing = command("list", str(store.directory / "nowhere"))
    assert missing.exit_code == 2 and "E-CLI-021" in missing.stderr


@pytest.mark.parametrize(
    ("name", "exit_code"),
    [
        (f"runs/{SECOND}~x@r1.parquet", 0),
        (f"intervals/{SECOND}~b@r1.parquet", 0),
        (f"notebooks/{SECOND}~b@r1.ipynb", 0),
        (f"campaigns/{SECOND}/campaign.json", 1),
        (f"campaigns/{SECOND}/conditions.json", 1),
    ],
)
def test_a_fifo_in_results_blocks_no_command(store, name, exit_code):
    """In processes of their own: one that hangs in open() ends no other way."""
    fifo = store.directory / name
    fifo.parent.mkdir(exist_ok=True)
    fifo.unlink(missing_ok=True)
    os.mkfifo(fifo)
    for words in (("list",), ("show",), ("prune", "--yes"), ("repair",)):
        argv = [sys.executable, "-m", "netlab", "results", *words, str(store.directory)]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
        assert done.returncode in (0, exit_code) and "Traceback" not in done.stderr, done.stderr
        if done.returncode:
            assert fifo.name in done.stderr


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
