"""Results survive the trip through a file exactly, or are refused; a file is never half written."""

from __future__ import annotations

import errno
import json
import os
import random
import subprocess

import pandas as pd
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import refused

from netlab.errors import NetlabError
from netlab.results import parquet
from netlab.results.columns import (
    INTERVAL_COLUMNS,
    RUN_COLUMNS,
    SCHEMA_VERSION,
    TABLES,
    TRACE_COLUMNS,
)
from netlab.results.frames import checked, frame_of
from netlab.results.parquet import read, write_atomically
from netlab.results.store import Store

EXAMPLES = {
    **{"int64": 3, "Int64": 2**53 + 1, "float64": 1.5, "string": "text"},
    **{"bool": True, "boolean": False},
    "datetime64[ns, UTC]": pd.Timestamp("2026-01-02T03:04:05.000000006", tz="UTC"),
}


def record(columns=RUN_COLUMNS, **values) -> dict:
    return {**{column.name: EXAMPLES[column.dtype] for column in columns}, **values}


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = {
    "int64": st.integers(-(2**63), 2**63 - 1),
    "Int64": st.integers(-(2**63), 2**63 - 1),
    "float64": st.floats(allow_nan=False, allow_infinity=False),
    "string": TEXT,
    "bool": st.booleans(),
    "boolean": st.booleans(),
    "datetime64[ns, UTC]": st.integers(0, 4 * 10**18).map(lambda ns: pd.Timestamp(ns, tz="UTC")),
}


def records(columns):
    """Any list of records that fit the columns, gaps where gaps may be."""
    fields = {
        column.name: st.none() | VALUES[column.dtype] if column.nullable else VALUES[column.dtype]
        for column in columns
    }
    return st.lists(st.fixed_dictionaries(fields), max_size=3)


@pytest.mark.parametrize("columns", TABLES.values(), ids=TABLES)
def test_any_records_come_back_exactly(columns, tmp_path_factory):
    path = tmp_path_factory.mktemp("trip") / "a.parquet"

    @settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
    @given(records(columns))
    def trip(rows):
        frame = frame_of(rows, columns)
        write_atomically(frame, path, columns)
        again = read(path, columns)
        pd.testing.assert_frame_equal(again, frame)
        for row, (_, back) in zip(rows, again.iterrows(), strict=True):
            for column in columns:
                value = row[column.name]
                assert pd.isna(back[column.name]) if value is None else back[column.name] == value

    trip()


@pytest.mark.parametrize("columns", TABLES.values(), ids=TABLES)
def test_the_file_says_its_version_and_every_columns_unit_and_meaning(columns, tmp_path):
    path = tmp_path / "a.parquet"
    write_atomically(frame_of([record(columns)], columns), path, columns)
    metadata = pyarrow.parquet.read_schema(path).metadata
    assert metadata[b"netlab.schema_version"] == str(SCHEMA_VERSION).encode()
    described = json.loads(metadata[b"netlab.columns"])
    assert list(described) == [column.name for column in columns]
    for column in columns:
        assert described[column.name] == {"unit": column.unit, "meaning": column.meaning}
        assert column.meaning


def test_metadata_are_in_a_file_once_and_pandas_reads_its_types(tmp_path):
    path = tmp_path / "a.parquet"
    frame = frame_of([record(sent_B=2**62 + 1), record(sent_B=None)])
    write_atomically(frame, path, RUN_COLUMNS)
    assert path.read_bytes().count(RUN_COLUMNS[0].meaning.encode()) == 1
    assert b"ARROW:schema" not in pyarrow.parquet.read_metadata(path).metadata
    pd.testing.assert_frame_equal(pd.read_parquet(path), frame)


