"""A bundle of results and report: its content, its bytes, and what verify finds in it."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile

import measured_store
import nbformat
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import synthetic
from bundle.forged import sealed
from calibrated_samples import store_calibration
from click.testing import CliRunner
from refusals import refused

from netlab.bundle import crate
from netlab.bundle.pack import bundle, versions
from netlab.bundle.unpacking import keep_records, stated_versions, unpacked
from netlab.bundle.verify import changed_files, other_figures, other_versions
from netlab.cli import main
from netlab.errors import BadInput
from netlab.files.archive import names_in, pack, unpack
from netlab.files.paths import notebook, notebooks_dir, own_file
from netlab.files.yaml_file import read_yaml
from netlab.report.publishing import last_visit
from netlab.results.store import Store
from netlab.study import load
from netlab.study.frozen import freeze
from netlab.study.report_pages import ReportPages

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A directory that netlab works in, with results of one campaign and a calibration."""
    place = tmp_path_factory.mktemp("home")
    measured_store.two_racks(place / "results" / "two-racks")
    store_calibration(place / "results" / "calibration", 4)
    store_calibration(place / "results" / "calibration", 5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NETLAB_HOME", str(place))
        yield place


@pytest.fixture(scope="module")
def results(home):
    return home / "results" / "two-racks"


@pytest.fixture(scope="module")
def made(results, home):
    """Made by the command: this process has the settings that tests before left in it."""
    argv = [sys.executable, "-P", "-m", "netlab", "bundle", results.name]
    argv += ["--out", str(home / "first.zip"), "--author", "A. Person"]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return home / "first.zip"


@pytest.fixture(scope="module")
def whole(made, tmp_path_factory):
    place = tmp_path_factory.mktemp("whole")
    unpack(made, place)
    return place


@pytest.fixture(scope="module")
def again(whole, tmp_path_factory):
    """The site that is recomputed from the bundle."""
    place = tmp_path_factory.mktemp("again")
    copy = shutil.copytree(whole, place / "copy")
    assert other_figures(copy, place) == []
    return place / "site"


def test_it_has_records_report_study_tunings_and_versions(whole, results):
    names = names_in(whole)
    assert {"study.yml", "uv.lock", "CITATION.cff", "provenance.json"} <= set(names)
    assert {"site/index.html", "site/report.pdf", "site/downloads/cells.csv"} <= set(names)
    assert {"tunings/as-found.yml", "published/openlab-2003.csv"} <= set(names)
    assert (whole / "uv.lock").read_bytes() == own_file("uv.lock").read_bytes()
    assert any(name.startswith("site/notebooks/03-") for name in names)
    (block,) = (name for name in names if name.startswith("results/notebooks/"))
    assert block.endswith("@r3.ipynb"), "of each block that of the last visit"
    for table in ("runs", "intervals"):
        kept = {p.name for p in (results / table).iterdir()}
        assert {name.rpartition("/")[2] for name in names if f"results/{table}/" in name} == kept
    assert (
        load(whole / "study.yml").digest()
        == load(results.parents[1] / "two-racks.yml", rounds=3).digest()
    )
    assert [name for name in names if "/." in f"/{name}"] == [".zenodo.json"]
    cited = read_yaml(whole / "CITATION.cff")
    deposit = json.loads((whole / ".zenodo.json").read_text())
    assert cited["title"] == deposit["title"]
    assert deposit["title"].endswith(": results and report")
    assert (cited["type"], deposit["upload_type"]) == ("dataset", "dataset")
    assert cited["date-released"] == deposit["publication_date"] == "2026-01-05"
    assert cited["references"][0]["title"].startswith("netlab")


def begun(notebook):
    """When papermill began to execute a notebook."""
    return json.loads(notebook.read_text())["metadata"]["papermill"]["start_time"]


def test_verify_takes_notebooks_of_the_same_records_from_the_cache(results, whole, again, tmp_path):
    """In another process, home and directory than the report's; those of others are executed."""
    names = [path.name for path in (again.parent / "notebooks").glob("[0-9]*.ipynb")]
    assert names
    for name in names:
        text = (again.parent / "notebooks" / name).read_text()
        assert begun(again.parent / "notebooks" / name) == begun(results / "notebooks" / name)
        assert str(results) not in text and str(again.parent / "copy" / "results") in text
    copy = shutil.copytree(whole, tmp_path / "copy")
    (run,) = sorted((copy / "results" / "runs").glob("*.parquet"))[:1]
    table = pq.read_table(run)
    at = table.schema.get_field_index("goodput_MBps")
    changed = pc.multiply(table.column(at), 1.01)
    pq.write_table(table.set_column(at, table.schema.field(at), changed), run)
    assert other_figures(copy, tmp_path)
    for name in names:
        assert begun(tmp_path / "notebooks" / name) != begun(results / "notebooks" / name)


def test_it_has_the_latest_stored_calibration_and_the_page_made_of_it(whole, home, again):
    stored = home / "results" / "calibration" / "2026-01-05T100000Z" / "calibration.json"
    assert names_in(whole / "calibration") == ["2026-01-05T100000Z/calibration.json"]
    copied = json.loads((whole / "calibration" / names_in(whole / "calibration")[0]).read_text())
    assert copied == json.loads(stored.read_text())
    page = (whole / "site" / "calibration.html").read_text()
    assert "on 2026-01-05 with netlab 0.1.0 on Some CPU, 2 CPUs" in page
    assert (again / "calibration.html").is_file(), "verify makes it anew of the bundle's own"
    tables = [name for name in names_in(whole / "site" / "tables") if "known-rates" in name]
    assert tables and all(name in names_in(again / "tables") for name in tables)


def test_the_last_visit_is_found_by_name(tmp_path):
    for name in (
        "20260105T100000Z~p@full@9000@r2",
        "20260105T100000Z~p@full@9000@r10",
        "20260105T100000Z~p@full@9000@r10~2",
        "20260105T100000Z~p@full@9000@rack=1@r11",
        "20260104T100000Z~p@full@9000@r12",
        "20260105T100000Z~p@full@9000@r11.failed",
    ):
        (tmp_path / f"{name}.ipynb").write_text("{}")
    first, second, third = "20260104T100000Z", "20260105T100000Z", "20260105T100000Z-2"
    every = {first, second, third}
    assert last_visit(tmp_path, "p@full@9000", every).stem == f"{second}~p@full@9000@r10~2"
    (tmp_path / f"{third}~p@full@9000@r1.ipynb").write_text("{}")
    assert last_visit(tmp_path, "p@full@9000", every).stem == f"{third}~p@full@9000@r1"
    assert last_visit(tmp_path, "p@full@9000", {first}).stem == f"{first}~p@full@9000@r12"
    assert last_visit(tmp_path, "p@full@9000", {"20260101T000000Z"}) is None
    assert last_visit(tmp_path, "p@none@9000", every) is None


def test_the_metadata_list_every_file_with_its_digest(whole):
    graph = json.loads((whole / crate.METADATA).read_text())["@graph"]
    files = {one["@id"]: one for one in graph if one["@type"] == "File"}
    assert set(files) == set(names_in(whole)) - {crate.METADATA}
    for name, entity in files.items():
        if name != crate.MANIFEST:
            assert entity["sha256"] == crate.digest_of(whole / name)
            assert entity["contentSize"] == str((whole / name).stat().st_size)
    actions = {one["@id"]: one for one in graph if one["@type"] == "CreateAction"}
    assert set(actions) == {f"#measurement-{measured_store.CAMPAIGN}", "#report"}
    measurement = actions[f"#measurement-{measured_store.CAMPAIGN}"]
    assert measurement["startTime"] == "2026-01-05T10:00:00+00:00"


def test_nothing_names_the_place_where_it_was_made(whole, home):
    for name in names_in(whole):
        content = (whole / name).read_bytes()
        assert str(home).encode() not in content, name
        assert b"netlab-bundle-" not in content, name


def test_the_same_results_give_the_same_bytes(made, results, home):
    """Also by the command, after other times of change, and with its notebooks executed anew.

    So they have neither times nor random ids. A hidden file is of the program that copied them.
    """
    for path in [*results.rglob("*.parquet")]:
        os.utime(path, (1, 1))
        path.with_name(f"._{path.name}").write_bytes(b"\0\5\26\7")
    for path in results.glob("notebooks/03-*"):
        path.unlink()
    second = home / "second.zip"
    argv = ("bundle", str(home / "two-racks.yml"), "--results", str(results), "--out", str(second))
    done = CliRunner().invoke(main, [*argv, "--author", "A. Person"])
    assert done.exit_code in (0, 4) and str(second) in done.output
    with zipfile.ZipFile(made) as one, zipfile.ZipFile(second) as two:
        assert one.namelist() == two.namelist()
        different = [n for n in one.namelist() if one.read(n) != two.read(n)]
    assert different == []
    assert second.read_bytes() == made.read_bytes()


def test_changed_records_with_their_digests_made_anew_are_found(whole, tmp_path):
    """One run of the Parquet files is twice as fast, another one is missing."""
    copy = shutil.copytree(whole, tmp_path / "copy")
    store = Store(copy / "results")
    first, second, *_ = store.parts()
    runs, intervals = (store.part(table, first) for table in ("runs", "intervals"))
    store.write(first, runs.assign(goodput_MBps=runs["goodput_MBps"] * 2), intervals)
    runs, intervals = (store.part(table, second) for table in ("runs", "intervals"))
    store.write(second, runs.iloc[1:], intervals)
    done = CliRunner().invoke(main, ["verify", str(sealed(copy, tmp_path / "forged.zip"))])
    assert done.exit_code == 1
    assert "site/downloads/cells.csv: line 2, goodput_MBps: was " in done.output
    assert "n_valid: was 3, is 2" in done.output
    assert "\n0 files differ, " in done.output
    assert not done.output.endswith(" 0 figures differ\n")


def test_records_that_are_all_missing_are_a_difference(whole, tmp_path):
    copy = shutil.copytree(whole, tmp_path / "copy")
    shutil.rmtree(copy / "results" / "runs")
    (found,) = other_figures(copy, tmp_path)
    assert found.file == "results" and "not publishable" in found.now


def test_another_zip_file_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as other:
        other.writestr("a.txt", "a")
    with refused(BadInput, "E-REPORT-009"), unpacked(tmp_path / "other.zip"):
        pass


def test_versions_that_differ_are_named_netlab_first(whole, tmp_path):
    assert other_versions(whole) == []
    copy = shutil.copytree(whole, tmp_path / "copy")
    text = (copy / "provenance.json").read_text()
    own = versions()
    for name in ("netlab", "pandas"):
        text = text.replace(f'"{name}": "{own[name]}"', f'"{name}": "0.0.1"')
    (copy / "provenance.json").write_text(text)
    first, second = other_versions(copy)
    assert str(first) == f"version: netlab: was 0.0.1, is {own['netlab']}"
    assert second.place == "pandas"
    (copy / "provenance.json").write_text("[]")
    with refused(BadInput, "E-REPORT-010"):
        stated_versions(copy)


def test_a_licence_is_a_url(results, tmp_path):
    with refused(BadInput, "E-REPORT-008"):
        bundle(results, tmp_path / "x.zip", licence="mine")


def test_its_records_are_kept_beside_the_new_results_once(whole, tmp_path):
    target = keep_records(whole, tmp_path / "deep" / "kept")
    assert names_in(target) == names_in(whole / "results")
    assert keep_records(whole, target) == target
    next(target.glob("runs/*")).write_bytes(b"")
    with refused(BadInput, "E-REPORT-011"):
        keep_records(whole, target)
    assert [path.name for path in target.parent.iterdir()] == ["kept"]


def test_a_changed_bundle_is_not_measured_again(whole, tmp_path):
    copy = shutil.copytree(whole, tmp_path / "copy")
    with open(copy / "study.yml", "a") as study:
        study.write("# changed\n")
    done = CliRunner().invoke(main, ["rerun", str(pack(copy, tmp_path / "changed.zip"))])
    assert done.exit_code == 1
    assert "study.yml" in done.output and "E-CLI-023" in done.output


SECRET = ("atlas17", "borea18", "10.20.30", "fd00:17::9", "52:54:00:ab:cd:ef", "jdoe")
FACTS = (
    '"hostname": "atlas17.lab.example", "mac_address": "52:54:00:AB:CD:EF", '
    '"link": "fd00:17::9 by /home/jdoe/bin", "kernel"'
)


@pytest.fixture
def private(tmp_path, monkeypatch):
    """Results whose records have names and addresses of a network; a round of them is flagged."""
    words = {"left": "atlas17", "right": "borea18", "192.0.2": "10.20.30"}
    text = re.sub("|".join(words), lambda found: words[found[0]], synthetic.FOREIGN)
    monkeypatch.setattr(synthetic, "FOREIGN", text)
    monkeypatch.setenv("NETLAB_HOME", str(tmp_path))
    results = tmp_path / "results" / "two-racks"
    measured_store.two_racks(results)
    for path in (results / "runs").glob("*.parquet"):
        table = pq.read_table(path)
        at = table.schema.get_field_index("provenance")
        told = pc.replace_substring(table[at], '"kernel"', FACTS)
        table = table.set_column(at, table.field(at), told)
        if path.stem.endswith("@r1"):
            at = table.schema.get_field_index("flags")
            flags = pa.array(["interference"] * len(table), table.field(at).type)
            table = table.set_column(at, table.field(at), flags)
        pq.write_table(table, path)
    return results


def words_left(directory):
    """Files in whose name or bytes a word is left, Parquet pages and figures decoded as well."""
    for name in names_in(directory):
        file = directory / name
        content = [name.encode(), file.read_bytes()]
        if file.suffix == ".parquet":
            pq.write_table(pq.read_table(file), sink := io.BytesIO(), compression="none")
            content.append(sink.getvalue())
        content += map(base64.b64decode, re.findall(rb"base64,([A-Za-z0-9+/=]+)", content[1]))
        text = b"".join(content).lower()
        yield from ((name, word) for word in SECRET if word.encode() in text)


def test_a_redacted_bundle_has_no_word_of_the_network_and_verifies(private, tmp_path):
    said = []
    bundle(private, tmp_path / "plain.zip", say=said.append)
    assert said == [
        "netlab: the bundle tells 6 host names, 3 addresses, 1 MAC address and 1 user of your "
        "network: --redact replaces them"
    ]
    unpack(tmp_path / "plain.zip", tmp_path / "plain")
    assert {word for _, word in words_left(tmp_path / "plain")} == set(SECRET)
    argv = ("bundle", str(tmp_path / "two-racks.yml"), "--results", str(private), "--redact")
    done = CliRunner().invoke(main, [*argv, "--out", str(tmp_path / "redacted.zip")])
    assert done.exit_code == 4 and "have pseudonyms" in done.output, done.output
    assert f"netlab study {private}/" in done.output and "/netlab-bundle-" not in done.output
    redacted = tmp_path / "redacted"
    unpack(tmp_path / "redacted.zip", redacted)
    assert list(words_left(redacted)) == []
    here = str(notebooks_dir()).encode()
    assert [name for name in names_in(redacted) if here in (redacted / name).read_bytes()] == []
    assert changed_files(redacted) == [] and other_figures(redacted, tmp_path) == []
    files = (tmp_path / name / "site/downloads/cells.csv" for name in ("plain", "redacted"))
    one, two = map(pd.read_csv, files)
    figures = one.select_dtypes("number").columns
    pd.testing.assert_frame_equal(one[figures], two[figures])


def test_own_notebooks_are_files_of_a_bundle_and_no_pages_and_it_verifies(tmp_path, monkeypatch):
    place = tmp_path / "home"
    results = place / "results" / "two-racks"
    measured_store.two_racks(results)
    monkeypatch.setenv("NETLAB_HOME", str(place))
    own = tmp_path / "mine.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Mine")]), own)
    for file in results.rglob("study.yml"):
        study = load(file)
        report = ReportPages(notebooks=(str(own), "14-claims"))
        freeze(study.model_copy(update={"report": report}), file.parent)
    named = (own, notebook("14-claims.ipynb"))
    file = tmp_path / "own.zip"
    bundle(results, file, notebooks=named)
    own.unlink()
    with zipfile.ZipFile(file) as made:
        names = made.namelist()
        assert "notebooks/mine.ipynb" in names and "site/mine.html" not in names
        assert "site/14-claims.html" in names
        assert all(str(tmp_path).encode() not in made.read(name) for name in names)
    done = CliRunner().invoke(main, ["verify", str(file)])
    assert done.exit_code == 0, done.output
    assert done.output.endswith("0 files differ, 0 figures differ\n")
