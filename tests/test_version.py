"""Results name the release and the commit that measured them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import netlab
from netlab.version import version


def git(tree: Path, *argv: str) -> str:
    own = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ("git", *own, "-C", str(tree), *argv), capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def package(tree: Path) -> Path:
    """A tree with a package and one commit, tagged, as a release is."""
    (tree / "netlab").mkdir(parents=True)
    (tree / "netlab" / "file").write_text("1")
    git(tree, "init", "--quiet")
    git(tree, "add", ".")
    git(tree, "commit", "--quiet", "--message", "first")
    git(tree, "tag", "v1")
    return tree / "netlab"


def test_a_checkout_names_its_commit_and_uncommitted_changes(tmp_path, monkeypatch):
    clean, changed = package(tmp_path / "clean"), package(tmp_path / "changed")
    (changed / "file").write_text("2")
    commit = git(clean.parent, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "of-a-hook"))
    assert version(clean) == f"{netlab.__version__}+g{commit[:12]}"
    assert version(changed).endswith(".dirty")


def test_an_installation_names_the_commit_it_was_built_from(tmp_path):
    (tmp_path / "netlab" / "_data").mkdir(parents=True)
    (tmp_path / "netlab" / "_data" / "COMMIT").write_text("1a2b3c4d5e6f\n")
    assert version(tmp_path / "netlab") == f"{netlab.__version__}+g1a2b3c4d5e6f"


def test_an_unpacked_archive_inside_another_repository_names_the_release_alone(tmp_path):
    outer = package(tmp_path / "outer")
    assert version(outer / "unpacked" / "netlab") == netlab.__version__
