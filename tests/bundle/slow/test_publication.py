"""Reports on a branch of a git repository, below one index."""

from __future__ import annotations

import html
import os
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
import synthetic
from click.testing import CliRunner

from netlab.analysis.measured import from_frames
from netlab.bundle.publish import published, write_index
from netlab.cli import main
from netlab.errors import BadInput
from netlab.report.site import SiteContent, build_site
from netlab.report.site_directory import MARKER


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
        index = build_site(
            SiteContent(measured=measured, pdf=False, png=False), place / f"site{day}"
        )
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
    assert page.count(" UTC</a>: Quality gate passed</li>") == 3
    assert "×0.90" in page  # the step from the second report to the third
    assert "nothing pushed" in publish(sites[1], "--to", repository, "--yes").output


def test_the_index_says_what_keeps_a_report_below_the_quality_gate(tmp_path):
    study = synthetic.foreign(tmp_path)
    runs = synthetic.runs_of(study)
    runs.loc[::2, "flags"] = "interference"
    synthetic.store_of(tmp_path / "store", study, runs)
    measured = from_frames(study, runs, None, tmp_path / "store")
    report = published(
        build_site(
            SiteContent(measured=measured, pdf=False, png=False), tmp_path / "two-racks" / "1"
        ).parent
    )
    assert report.state.startswith("Below the quality gate: ") and "flagged" in report.state
    write_index(tmp_path)
    assert f" UTC</a>: {html.escape(report.state)}</li>" in (tmp_path / "index.html").read_text()


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


def git(*words, cwd=None, **env):
    done = subprocess.run(
        ["git", *map(str, words)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **{name: str(value) for name, value in env.items()}},
    )
    return done.stdout


@pytest.fixture
def own(tmp_path, repository):
    """A repository of the user's with a private commit, and a linked worktree of it."""
    place = tmp_path / "own"
    git("init", "--quiet", "--initial-branch", "main", place)
    (place / "private.txt").write_text("secret\n")
    git("add", ".", cwd=place)
    git("commit", "--quiet", "-m", "private", cwd=place)
    git("worktree", "add", "--quiet", tmp_path / "linked", "-b", "linked", cwd=place)
    return place


def state(place):
    refs = git("for-each-ref", cwd=place)
    return refs, git("rev-parse", "HEAD", cwd=place), git("status", "--porcelain", cwd=place)


@pytest.mark.parametrize("there", [False, True], ids=["new branch", "present branch"])
def test_a_hook_of_a_linked_worktree_publishes_the_report_alone(
    sites, repository, own, monkeypatch, there
):
    """git sets GIT_DIR in the hooks of a linked worktree."""
    if there:
        assert publish(sites[1], "--to", repository, "--yes").exit_code == 0
    linked = own.parent / "linked"
    before = state(own), state(linked)
    place = git("rev-parse", "--absolute-git-dir", cwd=linked).strip()
    monkeypatch.chdir(linked)
    monkeypatch.setenv("GIT_DIR", place)
    monkeypatch.setenv("GIT_INDEX_FILE", f"{place}/index")
    monkeypatch.setenv("GIT_WORK_TREE", str(linked))
    done = publish(sites[0], "--to", repository, "--yes")
    monkeypatch.delenv("GIT_DIR")
    monkeypatch.delenv("GIT_INDEX_FILE")
    monkeypatch.delenv("GIT_WORK_TREE")
    assert done.exit_code == 0, done.output
    assert (state(own), state(linked)) == before
    log = git("log", "--format=%s", "gh-pages", cwd=repository).split("\n")
    assert all(line.startswith("reports: two-racks/") for line in log if line)
    assert "private.txt" not in files_of(repository)


SETTINGS = """
[core]
    excludesFile = {place}/ignored
    attributesFile = {place}/attributes
    hooksPath = {place}/hooks
    autocrlf = true
    ignoreCase = true
[commit]
    gpgSign = true
[push]
    followTags = true
[init]
    defaultBranch = trunk
    templateDir = {place}/template
[filter "shout"]
    clean = tr a-z A-Z
"""


def test_the_users_settings_of_git_change_no_file(sites, repository, tmp_path, monkeypatch):
    (tmp_path / "config").write_text(SETTINGS.format(place=tmp_path))
    (tmp_path / "ignored").write_text("*.csv\n*.parquet\n*.html\n")
    (tmp_path / "attributes").write_text("*.html filter=shout\n")
    for hook in ("hooks/pre-commit", "hooks/pre-push", "template/hooks/post-commit"):
        file = tmp_path / hook
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n")
        file.chmod(0o755)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    site = tmp_path / "site"
    shutil.copytree(sites[0], site)
    for name in ("Names.txt", "names.txt"):
        (site / name).write_text(name)
    done = publish(site, "--to", repository, "--yes")
    assert done.exit_code == 0, done.output
    assert not (tmp_path / "ran").exists()
    same_files(repository, site)


def same_files(repository, site):
    place = published(site).place
    wanted = {p.relative_to(site) for p in site.rglob("*") if p.is_file()}
    for path in wanted - {Path(MARKER)}:
        argv = ["git", "-C", repository, "show", f"gh-pages:{place}/{path}"]
        stored = subprocess.run(argv, capture_output=True, check=True).stdout
        assert stored == (site / path).read_bytes(), path
    listed = [name for name in files_of(repository) if name.startswith(place)]
    assert len(listed) == len(wanted) - (site / MARKER).exists()


