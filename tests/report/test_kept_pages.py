"""A page that is reused equals one made anew, byte for byte; nothing outdated is reused."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import nbformat
import pytest
import synthetic
from markupsafe import Markup
from nbformat import v4

from netlab.analysis.measured import load_measured
from netlab.errors import BadInput
from netlab.report import kept
from netlab.report.guide import pages as guide
from netlab.report.inputs import package_digest, results_digest
from netlab.report.kept import VERSIONS, OwnPages, RenderedPages, own_pages
from netlab.report.page import Page
from netlab.report.render import render
from netlab.report.site import ExecutedNotebook, build_site
from netlab.study.frozen import freeze


def write(path: Path, *texts: str) -> Path:
    cells = [v4.new_markdown_cell(text) for text in texts]
    nbformat.write(v4.new_notebook(cells=cells), path)
    return path


@pytest.fixture
def counted(monkeypatch):
    """Names of the notebooks that are rendered."""
    names = []

    def counting(path, links):
        names.append(path.name)
        return render(path, links)

    monkeypatch.setattr(kept, "render", counting)
    return names


def test_a_page_is_rendered_again_only_for_other_inputs(tmp_path, counted):
    one = write(tmp_path / "one.ipynb", "# One\n\n## Part", "See `two.ipynb`.")
    links = {"one": "one.html", "two": "two.html", "unnamed": "unnamed.html"}
    pages = RenderedPages(tmp_path / "kept", "p")
    first = pages.render(one, links)
    assert pages.render(one, links) == first == render(one, links)
    assert pages.render(one, {**links, "unnamed": "elsewhere.html"}) == first
    assert counted == ["one.ipynb"]
    assert 'href="2.html"' in pages.render(one, {**links, "two": "2.html"}).body
    RenderedPages(tmp_path / "kept", "another package").render(one, links)
    write(one, "# Another")
    assert pages.render(one, links).title == "Another"
    assert len(counted) == 4


def test_a_damaged_page_is_made_again_and_an_unused_one_removed(tmp_path, counted):
    one = write(tmp_path / "one.ipynb", "# One")
    pages = RenderedPages(tmp_path / "kept", "p")
    first = pages.render(one, {})
    (file,) = (tmp_path / "kept").iterdir()
    for damage in ("", "[]", "{}", '{"title": "x"}', '{"contents": 3}'):
        file.write_text(damage)
        assert RenderedPages(tmp_path / "kept", "p").render(one, {}) == first
    again = RenderedPages(tmp_path / "kept", "p")
    again.tidy()
    assert not file.exists()


def test_a_file_that_is_no_notebook_is_refused(tmp_path):
    (tmp_path / "x.ipynb").write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput) as caught:
        RenderedPages(tmp_path / "kept", "p").render(tmp_path / "x.ipynb", {})
    assert caught.value.code == "E-REPORT-002"


def digests(site: Path) -> dict[str, str]:
    return {
        str(path.relative_to(site)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(site.rglob("*"))
        if path.is_file()
    }


def test_a_site_of_reused_pages_equals_one_made_anew(tmp_path, counted):
    study = synthetic.foreign(tmp_path)
    synthetic.store_of(tmp_path / "store", study)
    frozen = freeze(study, tmp_path / "store")
    notebooks = [
        ExecutedNotebook(write(tmp_path / f"{name}.ipynb", f"# {name}", "See `b.ipynb`."))
        for name in "ab"
    ]

    def build(place):
        measured = load_measured(tmp_path / "store", frozen)  # nothing computed before is at hand
        pages = RenderedPages(tmp_path / "kept", package_digest())
        build_site(notebooks, place, measured=measured, kept=pages)
        return digests(place)

    first = build(tmp_path / "site")
    assert sorted(counted) == ["a.ipynb", "b.ipynb"]
    reused = build(tmp_path / "site")
    assert len(counted) == 2, "no notebook is rendered again"
    shutil.rmtree(tmp_path / "kept")
    anew = build(tmp_path / "elsewhere")
    assert len(counted) == 4
    assert first == reused == anew
    assert any(name.endswith(".png") for name in anew)


def test_results_have_another_digest_when_a_record_changes(tmp_path):
    study = synthetic.foreign(tmp_path)
    synthetic.store_of(tmp_path / "store", study)
    before = results_digest(tmp_path / "store")
    (tmp_path / "store" / "notebooks").mkdir()
    (tmp_path / "store" / "notebooks" / "x.ipynb").write_text("{}")
    assert results_digest(tmp_path / "store") == before
    (record,) = (tmp_path / "store" / "runs").glob("*.parquet")
    record.write_bytes(record.read_bytes() + b" ")
    assert results_digest(tmp_path / "store") != before


GUIDE = [Page("guide.html", "Guide", "Guide", "", Markup("<h1>Guide</h1>"))]


def test_own_pages_are_made_once_for_all_results_of_a_login(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = []
    for _ in range(2):
        pages = own_pages("p").pages("Guide", {}, lambda: made.append(1) or GUIDE)
        assert pages == GUIDE
    assert len(made) == 1
    assert (tmp_path / "cache/netlab").stat().st_mode & 0o777 == 0o700
    own_pages("another package").pages("Guide", {}, lambda: made.append(1) or GUIDE)
    assert len(made) == 2


def test_own_pages_of_the_last_few_packages_stay(tmp_path):
    for number in range(VERSIONS + 2):
        OwnPages(tmp_path, f"{number}").pages("Guide", {}, lambda: GUIDE)
        for file in (tmp_path / "pages").iterdir():
            os.utime(file, ns=(0, file.stat().st_mtime_ns - 10**9))
    made = []
    for number in range(VERSIONS + 2):
        content = OwnPages(tmp_path, f"{number}")._file("Guide", {})
        made.append(content.exists())
    assert made == [False, False, *[True] * VERSIONS]


def test_own_pages_are_made_anew_where_they_cannot_be_stored(tmp_path):
    (tmp_path / "pages").write_text("a file in the place of the directory")
    made = []
    for _ in range(2):
        pages = OwnPages(tmp_path, "p").pages("Guide", {}, lambda: made.append(1) or GUIDE)
        assert pages == GUIDE
    assert len(made) == 2


def test_nothing_is_stored_in_the_home_of_another_user(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert own_pages("p") is not None
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert own_pages("p") is None
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    assert own_pages("p") is None


def test_two_results_share_the_guide(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    sites = []
    for name in ("a", "b"):
        site = build_site([], tmp_path / name, guide=True, own=own_pages("p"))
        sites.append({file.name: file.read_bytes() for file in site.parent.glob("*.html")})
        monkeypatch.setattr(guide, "_make", lambda start: pytest.fail("made again"))
    assert sites[0] == sites[1]