def test_a_name_that_ends_in_a_unit_has_that_unit():
    endings = {"_B": "B", "_MBps": "MB/s", "_s": "s", "_us": "us", "_percent": "%", "_share": "1"}
    for column in RUN_COLUMNS + INTERVAL_COLUMNS:
        for ending, unit in endings.items():
            if column.name.endswith(ending) and not column.name.endswith("_per_s"):
                assert column.unit == unit, column.name


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("streams", 1.5),
        ("streams", "12"),
        ("streams", True),
        ("streams", None),
        ("streams", 2**63),
        ("sent_B", 1.5),
        ("sent_B", 2**64),
        ("sent_B", "1"),
        ("study", None),
        ("study", 5),
        ("study", b"x"),
        ("wall_s", None),
        ("wall_s", "1.5"),
        ("wall_s", True),
        ("wall_s", float("nan")),
        ("goodput_MBps", float("inf")),
        ("started_at", 5),
        ("started_at", pd.Timestamp("2026-01-01")),
        ("started_at", None),
    ],
)
def test_a_value_that_would_change_its_meaning_is_refused(key, value):
    with pytest.raises(NetlabError) as caught:
        frame_of([record(), record(**{key: value})])
    assert caught.value.code in ("E-RESULTS-002", "E-RESULTS-003", "E-RESULTS-004")
    assert repr(key) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_integer_beside_a_gap_loses_no_byte():
    frame = frame_of([record(sent_B=2**53 + 1), record(sent_B=float("nan"))])
    assert frame["sent_B"].tolist() == [2**53 + 1, pd.NA]


def test_unknown_and_missing_columns_and_another_order_are_refused_but_gaps_where_they_may_be():
    row = record()
    del row["rtt_us"]
    assert frame_of([row])["rtt_us"].isna().all()
    del row["run_id"]
    with refused(NetlabError, "E-RESULTS-003", match="'run_id'"):
        frame_of([row])
    with refused(NetlabError, "E-RESULTS-005", match="colour"):
        frame_of([{**record(), "colour": "red"}])
    with refused(NetlabError, "E-RESULTS-001", match="colour"):
        checked(frame_of([record()]).assign(colour="red"), RUN_COLUMNS)
    frame = frame_of([record()])
    for other in (frame.drop(columns="study"), frame[list(frame)[::-1]]):
        with refused(NetlabError, "E-RESULTS-001"):
            checked(other, RUN_COLUMNS)


def test_a_checked_frame_has_the_types_and_the_index_of_before():
    frame = frame_of([record(), record()])
    frame.index = [5, 3]
    again = checked(frame.astype(object), RUN_COLUMNS)
    assert list(again.index) == [5, 3]
    assert again.dtypes.astype(str).to_dict() == {c.name: c.dtype for c in RUN_COLUMNS}


@pytest.fixture
def stored(tmp_path):
    """Path of a stored runs table of two rows."""
    path = tmp_path / "a.parquet"
    write_atomically(frame_of([record(), record(sent_B=None)]), path, RUN_COLUMNS)
    return path


def rewrite(path, version: str, lacks=(), adds=()) -> None:
    """Write a file again as of a version, without some of its columns and with others."""
    table = pyarrow.parquet.read_table(path).drop_columns(list(lacks))
    for name in adds:
        table = table.append_column(name, [["x"] * table.num_rows])
    metadata = {**table.schema.metadata, b"netlab.schema_version": version.encode()}
    pyarrow.parquet.write_table(table.replace_schema_metadata(metadata), path)


def test_another_schema_version_and_a_parquet_file_of_something_else_are_refused(stored):
    rewrite(stored, "99")
    reason = "has schema version '99', this netlab reads 2 to "
    with refused(NetlabError, "E-RESULTS-008", match=reason):
        read(stored, RUN_COLUMNS)
    pd.DataFrame({"a": [1]}).to_parquet(stored)
    with refused(NetlabError, "E-RESULTS-008", match="schema version"):
        read(stored, RUN_COLUMNS)


@pytest.mark.parametrize(
    ("version", "later"),
    [
        ("2", ["pacing_MBps"]),
        ("4", ["foreign_traffic_percent", "throttle_events", "cpu_frequency_percent"]),
    ],
)
def test_a_file_of_an_older_version_is_read_with_the_columns_that_it_lacks_missing(
    stored, version, later
):
    rewrite(stored, version, lacks=later)
    frame = read(stored, RUN_COLUMNS)
    assert list(frame) == [column.name for column in RUN_COLUMNS]
    assert frame[later].isna().all(axis=None) and frame["sent_B"].notna().any()


@pytest.mark.parametrize("change", [{"lacks": ["run_id"]}, {"adds": ["extra"]}], ids=repr)
def test_a_file_of_version_2_with_other_columns_is_refused(stored, change):
    rewrite(stored, "2", **change)
    with refused(NetlabError, "E-RESULTS-009", match=r"a\.parquet cannot be read as results"):
        read(stored, RUN_COLUMNS)


