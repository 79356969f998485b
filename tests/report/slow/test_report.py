"""The site is complete, escaped, without network access, and replaced atomically."""

import errno
import hashlib
import multiprocessing
import os
import re
import shutil
import stat
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pandas as pd
import pytest
import synthetic
from nbformat import v4
from refusals import refused
from report.slow.active_content import ACTIVE

from netlab import wings
from netlab.analysis.measured import load_measured
from netlab.cli.reporting import publish_site
from netlab.errors import BadInput, NetlabError
from netlab.files.paths import study_file
from netlab.report import render, tables
from netlab.report.downloads import write_downloads
from netlab.report.page import Credit
from netlab.report.site import ExecutedNotebook, SiteContent, build_site
from netlab.report.site_directory import replacing, study_of_site
from netlab.results.columns import RUN_COLUMNS
from netlab.results.flags import meaning_of, remedy_of
from netlab.results.parquet import read
from netlab.study import load

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)


class Outline(HTMLParser):
    """Tags, attributes and headings of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.headings = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))

    def named(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture
def notebook(tmp_path):
    """An executed notebook with an output of every kind."""
    stream = v4.new_output("stream", name="stdout", text="a < b \x1b[31mred\x1b[0m")
    html = v4.new_output("execute_result", {"text/html": "<p>rich</p>", "text/plain": "plain"})
    picture = v4.new_output("display_data", {"image/png": PNG}, metadata={"alt": 'a "dot"'})
    svg = v4.new_output(
        "display_data", {"image/svg+xml": "<svg xmlns='http://www.w3.org/2000/svg'/>"}
    )
    script = v4.new_output("display_data", {"application/javascript": "alert(2)"})
    text = v4.new_output("execute_result", {"text/plain": "<b>x</b>"})
    cells = [
        v4.new_markdown_cell("# What it *shows*, in full\n\nSee [next](02-next.ipynb#part)."),
        v4.new_markdown_cell("## Then\n\n[gone](99-elsewhere.ipynb)"),
        v4.new_code_cell("if 1 < 2: print('</pre>')", outputs=[stream, html, picture]),
        v4.new_code_cell("", outputs=[svg, script, text]),
    ]
    return _save(tmp_path / "01-first.ipynb", cells)


def _save(path, cells):
    nbformat.write(v4.new_notebook(cells=cells), path)
    return path


def _text(tmp_path, *paths, index=False):
    """The site of some notebooks without results: its index, or the page of the last one."""
    built = build_site(SiteContent([ExecutedNotebook(p) for p in paths], pdf=False), tmp_path / "s")
    return (built if index else built.with_name(f"{paths[-1].stem}.html")).read_text()


def _site(tmp_path, m):
    return build_site(SiteContent(measured=m, pdf=False, png=False), tmp_path / "site").parent


def _digests(site: Path):
    files = (p for p in sorted(site.rglob("*")) if p.is_file())
    return {str(p.relative_to(site)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def test_the_index_shows_the_study_whole(one_group, notebook, tmp_path):
    at = datetime(2026, 1, 6, 12, 0, tzinfo=UTC)
    pages = [ExecutedNotebook(notebook, summary="a line")]
    index = build_site(
        SiteContent(pages, measured=one_group, built_at=at, pdf=False, png=False), tmp_path / "site"
    )
    text = index.read_text()
    assert index == tmp_path / "site" / "index.html"
    for part in (
        *("10 Gb Ethernet back to back", "Provenance", "How to cite", "@misc{netlab-openlab-2003"),
        *("What it shows<", "a line", "2026-01-06 12:00 UTC", "No PDF: not requested"),
    ):
        assert part in text, part
    assert "Table 2: Linux64 -&gt; Linux64" in (index.parent / "tables.html").read_text()
    assert "tcp_tw_recycle" in (index.parent / "precision.html").read_text()
    links = [a["href"] for a in Outline(text).named("a")]
    for link in links:
        assert (index.parent / (link.partition("#")[0] or index.name)).is_file(), link


def test_every_page_and_the_reference_name_author_and_address(one_group, notebook, tmp_path):
    credit = Credit("A. {Person} & Co", "https://example.org/report/?a=1&b=2")
    pages = [ExecutedNotebook(notebook)]
    more = {"measured": one_group, "pdf": False, "png": False}
    index = build_site(SiteContent(pages, credit=credit, **more), tmp_path / "site")
    for page in index.parent.glob("*.html"):
        (footer,) = re.findall(r'<footer class="site">(.*?)</footer>', page.read_text(), re.DOTALL)
        assert "measured by A. {Person} &amp; Co." in footer, page.name
        assert 'href="https://example.org/report/?a=1&amp;b=2"' in footer, page.name
    (reference,) = re.findall(r"@misc.*?\n}", index.read_text(), re.DOTALL)
    assert "  author = {A. Person &amp; Co},\n" in reference
    assert "  url = {https://example.org/report/?a=1&amp;b=2},\n" in reference
    index = build_site(SiteContent(pages, **more), tmp_path / "other")
    (reference,) = re.findall(r"@misc.*?\n}", index.read_text(), re.DOTALL)
    assert "author" not in reference and "url" not in reference
    assert "measured by" not in index.read_text()


@pytest.mark.parametrize("url", ["javascript:alert(1)", "example.org", "https://a b", "https://a}"])
def test_what_is_no_address_of_the_web_is_refused(url):
    with pytest.raises(BadInput, match="is not an address of the web"):
        Credit("", url)


def test_notebook_outputs_are_shown_and_code_is_hidden(notebook, tmp_path):
    text = _text(tmp_path, notebook)
    assert "<p>rich</p>" in text and "plain" not in text
    assert "a &lt; b red" in text and "\x1b" not in text
    assert "&lt;b&gt;x&lt;/b&gt;" in text and "alert(2)" not in text
    assert [i["alt"] for i in Outline(text).named("img")] == ['a "dot"', render.UNDESCRIBED]
    code = re.search(r"<details class=\"code\">.*?</details>", text, re.DOTALL)[0]
    assert "if 1 &lt; 2: print('&lt;/pre&gt;')" in code
    assert text.count("<details") == 1


def test_outputs_and_texts_of_a_notebook_have_nothing_active(tmp_path):
    output = v4.new_output("display_data", {"text/html": ACTIVE})
    cells = [v4.new_markdown_cell(ACTIVE), v4.new_code_cell("show()", outputs=[output])]
    page = render.render(_save(tmp_path / "theirs.ipynb", cells), {}, {}).body
    assert page.count("kept") == 2 and 'style="color:red"' in page
    for word in ("sprung", "<form", "<iframe", "<meta", "<style", "url(", "autofocus"):
        assert word not in page, word
    # an input without a form can only be chosen
    assert page.count("<input") == page.count('<input type="radio">') > 0


def test_links_to_and_mentions_of_a_notebook_lead_to_its_page(notebook, tmp_path):
    other = _save(tmp_path / "02-next.ipynb", [v4.new_markdown_cell("# Next\n\n## part")])
    text = _text(tmp_path, other, notebook)
    assert 'href="02-next.html#part"' in text and "99-elsewhere.ipynb" not in text
    mentions = "# It\n\n`01-first.ipynb`, [`01-first.ipynb`](01-first.ipynb) and `99-x.ipynb`."
    text = _text(tmp_path, notebook, _save(other, [v4.new_markdown_cell(mentions)]))
    assert text.count('<a href="01-first.html"><code>01-first.ipynb</code></a>') == 2
    assert "and <code>99-x.ipynb</code>." in text


def test_pages_of_a_part_are_folded_in_the_navigation(notebook, tmp_path):
    block = _save(tmp_path / "block.ipynb", [v4.new_markdown_cell("# A block")])
    pages = [ExecutedNotebook(notebook), ExecutedNotebook(block, part="Blocks <all>")]
    text = build_site(SiteContent(pages, pdf=False), tmp_path / "s").read_text()
    nav = re.search(r'<nav id="pages".*?</nav>', text, re.DOTALL)[0]
    folded = re.search(r"<details><summary>(.*?)</summary>.*?</details>", nav, re.DOTALL)
    assert folded[1] == "Blocks &lt;all&gt;: 1" and '<a href="block.html">A block</a>' in folded[0]
    assert nav.index("01-first.html") < folded.start() and text.count('"block.html"') == 1
    inside = (tmp_path / "s" / "block.html").read_text()
    assert "<details open><summary>Blocks" in inside


def test_a_progress_bar_leaves_its_last_state(tmp_path):
    steps = [v4.new_output("stream", name="stderr", text=f"\r{n} % ") for n in (0, 50, 100)]
    steps += [v4.new_output("stream", name="stdout", text="done\r\nand well\n")]
    steps += [v4.new_output("stream", name="stdout", text="\n")]
    path = _save(tmp_path / "bar.ipynb", [v4.new_code_cell("run()", outputs=steps)])
    text = _text(tmp_path, path)
    assert "100 %" in text and "50 %" not in text and "done\nand well" in text
    assert text.count('<pre class="stream') == 2


def test_a_notebook_that_failed_says_so(tmp_path):
    error = v4.new_output("error", ename="E", evalue="x", traceback=["\x1b[0;31mE\x1b[0m: <x>"])
    path = _save(tmp_path / "bad.ipynb", [v4.new_code_cell("1/0", outputs=[error])])
    assert "stopped with an error" in _text(tmp_path, path, index=True)
    assert "E: &lt;x&gt;" in (tmp_path / "s" / "bad.html").read_text()


def test_a_study_with_every_run_flagged_gives_a_report_in_which_markup_stays_text(tmp_path):
    study = synthetic.foreign(tmp_path)
    runs = synthetic.runs_of(study, change=lambda row: row.update(flags="failed", message="<&>"))
    synthetic.store_of(tmp_path / "store", study, runs)
    m = load_measured(tmp_path / "store", tmp_path / "two-racks.yml")
    site = _site(tmp_path, m)
    index = (site / "index.html").read_text()
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; two racks" in index
    for page in site.glob("*.html"):
        text = page.read_text()
        assert len(Outline(text).named("script")) == 1 and not Outline(text).named("b")
        assert "<b>left" not in text
    assert "No group of this study states a target." in (site / "tables.html").read_text()
    flags = (site / "precision.html").read_text()
    assert "Flagged runs: 2 of 2" in flags and "&lt;&amp;&gt;" in flags
    assert "1 run, all flagged: failed" in (site / "tables.html").read_text()


def test_downloads_hold_the_results_and_every_table(one_group, tmp_path):
    made = write_downloads(one_group, tmp_path)
    names = {file.removeprefix("downloads/") for files in made.values() for file in files}
    assert names == {p.name for p in (tmp_path / "downloads").iterdir()}
    assert {"cells.csv", "cells.parquet", "runs.parquet", "intervals.parquet"} <= names
    assert {"table-2-linux64-to-linux64.csv", "table-2-linux64-to-linux64.tex"} <= names
    again = read(tmp_path / "downloads" / "runs.parquet", RUN_COLUMNS)
    pd.testing.assert_frame_equal(again, one_group.runs)
    cells = pd.read_csv(tmp_path / "downloads" / "cells.csv")
    assert cells["goodput_MBps"].to_numpy() == pytest.approx(
        one_group.cells["goodput_MBps"].to_numpy(), nan_ok=True
    )
    parquet = pd.read_parquet(tmp_path / "downloads" / "cells.parquet")
    assert list(parquet) == list(cells) and parquet.attrs["units"]["goodput_MBps"] == "MB/s"
    assert parquet["goodput_MBps"].tolist() == pytest.approx(cells["goodput_MBps"], nan_ok=True)
    latex = (tmp_path / "downloads" / "table-2-linux64-to-linux64.tex").read_text()
    assert r"\toprule" in latex and r"$\pm$" in latex


def test_a_new_site_replaces_the_old_one_whole(notebook, tmp_path):
    target = tmp_path / "site"
    build_site(SiteContent([ExecutedNotebook(notebook)], pdf=False), target)
    build_site(SiteContent(pdf=False), target)
    assert not (target / "01-first.html").exists()
    assert stat.S_IMODE(target.stat().st_mode) == 0o755
    assert {p.name for p in tmp_path.iterdir()} == {"site", "01-first.ipynb"}


def test_a_failure_leaves_the_old_site_and_no_rubbish(notebook, tmp_path):
    target = tmp_path / "site"
    build_site(SiteContent([ExecutedNotebook(notebook)], pdf=False), target)
    before = _digests(target)
    torn = tmp_path / "torn.ipynb"
    torn.write_text("{")
    for bad in (torn, tmp_path / "gone.ipynb", tmp_path):
        with pytest.raises(BadInput, match=r"is not a notebook|cannot be read"):
            build_site(SiteContent([ExecutedNotebook(bad)], pdf=False), target)
    assert _digests(target) == before
    assert {p.name for p in tmp_path.iterdir()} == {"site", "01-first.ipynb", "torn.ipynb"}


@pytest.mark.parametrize(
    ("place", "named"),
    [("{work}/figures/a.svg", "{site}/figures/a.svg"), ("/tmp/other/b", "/tmp/other/b")],
)
def test_a_full_disk_names_the_file_by_its_place_in_the_site(tmp_path, place, named):
    site = tmp_path / "site"
    with pytest.raises(NetlabError) as caught, replacing(site) as work:
        raise OSError(errno.ENOSPC, "No space left on device", place.format(work=work))
    assert f"cannot write {named.format(site=site)}: No space left on device" in str(caught.value)
    assert not site.exists() and list(tmp_path.iterdir()) == []


def test_a_report_in_the_place_of_another_study_says_which_one_goes(tmp_path, monkeypatch):
    target, notes = tmp_path / "site", []

    class Shown:
        def note(self, text):
            notes.append(text)

        def step(self, *_):
            raise NetlabError("as far as this", code="E-CLI-005")

    def published(_results, _site, step, *_more, **_words):
        step("site", 0.0)

    monkeypatch.setattr("netlab.cli.reporting.publish", published)
    loaded = load(study_file("openlab-table-2"))
    for held, noted in (("racks", 1), ("openlab-table-2", 0), ("", 0)):
        with replacing(target, held):
            pass
        assert study_of_site(target) == held
        notes.clear()
        with pytest.raises(NetlabError, match="as far as this"):
            publish_site(loaded, None, tmp_path, site=target, progress=Shown(), fresh=True)
        assert len(notes) == noted
        assert not noted or f"replaces the report of racks in {target}; --site" in notes[0]
    assert study_of_site(tmp_path / "none") == ""


@pytest.mark.parametrize("failures", [1, 2])
def test_a_site_that_cannot_take_its_place_never_costs_the_old_one(tmp_path, monkeypatch, failures):
    """Two: nor can the old one be moved back, and it stays beside its place."""
    target, rename, failed = tmp_path / "site", os.rename, []
    with replacing(target) as work:
        (work / "old").touch()

    def failing(source, to):
        if Path(to) == target and len(failed) < failures:
            failed.append(source)
            raise OSError(errno.EIO, "Input/output error")
        rename(source, to)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(NetlabError, match="Input/output error"), replacing(target) as work:
        (work / "new").touch()
    (left,) = tmp_path.iterdir()
    assert len(failed) == failures and (left / "old").is_file()
    assert (left == target) == (failures == 1)


@pytest.mark.parametrize("call", ["rename", "rmtree"])
def test_a_signal_as_a_site_is_replaced_leaves_one_whole_site(tmp_path, monkeypatch, call):
    target, owner = tmp_path / "site", {"rename": os, "rmtree": shutil}[call]
    with replacing(target) as work:
        (work / "old").touch()
    whole, calls = getattr(owner, call), []

    def interrupted(path, *arguments, **words):
        calls.append(path)
        result = whole(path, *arguments, **words) if call == "rename" else None
        if len(calls) == 1:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(owner, call, interrupted)
    with pytest.raises(KeyboardInterrupt), replacing(target) as work:
        (work / "new").touch()
    monkeypatch.undo()
    assert (target / ("old" if call == "rename" else "new")).is_file()
    with replacing(target) as work:
        (work / "newest").touch()
    assert os.listdir(tmp_path) == ["site"] and (target / "newest").is_file()


@pytest.mark.parametrize("before", ["empty directory", "link to a site"])
def test_a_site_leaves_nothing_beside_it_of_what_it_takes_the_place_of(tmp_path, before):
    target, other = tmp_path / "site", tmp_path / "other"
    with replacing(other) as work:
        (work / "kept").touch()
    if before == "empty directory":
        target.mkdir()
    else:
        target.symlink_to(other)
    with replacing(target) as work:
        (work / "new").touch()
    assert {place.name for place in tmp_path.iterdir()} == {"other", "site"}
    assert (target / "new").is_file() and (other / "kept").is_file()


def test_two_reports_into_one_directory_at_once_both_succeed(tmp_path):
    """Each is replaced as a whole, and the later one stays."""
    target = tmp_path / "site"
    forked = multiprocessing.get_context("fork")
    workers = [forked.Process(target=replace_often, args=(target, 100)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert os.listdir(tmp_path) == ["site"] and len(os.listdir(target)) == 2


def replace_often(target, count):
    for number in range(count):
        with replacing(target) as work:
            (work / f"{os.getpid()}-{number}").touch()


def test_a_directory_of_other_files_is_never_replaced(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    for place, code in (("", "006"), ("thesis.tex", "005"), ("thesis.tex/site", "003")):
        with refused(NetlabError, f"E-REPORT-{code}"):
            build_site(SiteContent(pdf=False), tmp_path / place)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_a_notebook_cannot_take_the_place_of_another_or_of_a_page(notebook, tmp_path):
    of_wings = (f"{prefix}mine".removesuffix(".htmlmine") for prefix in wings.page_prefixes())
    names = ("index", "calibration", *of_wings)
    pages = [_save(tmp_path / f"{name}.ipynb", [v4.new_markdown_cell("# x")]) for name in names]
    for given in ([notebook, notebook], *([page] for page in pages)):
        with refused(BadInput, "E-REPORT-007"):
            _text(tmp_path, *given)


def test_tables_without_content_become_sentences(one_group):
    whole = one_group.runs.assign(flags="", unsupported="[]")
    quiet = replace(one_group, runs=whole)
    assert tables.unsupported(quiet)._repr_html_().startswith("<p")
    assert "No run was flagged" in repr(tables.flagged(quiet))
    assert len(tables.overhead(quiet).frame) == quiet.runs["block_id"].nunique() + 1


def test_the_table_of_flagged_runs_says_what_each_flag_means_and_what_to_do(one_group):
    runs = one_group.runs.assign(
        flags=[*["stalled,moonlight"] * 2, *[""] * (len(one_group.runs) - 2)]
    )
    note = tables.flagged(replace(one_group, runs=runs)).note
    assert f"stalled (2 runs): {meaning_of('stalled')}. To do: {remedy_of('stalled')}." in note
    assert "moonlight (2 runs): not known to this version of netlab. To do: see the message" in note