@pytest.mark.parametrize("link", ["two-racks", "two-racks/{stamp}", "index.html"])
def test_a_link_in_the_branch_is_never_followed(sites, repository, tmp_path, link):
    place = published(sites[0]).place
    link = link.format(stamp=place.partition("/")[2])
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / place.partition("/")[2]).mkdir(parents=True)
    (elsewhere / "kept").write_text("kept")
    work = tmp_path / "work"
    git("init", "--quiet", "--initial-branch", "gh-pages", work)
    (work / link).parent.mkdir(exist_ok=True)
    (work / link).symlink_to(elsewhere / "kept" if link == "index.html" else elsewhere)
    (work / "latest").symlink_to("two-racks")
    git("add", ".", cwd=work)
    git("commit", "--quiet", "-m", "links", cwd=work)
    git("push", "--quiet", repository, "HEAD:gh-pages", cwd=work)
    before = sorted(elsewhere.rglob("*"))
    done = publish(sites[0], "--to", repository, "--yes")
    assert sorted(elsewhere.rglob("*")) == before
    assert (elsewhere / "kept").read_text() == "kept"
    if link == "index.html":
        assert done.exit_code == 0, done.output
        modes = git("ls-tree", "gh-pages", cwd=repository)
        assert "100644 blob" in modes.split("index.html")[0].splitlines()[-1]
        assert "120000 blob" in modes.split("latest")[0].splitlines()[-1]
        same_files(repository, sites[0])
    else:
        assert done.exit_code == 1 and "E-REPORT-021" in done.output and link in done.output


def test_a_link_in_a_site_is_named_and_its_target_is_not_published(sites, repository, tmp_path):
    key = tmp_path / "id_ed25519"
    key.write_text("PRIVATE")
    site = tmp_path / "site"
    shutil.copytree(sites[0], site)
    (site / "downloads" / "key.txt").symlink_to(key)
    (site / "ssh").symlink_to(tmp_path)
    os.mkfifo(site / "pipe")
    (site / "two\nlines.txt").write_text("x")
    (site / os.fsdecode(b"\xff.txt")).write_text("x")
    (site / ".gitignore").write_text("*\n")
    done = publish(site, "--to", repository, "--yes")
    assert done.exit_code == 0, done.output
    assert all(name in done.output for name in ("downloads/key.txt", "site/ssh", "site/pipe"))
    shown = files_of(repository)
    assert not any(name.endswith(("key.txt", "/ssh", "/pipe")) for name in shown)
    assert any(name.endswith("/.gitignore") for name in shown) and "lines.txt" in done.output


def test_two_sites_with_one_address_are_refused(sites, repository):
    done = publish(sites[0], sites[0], "--to", repository, "--yes")
    assert done.exit_code == 2 and "E-REPORT-023" in done.output
    assert files_of(repository) == []


def test_a_machine_without_git_is_told_so(sites, repository, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    done = publish(sites[0], "--to", repository, "--yes")
    assert done.exit_code == 1 and "git is not installed" in done.output


@pytest.mark.parametrize("words", [("--to=--upload-pack=touch ran",), ("--to", "x", "--branch=-f")])
def test_a_name_that_git_would_take_for_an_option_is_refused(sites, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    done = publish(sites[0], *words, "--yes")
    assert done.exit_code == 2 and "E-REPORT-018" in done.output
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("branch", ["a..b", "wip~", "HEAD", "a b"])
def test_a_branch_that_git_cannot_have_is_named_with_its_reason(sites, repository, branch):
    done = publish(sites[0], "--to", repository, "--branch", branch, "--yes")
    assert done.exit_code == 2 and "--branch: git has no branch of this name" in done.output
    assert f"(found {branch!r}) [E-REPORT-046]" in done.output


def test_inside_a_repository_its_remotes_and_its_author_count(
    sites, repository, own, tmp_path, monkeypatch
):
    """Somebody who set his name for this repository alone, and publishes to its remote."""
    for name in ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL"):
        monkeypatch.delenv(f"GIT_{name}")
    (tmp_path / "global").write_text("[user]\n    name = Private\n    useConfigOnly = true\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "global"))
    git("config", "user.name", "Jörg Ähre", cwd=own)
    git("config", "user.email", "jörg@example.org", cwd=own)
    git("remote", "add", "origin", "../bare", cwd=own)
    (own / "below").mkdir()
    monkeypatch.chdir(own / "below")
    before = state(own)
    done = publish(sites[0], "--to", "origin", "--yes")
    assert done.exit_code == 0, done.output
    assert state(own) == before
    log = git("log", "--format=%an <%ae> %cn", "gh-pages", cwd=repository)
    assert log == "Jörg Ähre <jörg@example.org> Jörg Ähre\n"


def test_other_pages_of_the_branch_stay(sites, repository, tmp_path):
    work = tmp_path / "work"
    git("init", "--quiet", "--initial-branch", "gh-pages", work)
    (work / "docs" / "guide").mkdir(parents=True)
    (work / "docs" / "guide" / "index.html").write_text("<title>Not a report</title>\r\n")
    (work / ".gitattributes").write_text("* text=auto eol=lf\n")
    git("add", ".", cwd=work)
    git("commit", "--quiet", "-m", "pages", cwd=work)
    git("push", "--quiet", repository, "HEAD:gh-pages", cwd=work)
    blob = git("rev-parse", "gh-pages:docs/guide/index.html", cwd=repository)
    assert publish(sites[0], "--to", f"file://{repository}", "--yes").exit_code == 0
    assert git("rev-parse", "gh-pages:docs/guide/index.html", cwd=repository) == blob
    same_files(repository, sites[0])