@pytest.mark.parametrize(
    ("bound", "check"), [("MOST_VALUES", parquet.raw), ("MOST_TEXT_B", parquet.check_texts)]
)
def test_a_file_that_grows_when_it_is_read_is_refused_before(tmp_path, monkeypatch, bound, check):
    """300 million values are 2 MB of Parquet, and 2 GB of one text are 0.5 MB."""
    bomb = tmp_path / "bomb.parquet"
    texts = pyarrow.array(["x" * 10_000] * 11 + ["y"] * 200_000)
    pyarrow.parquet.write_table(pyarrow.table({"a": texts}), bomb)
    with monkeypatch.context() as patch, refused(NetlabError, "E-RESULTS-007", match="more than"):
        patch.setattr(parquet, bound, 100_000)
        check(bomb)
    parquet.check_texts(bomb)
    with refused(NetlabError, "E-RESULTS-008"):  # within the bounds, and no file of a store
        parquet.raw(bomb)


@pytest.mark.parametrize(
    "content", [b"", b"PAR1", b"text", b"PAR1" + bytes(100) + b"PAR1", 0.1, 0.5, 0.99]
)
def test_a_file_that_is_not_parquet_or_cut_short_is_refused(stored, content):
    if isinstance(content, float):
        content = stored.read_bytes()[: int(content * stored.stat().st_size)]
    stored.write_bytes(content)
    with refused(NetlabError, "E-RESULTS-007", match=r"a\.parquet cannot be read as results"):
        read(stored, RUN_COLUMNS)


def test_a_flipped_bit_is_noticed_or_harmless(stored):
    raw = stored.read_bytes()
    whole = read(stored, RUN_COLUMNS)
    generator = random.Random(2003)
    refused = 0
    for _ in range(30):
        damaged = bytearray(raw)
        damaged[generator.randrange(len(raw))] ^= 1 << generator.randrange(8)
        stored.write_bytes(damaged)
        try:
            pd.testing.assert_frame_equal(read(stored, RUN_COLUMNS), whole)
        except NetlabError as error:
            assert "\n" not in str(error)
            refused += 1
    assert refused > 2


def test_a_missing_or_unwritable_place_is_one_clear_message(tmp_path):
    (tmp_path / "file").write_text("")
    with refused(NetlabError, "E-RESULTS-006", match=r"cannot write .*: Not a directory"):
        write_atomically(frame_of([]), tmp_path / "file" / "runs" / "a.parquet", RUN_COLUMNS)
    with refused(NetlabError, "E-RESULTS-007", match="cannot be read as results"):
        read(tmp_path / "missing.parquet", RUN_COLUMNS)


def test_a_frame_that_does_not_fit_leaves_the_old_file(stored):
    before = stored.read_bytes()
    with refused(NetlabError, "E-RESULTS-001"):
        write_atomically(pd.DataFrame({"a": [1]}), stored, RUN_COLUMNS)
    assert stored.read_bytes() == before
    assert [path.name for path in stored.parent.iterdir()] == ["a.parquet"]


def test_only_a_dead_writers_temporary_files_are_removed(stored):
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    abandoned = stored.with_name(f".a.parquet.{gone.pid}.partial")
    live = stored.with_name(f".a.parquet.{os.getppid()}.partial")
    others = stored.with_name(f".b.parquet.{gone.pid}.partial")
    for path in (abandoned, live, others):
        path.write_bytes(b"half")
    write_atomically(frame_of([]), stored, RUN_COLUMNS)
    assert not abandoned.exists()
    assert live.exists()
    assert others.exists()


