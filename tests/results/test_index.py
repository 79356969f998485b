"""The index of parts saves reading them, and is never believed of a file in another state."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from netlab.results import campaign_files, index
from netlab.results import store as results_store
from netlab.results.campaign_list import summaries
from netlab.results.columns import INTERVAL_COLUMNS, RUN_COLUMNS
from netlab.results.frames import frame_of
from netlab.results.parquet import FEW_FILES, read, write_atomically
from netlab.results.store import Damaged, Store

PARTS = FEW_FILES + 4
CAMPAIGN = "20260102T030405Z"
NAMES = [f"{CAMPAIGN}~b@r{number:03}" for number in range(PARTS)]
BEGIN = pd.Timestamp("2026-01-02T03:04:05Z")
VALUES = {"int64": 0, "float64": 0.0, "string": "", "bool": False}


def run(number: int, **values: object) -> dict:
    row = {c.name: VALUES.get(c.dtype) for c in RUN_COLUMNS if not c.nullable}
    started = BEGIN + pd.Timedelta(seconds=number)
    return {**row, "run_id": f"r{number}", "started_at": started, "goodput_MBps": 1.0, **values}


def file_of(store: Store, part: str) -> Path:
    return store.directory / "runs" / f"{part}.parquet"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A store of more parts than are read without an index."""
    store = Store(tmp_path_factory.mktemp("written"))
    log = campaign_files.CampaignLog(CAMPAIGN, "key", "then", "s", "digest", "0.1.0")
    campaign_files.write_log(store.directory, log)
    for number, part in enumerate(NAMES):
        runs = frame_of([run(number), run(number + 100)])
        store.write(part, runs, frame_of([], INTERVAL_COLUMNS))
    return store


