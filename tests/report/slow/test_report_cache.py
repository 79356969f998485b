"""A second report makes only what depends on a change, and is the same as a new one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import matplotlib as mpl
import nbformat
import pandas as pd
import pytest
import synthetic
from nbformat import v4

from netlab import wings
from netlab.analysis.measured import load_measured
from netlab.charts import group_panels, study_charts
from netlab.charts.chart import show
from netlab.files import paths
from netlab.files.user_cache import KEPT_DAYS, key_of
from netlab.report import active_cache, site
from netlab.report import cache as caches
from netlab.report.active_cache import of_one, using
from netlab.report.cache import NOTHING_KEPT, Cache, program, user_cache
from netlab.report.front import panel
from netlab.report.page import Credit
from netlab.report.pages import study_pages
from netlab.report.publishing import NAMED, OFFERED, Executions, ReportRequest, publish
from netlab.results.columns import RUN_COLUMNS
from netlab.results.parquet import read, write_atomically
from netlab.study.frozen import freeze

NOTEBOOK = "notebook 03-openlab-measured.ipynb"


@pytest.fixture
def store(tmp_path):
    """Results of a study whose report has one notebook of netlab's."""
    study = synthetic.foreign(tmp_path)
    synthetic.store_of(tmp_path / "store", study)
    freeze(study, tmp_path / "store")
    return tmp_path / "store"


def report(store, folder, name="site", notebooks=()):
    """The parts that a report made anew, and the files of its site."""
    kept = folder if isinstance(folder, Cache) else Cache(folder)
    place = store.with_name(name)
    publish(store, place, request=ReportRequest(notebooks=notebooks, dated=False), cache=kept)
    files = {p.relative_to(place): p.read_bytes() for p in place.rglob("*") if p.is_file()}
    return kept.made, files


def test_results_that_cannot_be_written_have_the_same_report(store, tmp_path):
    shutil.rmtree(store / "notebooks", ignore_errors=True)
    (store / "notebooks").symlink_to("/proc/no-such-place")
    before = sorted(store.rglob("*"))
    made, files = report(store, tmp_path / "cache")
    assert NOTEBOOK in made and sorted(store.rglob("*")) == before
    named = [name for name, content in files.items() if str(store.parent).encode() in content]
    assert named == [], "a page says where its results lay"
    again, second = report(store, tmp_path / "cache", "again")
    assert NOTEBOOK not in again and second.keys() == files.keys()
    (store / "notebooks").unlink()
    _, written = report(store, tmp_path / "another")
    assert written.keys() == files.keys()


def test_a_second_report_makes_nothing_anew_and_is_that_of_a_report_made_afresh(store, tmp_path):
    made, first = report(store, tmp_path / "cache")
    again, second = report(store, tmp_path / "cache", "again")
    _, fresh = report(store, NOTHING_KEPT, "fresh")
    assert NOTEBOOK in made and {"pdf", "png", "page"} <= set(made)
    assert again == []
    assert first == second == fresh


def test_a_second_report_computes_no_page_of_the_study(store, tmp_path, monkeypatch):
    made, first = report(store, tmp_path / "cache")

    def computed(*_arguments):
        raise AssertionError("computed again")

    for name in ("study_pages", "run_pages", "write_records", "write_downloads", "write_pdf"):
        monkeypatch.setattr(site, name, computed)
    assert "study" in made
    assert report(store, tmp_path / "cache", "again") == ([], first)


def test_pages_of_the_study_follow_what_lies_outside_its_results(store, tmp_path, monkeypatch):
    def made(**words):
        kept = Cache(tmp_path / "cache")
        request = ReportRequest(notebooks=(), calibrations=tmp_path / "calibration", **words)
        publish(store, tmp_path / "site", request=request, cache=kept)
        return kept.made

    assert "study" in made() and "study" not in made()
    assert "study" in made(credit=Credit("A. Author"))
    assert b"A. Author" in (tmp_path / "site" / "tables.html").read_bytes()
    (tmp_path / "calibration").mkdir()
    (tmp_path / "calibration" / "note").write_text("of another day")
    assert "study" in made() and "study" not in made()
    monkeypatch.chdir(tmp_path / "calibration")
    assert "study" in made()
    assert "study" not in made()
    computed = []
    monkeypatch.setattr(site, "study_pages", lambda m: computed.append(m) or study_pages(m))
    monkeypatch.setattr(site.wings, "of_others", lambda: True)
    made()
    assert computed


def test_a_report_of_copied_results_does_not_name_the_first_directory(store, tmp_path):
    report(store, tmp_path / "cache")
    copy = shutil.copytree(store, tmp_path / "copy")
    made, files = report(copy, tmp_path / "cache", "copied")
    assert NOTEBOOK in made
    (text,) = (text.decode() for name, text in files.items() if name.name == f"{NOTEBOOK[9:]}")
    assert '\\"results\\"' in text and str(copy) not in text and str(store) not in text