def test_a_reader_sees_the_old_file_until_the_new_one_is_complete(stored, monkeypatch):
    before = stored.read_bytes()

    def write_half(_table, sink):
        sink.write(before[: len(before) // 2])
        sink.flush()
        assert stored.read_bytes() == before
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(parquet, "_write_table", write_half)
    with refused(NetlabError, "E-RESULTS-006", match="cannot write .*: No space left on device"):
        write_atomically(frame_of([]), stored, RUN_COLUMNS)
    assert stored.read_bytes() == before
    assert [path.name for path in stored.parent.iterdir()] == ["a.parquet"]


def test_parts_of_before_with_arrows_own_schema_are_read_beside_others(tmp_path):
    before, now = (tmp_path / "runs" / f"{name}.parquet" for name in ("a", "b"))
    for path, sent_B in ((before, 2**62 + 1), (now, None)):
        write_atomically(frame_of([record(sent_B=sent_B)]), path, RUN_COLUMNS)
    table = pyarrow.parquet.read_table(before)
    texts = [pyarrow.large_string() if kind == "string" else kind for kind in table.schema.types]
    fields = zip(table.column_names, texts, strict=True)
    pyarrow.parquet.write_table(
        table.cast(pyarrow.schema(fields, metadata=table.schema.metadata)), before
    )
    expected = frame_of([record(sent_B=2**62 + 1), record(sent_B=None)])
    whole = parquet.frame_of_parts({path: parquet.raw(path) for path in (before, now)}, RUN_COLUMNS)
    pd.testing.assert_frame_equal(whole, expected)
    stored = Store(tmp_path).records(only=("flags", "sent_B"))
    assert list(stored["sent_B"].fillna(0)) == [2**62 + 1, 0]


def interval_frame(run_id: str) -> pd.DataFrame:
    return frame_of([record(INTERVAL_COLUMNS, run_id=run_id)], INTERVAL_COLUMNS)


@pytest.mark.filterwarnings("error")
def test_a_store_gives_back_its_blocks_in_planned_order(tmp_path):
    store = Store(tmp_path)
    for block_id, orders in (("p@none@1500", [3, 1]), ("p@full@9000", [0, 2])):
        rows = [
            record(block_id=block_id, run_id=f"{block_id}@{order}", order=order, table=None)
            for order in orders
        ]
        store.write(block_id, frame_of(rows), interval_frame(rows[0]["run_id"]))
    (tmp_path / "runs" / ".b.parquet.1.partial").write_bytes(b"half")
    assert store.runs()["order"].tolist() == [0, 1, 2, 3]
    assert store.part("runs", "p@none@1500")["order"].tolist() == [3, 1]
    assert set(store.intervals()["run_id"]) == {"p@none@1500@3", "p@full@9000@0"}
    assert store.part("intervals", "p@full@9000")["run_id"].tolist() == ["p@full@9000@0"]


def test_an_empty_store_gives_empty_frames_of_the_schemas_types(tmp_path):
    store = Store(tmp_path / "none")
    for frame, columns in (
        (store.runs(), RUN_COLUMNS),
        (store.intervals(), INTERVAL_COLUMNS),
        (store.part("runs", "b"), RUN_COLUMNS),
        (store.part("intervals", "b"), INTERVAL_COLUMNS),
    ):
        assert frame.empty
        assert frame.columns.tolist() == [column.name for column in columns]
        assert (frame.dtypes == frame_of([record(columns)], columns).dtypes).all()
    assert not (tmp_path / "none").exists()


@pytest.mark.filterwarnings("error")
def test_a_block_without_runs_does_not_change_the_types_of_the_others(tmp_path):
    store = Store(tmp_path)
    store.write("a", frame_of([]), frame_of([], INTERVAL_COLUMNS))
    store.write("b", frame_of([record(run_id="r")]), interval_frame("r"))
    pd.testing.assert_frame_equal(store.runs(), frame_of([record(run_id="r")]))
    pd.testing.assert_frame_equal(store.intervals(), interval_frame("r"))


def test_a_table_without_rows_has_no_file_and_reads_as_empty(tmp_path):
    store = Store(tmp_path)
    runs, intervals = frame_of([record()]), frame_of([record(INTERVAL_COLUMNS)], INTERVAL_COLUMNS)
    traces = frame_of([record(TRACE_COLUMNS)], TRACE_COLUMNS)
    store.write("a", runs, intervals, traces=traces.iloc[:0])
    store.write("b", runs, intervals, traces=traces)
    assert not (tmp_path / "traces" / "a.parquet").exists()
    assert store.part("traces", "a").empty
    pd.testing.assert_frame_equal(store.rows("traces"), traces)
    # rows that are measured again may be none
    store.write("b", runs, intervals, traces=traces.iloc[:0])
    assert store.rows("traces").empty