@pytest.fixture
def store(written, tmp_path, monkeypatch):
    """A copy of the store, and an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(index, "SETTLED_S", 0)
    return Store(shutil.copytree(written.directory, tmp_path / "store"))


@pytest.fixture
def read_parts(monkeypatch):
    """Names of the parts that are read from now on."""
    names, raw_files = [], results_store.raw_files

    def noted(files, columns=None):
        names.extend(path.stem for path in files)
        return raw_files(files, columns)

    monkeypatch.setattr(results_store, "raw_files", noted)
    return names


def entry(tmp_path: Path) -> Path:
    (file,) = (path for path in (tmp_path / "cache").rglob("*") if path.is_file())
    return file


def records_of(store: Store) -> pd.DataFrame:
    return store.records(only=index.COUNTING)


def whole(store: Store) -> pd.DataFrame:
    """Summary of the records from all columns of all files."""
    return store.records()[list(records_of(store))]


def test_a_second_list_reads_no_part_and_shows_the_same(store, read_parts):
    first, before = summaries(store.directory), records_of(store)
    assert set(read_parts) == set(NAMES)
    read_parts.clear()
    assert summaries(store.directory) == first
    assert_frame_equal(records_of(store), before)
    assert read_parts == []
    assert_frame_equal(before, whole(store))


def test_a_part_that_is_new_changed_or_gone_is_seen(store, read_parts):
    records_of(store)
    changed, replaced, gone = NAMES[1], NAMES[2], NAMES[3]
    for part, in_place in ((changed, True), (replaced, False)):
        file = file_of(store, part)
        before = file.stat()
        runs = read(file, RUN_COLUMNS).assign(goodput_MBps=2.0)
        other = file.with_name("other") if in_place else file
        write_atomically(runs, other, RUN_COLUMNS)
        if in_place:
            file.write_bytes(other.read_bytes())
            other.unlink()
            assert file.stat().st_ino == before.st_ino
        assert file.stat().st_size == before.st_size
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    file_of(store, gone).unlink()
    added = f"{CAMPAIGN}~b@r900"
    store.write(added, frame_of([run(900)]), frame_of([], INTERVAL_COLUMNS))
    read_parts.clear()
    found = records_of(store)
    assert sorted(read_parts) == sorted((changed, replaced, added))
    assert_frame_equal(found, whole(store))
    assert set(found.loc[found["goodput_MBps"] == 2.0, "part"]) == {changed, replaced}
    assert gone not in set(found["part"]) and added in set(found["part"])


def test_a_damaged_part_is_named_each_time(store):
    records_of(store)
    file_of(store, NAMES[0]).write_bytes(b"PAR1")
    for _ in range(2):
        with pytest.warns(Damaged, match=NAMES[0]):
            assert NAMES[0] not in set(records_of(store)["part"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store.repair()
        assert NAMES[0] not in set(records_of(store)["part"])


def test_copied_and_renamed_results_are_read(store, read_parts, tmp_path):
    records_of(store)
    copy = Store(shutil.copytree(store.directory, tmp_path / "copy"))
    shutil.copytree(store.directory / "runs", tmp_path / "kept", copy_function=shutil.copy2)
    read_parts.clear()
    assert_frame_equal(records_of(copy), whole(copy))
    assert set(read_parts) == set(NAMES)
    # other files at the place of those that were indexed, of the same names, sizes and times
    shutil.rmtree(store.directory / "runs")
    (tmp_path / "kept").rename(store.directory / "runs")
    read_parts.clear()
    records_of(store)
    assert set(read_parts) == set(NAMES)


@pytest.mark.parametrize("damage", ["cut", "altered", "empty", "a FIFO", "of another version"])
def test_a_damaged_index_is_as_none(store, read_parts, tmp_path, damage):
    before = records_of(store)
    file = entry(tmp_path)
    content = file.read_bytes()
    if damage == "a FIFO":
        file.unlink()
        os.mkfifo(file)
    else:
        middle = len(content) // 2
        file.write_bytes(
            {
                "cut": content[:middle],
                "altered": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
                "empty": b"",
                "of another version": b"\0" * 32 + content[32:],
            }[damage]
        )
    read_parts.clear()
    assert_frame_equal(records_of(store), before)
    assert set(read_parts) == set(NAMES)
    read_parts.clear()
    assert_frame_equal(records_of(store), before)
    assert read_parts == []


def test_an_entry_that_is_whole_and_lies_about_its_rows_is_as_none(store, tmp_path):
    before = records_of(store)
    stored = index.load(store.directory)
    counts = dict(stored.counts) | {NAMES[0]: 1}
    index.save(store.directory, index.PartIndex(stored.frame, stored.states, counts))
    assert index.load(store.directory) is index.NO_PARTS
    assert_frame_equal(records_of(store), before)


@pytest.mark.parametrize("cache", ["a file", "writable by others"])
def test_without_a_cache_of_ones_own_results_are_read(store, read_parts, tmp_path, cache):
    before = records_of(store)
    shutil.rmtree(tmp_path / "cache")
    if cache == "a file":
        (tmp_path / "cache").write_text("")
    else:
        (tmp_path / "cache" / index.FOLDER).mkdir(parents=True)
        (tmp_path / "cache" / index.FOLDER).chmod(0o777)
    for _ in range(2):
        read_parts.clear()
        assert_frame_equal(records_of(store), before)
        assert set(read_parts) == set(NAMES)


def test_a_part_written_just_now_is_read_again(store, read_parts, monkeypatch):
    monkeypatch.setattr(index, "SETTLED_S", 3600)
    for _ in range(2):
        read_parts.clear()
        records_of(store)
        assert set(read_parts) == set(NAMES)


def test_records_of_one_block_leave_the_index_of_others(store, read_parts):
    for part in NAMES:
        shutil.copy(file_of(store, part), file_of(store, part.replace("~b@", "~other@")))
    store.records("b", only=index.COUNTING)
    store.records("other", only=index.COUNTING)
    read_parts.clear()
    assert len(records_of(store)) == 4 * PARTS
    assert read_parts == []


LIST = """
import sys
from pathlib import Path
from netlab.results.campaign_list import summaries
for _ in range(5):
    (line,) = summaries(Path(sys.argv[1]))
    print(line.runs, line.valid, line.superseded)
"""


def test_commands_at_once_and_a_campaign_beside_them_agree(store, tmp_path):
    """While parts are added, each command sees as many runs as were there before or more."""
    time.sleep(2.1)  # in a process of its own, a part is indexed once it has settled
    argv = [sys.executable, "-c", LIST, str(store.directory)]
    together = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for number in range(900, 910):
        part = f"{CAMPAIGN}~b@r{number}"
        store.write(part, frame_of([run(number)]), frame_of([], INTERVAL_COLUMNS))
    for one in together:
        text, _ = one.communicate(timeout=120)
        runs = [tuple(map(int, line.split())) for line in text.splitlines()]
        assert one.returncode == 0 and len(runs) == 5
        assert runs == sorted(runs)
        assert runs[0][0] >= 2 * PARTS and runs[-1][0] <= 2 * PARTS + 10
    assert entry(tmp_path).stat().st_size > 0
    assert_frame_equal(records_of(store), whole(store))
