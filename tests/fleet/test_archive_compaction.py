"""Compaction of stores into an archive: every record once, whatever is killed or changes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import measured_store
import pandas as pd
import pytest
import synthetic

from netlab import study as studies
from netlab.errors import BadInput, NetlabError
from netlab.files import lock
from netlab.fleet.archive import compaction, manifest
from netlab.fleet.archive.archive import Archive
from netlab.fleet.archive.compaction import compact, stores_below
from netlab.results import Damaged, Store, campaigns

KILLED_AT = """
import os, signal, sys
from pathlib import Path
from netlab.fleet.archive.compaction import compact, stores_below

archive, results, event, left = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
stores = stores_below(results)

def hook(name, arguments):
    global left
    if name == event:
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(hook)
compact(archive, stores, part_runs=1)
"""
"""Compaction that is killed at the n-th event of the interpreter, such as a rename."""


@pytest.fixture
def results(tmp_path):
    """Three stores of a study of two cells, in two rounds."""
    path = synthetic.foreign_file(tmp_path)
    path.write_text(synthetic.FOREIGN.replace("[1, 64]", "[1, 2]"), encoding="utf-8")
    study = studies.load(path, rounds=2)
    for name in "abc":
        store = Store(tmp_path / "results" / name)
        for number, part in synthetic.runs_of(study, seed=ord(name)).groupby("round"):
            store.write(f"visit-{number}", part, synthetic.intervals_of(part, study))
    return tmp_path / "results"


def standing(archive: Path) -> pd.DataFrame:
    with Archive(archive).query() as connection:
        return connection.execute("SELECT * FROM standing_runs ORDER BY record").df()


def rows(archive: Path, table: str) -> pd.DataFrame:
    found = Archive(archive)
    with found.query() as connection:
        files = [str(path) for path in found.files(table)]
        return connection.execute("SELECT * FROM read_parquet($1) ORDER BY ALL", [files]).df()


def assert_each_record_once(archive: Path, stores: list[Store]) -> None:
    runs, samples = rows(archive, "runs"), rows(archive, "intervals")
    measured = [store.records().assign(source=str(store.directory)) for store in stores]
    expected = pd.concat(measured, ignore_index=True)
    order = ["source", "part", "run_id"]
    one, other = (each.sort_values(order, ignore_index=True) for each in (runs, expected))
    assert (
        one[[*order, "goodput_MBps"]]
        .astype(object)
        .equals(other[[*order, "goodput_MBps"]].astype(object))
    )
    moved = samples.merge(runs[["record", *order]], on="record", validate="many_to_one")
    found = moved.groupby(order)["bytes"].agg(["count", "sum"])
    kept = pd.concat([_sums(store) for store in stores]).sort_index()
    assert found.astype(int).to_dict("index") == kept.astype(int).to_dict("index")


def _sums(store: Store) -> pd.DataFrame:
    frames = [
        store.part("intervals", part).assign(source=str(store.directory), part=part)
        for part in store.parts()
    ]
    return pd.concat(frames).groupby(["source", "part", "run_id"])["bytes"].agg(["count", "sum"])


def test_an_archive_has_every_record_and_a_second_compaction_adds_nothing(results, tmp_path):
    archive, stores = tmp_path / "archive", stores_below(results)
    assert len(stores) == 3
    done = compact(archive, stores)
    assert (done.runs, done.samples > 0) == (12, True)
    assert_each_record_once(archive, stores)
    before = {path: path.stat().st_mtime_ns for path in archive.rglob("*.parquet")}
    assert compact(archive, stores) == compaction.Compaction()
    assert {path: path.stat().st_mtime_ns for path in archive.rglob("*.parquet")} == before
    (part,) = (archive / "runs").glob("*/*.parquet")
    assert part.parent.name == "study=two-racks"


@pytest.mark.slow
@pytest.mark.parametrize("event", ["os.rename", "os.remove"])
def test_a_compaction_killed_at_any_moment_is_finished_by_the_next(results, tmp_path, event):
    """Renames are the moments at which a file becomes part of the archive, or a part goes."""
    archive, stores = tmp_path / "archive", stores_below(results)
    changed = tmp_path / "changed"
    for moment in range(40):
        command = [sys.executable, "-c", KILLED_AT, archive, results, event, str(moment)]
        ended = subprocess.run([str(each) for each in command], capture_output=True)
        if (archive / manifest.FILE).exists():
            sources = rows(archive, "runs")[["source", "part", "run_id"]]
            assert not sources.duplicated().any()
        if ended.returncode == 0:
            break
        assert ended.returncode == -9, ended.stderr.decode()
        if moment % 4 == 3:  # something to replace, so that parts are removed too
            for store in stores:
                _measure_again(store)
            changed.touch()
    else:
        raise AssertionError("not finished after 40 moments")
    compact(archive, stores)
    assert_each_record_once(archive, stores)
    assert manifest.read_manifest(archive).files(archive) == set(archive.rglob("*.parquet*"))
    assert not list(archive.rglob("*.partial"))


def _measure_again(store: Store) -> None:
    part = store.parts()[0]
    runs, samples = store.part("runs", part), store.part("intervals", part)
    store.write(part, runs.assign(goodput_MBps=runs["goodput_MBps"] * 1.5), samples)


def test_a_part_that_changed_replaces_what_the_archive_has(results, tmp_path):
    archive, stores = tmp_path / "archive", stores_below(results)
    compact(archive, stores)
    _measure_again(stores[1])
    done = compact(archive, stores)
    assert (done.replaced, done.runs) == (1, 2)
    assert_each_record_once(archive, stores)


def test_records_of_a_store_that_is_gone_stay(results, tmp_path):
    archive, stores = tmp_path / "archive", stores_below(results)
    compact(archive, stores)
    whole = rows(archive, "runs")
    for path in (results / "a").rglob("*.parquet"):
        path.unlink()
    assert compact(archive, stores).runs == 0
    pd.testing.assert_frame_equal(rows(archive, "runs"), whole)


def test_many_small_parts_become_few(results, tmp_path):
    archive, stores = tmp_path / "archive", stores_below(results)
    for store in stores:
        for _ in range(2):
            compact(archive, [store], part_runs=1)
    assert len(Archive(archive).manifest.parts) == 6
    for number in range(3):
        _measure_again(stores[number])
        compact(archive, stores)
    assert 1 <= len(Archive(archive).manifest.parts) <= compaction.SMALL_PARTS
    assert_each_record_once(archive, stores)


def test_the_latest_campaign_counts_with_what_it_adopted(tmp_path):
    directory = tmp_path / "results"
    first, second = "20260105T100000Z", "20260106T100000Z"
    study = studies.load(synthetic.foreign_file(tmp_path), rounds=2)
    measured_store.campaign_of(directory, study, first)
    store = Store(directory)
    parts = store.parts()
    adopted = {parts[0]: tuple(store.part("runs", parts[0])["run_id"])}
    log = campaigns.read_log(directory, first)
    campaigns.write_log(
        directory, campaigns.CampaignLog(**{**vars(log), "campaign": second, "adopted": adopted})
    )
    runs = store.part("runs", parts[0]).assign(campaign=second)
    samples = store.part("intervals", parts[0])
    name = campaigns.part_name(second, parts[0].partition("~")[2], ())
    store.write(name, runs.assign(started_at=runs["started_at"] + pd.Timedelta(days=1)), samples)
    compact(tmp_path / "archive", [store])
    found, expected = standing(tmp_path / "archive"), store.runs()
    assert sorted(zip(found["run_id"], found["campaign"], strict=True)) == sorted(
        zip(expected["run_id"], expected["campaign"], strict=True)
    )
    assert 0 < len(found) < len(store.records())


def test_a_damaged_part_is_set_aside_and_the_others_are_archived(results, tmp_path):
    stores = stores_below(results)
    file = results / "a" / "intervals" / "visit-1.parquet"
    file.write_bytes(file.read_bytes()[:200])
    with pytest.warns(Damaged):
        assert compact(tmp_path / "archive", stores).runs == 10
    assert_each_record_once(tmp_path / "archive", stores)


def test_a_directory_without_results_is_refused(tmp_path):
    with pytest.raises(BadInput) as caught:
        stores_below(tmp_path)
    assert caught.value.code == "E-FLEET-042"


def test_an_archive_is_not_a_store(results):
    compact(results / "archive", stores_below(results))
    assert len(stores_below(results)) == 3


def test_two_compactions_at_once_are_refused(results, tmp_path):
    archive = tmp_path / "archive"
    archive.mkdir()
    with open(archive / ".lock", "a+b") as file:
        assert lock.take(file.fileno()) is None
        with pytest.raises(NetlabError) as caught:
            compact(archive, stores_below(results))
    assert caught.value.code == "E-FLEET-043"


def test_a_part_of_two_studies_is_refused(results, tmp_path):
    store = stores_below(results)[0]
    runs = store.part("runs", "visit-1")
    runs["study"] = pd.Series(["one", "two"], dtype="string")
    store.write("visit-1", runs, store.part("intervals", "visit-1"))
    with pytest.raises(NetlabError) as caught:
        compact(tmp_path / "archive", [store])
    assert caught.value.code == "E-FLEET-044"


def test_an_archive_without_a_manifest_is_refused(tmp_path):
    with pytest.raises(NetlabError) as caught:
        Archive(tmp_path).cells()
    assert caught.value.code == "E-FLEET-049"


def test_a_damaged_file_of_an_archive_is_reported(results, tmp_path):
    archive = tmp_path / "archive"
    compact(archive, stores_below(results))
    (part,) = (archive / "runs").glob("*/*.parquet")
    os.truncate(part, 100)
    with pytest.raises(NetlabError, match="part-000001") as caught:
        Archive(archive).cells()
    assert caught.value.code == "E-FLEET-041"


def test_a_missing_duckdb_is_reported(results, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(NetlabError, match=r"pip install 'netlab\[fleet\]'") as caught:
        compact(tmp_path / "archive", stores_below(results))
    assert caught.value.code == "E-FLEET-040"
