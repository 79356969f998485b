"""A page that is reused equals one made anew, byte for byte; nothing outdated is reused."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import nbformat
import pytest
import synthetic
from nbformat import v4

from netlab.analysis.measured import load_measured
from netlab.errors import BadInput
from netlab.report import kept
from netlab.report.inputs import package_digest, results_digest
from netlab.report.kept import RenderedPages
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