def change_a_run(store, **values):
    """Store one run with other values, as its file would have it after a repair."""
    file = sorted((store / "runs").glob("*.parquet"))[0]
    status = file.stat()
    runs = read(file, RUN_COLUMNS)
    for name, value in values.items():
        runs.loc[0, name] = value
    write_atomically(runs, file, RUN_COLUMNS)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_a_changed_record_and_a_changed_study_are_in_every_page_that_shows_them(store, tmp_path):
    _, before = report(store, tmp_path / "cache")
    change_a_run(store, goodput_MBps=123.456)
    made, after = report(store, tmp_path / "cache")
    _, fresh = report(store, NOTHING_KEPT, "fresh")
    assert NOTEBOOK in made and after == fresh != before
    file = store / "study.yml"
    old = load_measured(store).study.title
    file.write_text(file.read_text().replace(f"title: {old}", "title: Another title"))
    _, titled = report(store, tmp_path / "cache")
    assert b"Another title" in titled[Path("03-openlab-measured.html")]


def written_notebook(file, code):
    """A notebook of one cell."""
    language = {"kernelspec": {"name": "python3", "display_name": "Python", "language": "python"}}
    file.parent.mkdir(exist_ok=True)
    nbformat.write(v4.new_notebook(cells=[v4.new_code_cell(code)], metadata=language), file)
    return file


def test_a_notebook_of_ones_own_is_executed_for_each_report(store, tmp_path):
    beside = tmp_path / "level.txt"
    mine = written_notebook(tmp_path / "mine.ipynb", f"print(open({str(beside)!r}).read())")
    for level in ("first level", "second level"):
        beside.write_text(level)
        made, files = report(store, tmp_path / "cache", notebooks=(mine,))
        assert level.encode() in files[Path("mine.html")]
    # the text of the navigation is the same, so that only this page was made anew
    assert made == ["page", "notebook mine.ipynb"]


def test_a_notebook_of_a_wing_is_listed_as_one_and_not_as_named_by_the_study(
    store, tmp_path, monkeypatch
):
    offered, mine = (written_notebook(tmp_path / f"{one}.ipynb", "1") for one in ("its", "mine"))
    monkeypatch.setattr(wings, "notebooks", lambda: [lambda _measured: (str(offered),)])
    _, files = report(store, tmp_path / "cache", notebooks=(mine,))
    index = files[Path("index.html")].decode()
    stated = dict(re.findall(r'href="(its|mine).html" title="([^"]*)"', index))
    assert stated == {"its": OFFERED, "mine": NAMED}


def test_notebooks_take_the_charts_of_pages_until_one_of_a_studys_own_has_run(
    store, tmp_path, monkeypatch
):
    """The chart in the cache has a mark, which tells it from one drawn anew."""
    mark, kept = "from the cache", Cache(tmp_path / "cache")
    m = load_measured(store)
    for group in m.groups:
        with using(kept):
            panel(m, group)
    for entry in (path for path in (tmp_path / "cache").rglob("*") if path.is_file()):
        key = entry.parent.name + entry.name
        kept.put(key, json.dumps({**json.loads(kept.get(key)), "alt": mark}).encode())
    draws = f"import netlab\nnetlab.Results({str(store)!r}).charts.panels()"
    monkeypatch.setattr(paths, "notebooks_dir", lambda: tmp_path / "netlab")
    drawn = []
    with Executions(cache=kept) as running:
        for place in ("netlab/first", "study/own", "netlab/last"):
            output = tmp_path / f"{Path(place).name}-executed.ipynb"
            running.add(written_notebook(tmp_path / f"{place}.ipynb", draws), output, {})
            running.wait(output)
            drawn.append(output.read_text())
    assert [mark in text for text in drawn] == [True, False, False]


def test_only_the_charts_of_a_changed_group_are_drawn_again(tmp_path):
    study = synthetic.openlab()
    synthetic.store_of(tmp_path / "store", study)
    freeze(study, tmp_path / "store")
    m = load_measured(tmp_path / "store")

    def drawn():
        kept = Cache(tmp_path / "cache")
        with using(kept):
            study_pages(load_measured(tmp_path / "store"))
        return sorted(name.rpartition(".")[2] for name in kept.made)

    groups = len(m.groups)
    assert drawn().count("panels") == groups > 2
    assert drawn() == []
    change_a_run(tmp_path / "store", goodput_MBps=123.456)
    assert drawn() == ["ceiling", "cost_over_streams", "panels", "repeat_panels", "step_forest"]


