"""Reports on a branch of a git repository, below one index."""

from __future__ import annotations

import html
import subprocess

import pandas as pd
import pytest
import synthetic
from click.testing import CliRunner

from netlab.analysis.measured import from_frames
from netlab.cli import main
from netlab.errors import BadInput
from netlab.report.publication import published
from netlab.report.site import build_site


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    """Reports of one study on three days, the last a tenth slower."""
    place, made = tmp_path_factory.mktemp("sites"), []
    for day, factor in enumerate((1.0, 1.0, 0.9)):
        study = synthetic.foreign(place)
        runs = synthetic.runs_of(study, seed=day)
        later = runs["started_at"] + pd.Timedelta(days=day)
        runs = runs.assign(goodput_MBps=runs["goodput_MBps"] * factor, started_at=later)
        synthetic.store_of(place / f"store{day}", study, runs)
        measured = from_frames(study, runs, None, place / f"store{day}")
        index = build_site([], place / f"site{day}", measured=measured, pdf=False, png=False)
        made.append(index.parent)
    return made


@pytest.fixture
def repository(tmp_path, monkeypatch):
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "A Person")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "person@example.org")
    subprocess.run(["git", "init", "--quiet", "--bare", tmp_path / "bare"], check=True)
    return tmp_path / "bare"


def publish(*words, answer="y\n"):
    return CliRunner().invoke(main, ["publish", *map(str, words)], input=answer)


def files_of(repository):
    argv = ["git", "-C", repository, "ls-tree", "-r", "--name-only", "gh-pages"]
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.split()


def page_of(repository):
    argv = ["git", "-C", repository, "show", "gh-pages:index.html"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def test_reports_get_addresses_and_an_index_with_the_newest_first(sites, repository, monkeypatch):
    first = publish(sites[0], "--to", repository)
    assert first.exit_code == 0, first.output
    assert "expose 3 host names, " in first.output
    monkeypatch.chdir(repository.parent)
    both = publish(*sites[1:], "--to", "bare", "--yes", answer="")
    assert both.exit_code == 0, both.output
    stamps = [f"two-racks/{published(site).last:%Y%m%dT%H%M%SZ}" for site in sites]
    kept = [name for name in files_of(repository) if name.endswith("/index.html")]
    assert kept == [f"{stamp}/index.html" for stamp in stamps]
    page = page_of(repository)
    places = [page.index(f'href="{stamp}/index.html"') for stamp in stamps]
    assert places == sorted(places, reverse=True)
    assert html.escape(published(sites[2]).answer) in page
    assert "×0.90" in page  # the step from the second report to the third
    assert "nothing pushed" in publish(sites[1], "--to", repository, "--yes").output


def test_nothing_is_pushed_without_a_yes(sites, repository):
    refused = publish(sites[0], "--to", repository, answer="n\n")
    assert "nothing pushed" in refused.output
    assert publish(sites[0], "--to", repository, answer="").exit_code == 1
    assert files_of(repository) == []


def test_what_is_no_report_or_no_repository_is_refused(sites, tmp_path):
    with pytest.raises(BadInput) as refused:
        published(tmp_path)
    assert refused.value.code == "E-REPORT-015"
    refusal = publish(sites[0], "--to", tmp_path / "none", "--yes")
    assert refusal.exit_code == 1 and "E-REPORT-016" in refusal.output