def test_a_chart_of_one_group_needs_no_result_of_another(tmp_path):
    study = synthetic.openlab()
    synthetic.store_of(tmp_path / "store", study)
    freeze(study, tmp_path / "store")
    m = load_measured(tmp_path / "store")
    for group in m.groups:
        for draw, frame in (
            *((study_charts.panels, m.cells), (group_panels.ceiling, m.cells)),
            (group_panels.repeat_panels, m.runs),
        ):
            whole = show(draw(frame, group, study=study))
            assert show(draw(of_one(frame, group), group, study=study)) == whole, group


DIGEST = "from netlab.report.cache import program; print(program())"


def digest(**changes):
    """The digest of the program in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", DIGEST],
        env={**os.environ, **changes},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_how_figures_are_shown_is_the_same_program():
    assert digest(MPLBACKEND="agg") == digest(MPLBACKEND="svg")


def test_another_package_theme_locale_or_data_is_another_program(tmp_path):
    (tmp_path / "site" / "matplotlib-99.0.dist-info").mkdir(parents=True)
    (tmp_path / "matplotlibrc").write_text("lines.linewidth: 7\n")
    data = tmp_path / "data"
    for name in ("published", "studies", "tunings"):
        (data / name).mkdir(parents=True)
        for file in (paths.data_dir() / name).glob("*.*"):
            (data / name / file.name).write_bytes(file.read_bytes())
    known = digest()
    assert digest() == known
    others = [
        digest(PYTHONPATH=f"{tmp_path / 'site'}:{os.environ.get('PYTHONPATH', '')}"),
        digest(MATPLOTLIBRC=str(tmp_path / "matplotlibrc")),
        digest(TZ="Asia/Tokyo"),
        digest(NETLAB_DATA=str(data)),
    ]
    assert len({known, *others}) == 5


def test_a_session_that_changes_its_theme_or_data_makes_its_next_report_with_those(
    tmp_path, monkeypatch
):
    before = program()
    with mpl.rc_context({"lines.linewidth": 7}):
        themed = program()
    assert program() == before
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    elsewhere = program()
    monkeypatch.setenv("NETLAB_DATA", str(shutil.copytree(paths.data_dir(), tmp_path / "data")))
    assert len({before, themed, elsewhere, program()}) == 4


def test_a_cache_that_another_could_write_or_that_is_damaged_is_not_used(tmp_path):
    kept = Cache(tmp_path / "cache")
    assert kept.text("kind", ["input"], lambda: "value") == "value"
    assert kept.text("kind", ["input"], lambda: "other") == "value"
    (entry,) = (path for path in (tmp_path / "cache").rglob("*") if path.is_file())
    entry.write_bytes(entry.read_bytes()[:-1] + b"x")
    assert kept.text("kind", ["input"], lambda: "anew") == "anew"
    (tmp_path / "cache").chmod(0o777)
    assert Cache(tmp_path / "cache").text("kind", ["input"], lambda: "mine") == "mine"
    (tmp_path / "link").symlink_to(tmp_path / "cache")
    (tmp_path / "cache").chmod(0o700)
    assert Cache(tmp_path / "link").text("kind", ["input"], lambda: "mine") == "mine"
    (tmp_path / "file").write_text("")
    assert Cache(tmp_path / "file" / "x").text("kind", ["input"], lambda: "mine") == "mine"


def test_entries_that_no_report_uses_are_removed(tmp_path):
    kept = Cache(tmp_path / "cache")
    kept.put(key_of("old"), b"old")
    kept.put(key_of("new"), b"new")
    long_ago = time.time() - (KEPT_DAYS + 1) * 24 * 3600
    os.utime(kept._path(key_of("old")), (long_ago, long_ago))
    kept.prune()
    assert kept.get(key_of("old")) is None and kept.get(key_of("new")) == b"new"


def test_a_process_older_than_the_code_on_disk_uses_no_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    package = tmp_path / "package"
    package.mkdir()
    monkeypatch.setattr(caches, "PACKAGE", package)
    assert user_cache() is not NOTHING_KEPT
    (package / "module.py").write_text("")
    assert user_cache() is NOTHING_KEPT


def test_frames_that_differ_anywhere_have_other_digests():
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
    floats = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", None]})
    named = frame.copy()
    named.attrs["unit"] = "MB/s"
    others = [frame, floats, named, frame.rename(columns={"a": "c"}), frame.iloc[::-1],
              frame.set_index("b"), frame.replace("x", "y"), frame.astype({"b": "string"}),
              frame.head(1), frame["a"], frame["a"].tolist(), None, "a", b"a", 1, True,
              1.0]  # fmt: skip
    keys = [key_of(*active_cache._parts(one)) for one in others]
    assert len(set(keys)) == len(keys)
    assert key_of(*active_cache._parts(frame.copy())) == keys[0]
