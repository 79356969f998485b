"""Notebooks that were run or saved leave git clean, by the filter that the set-up installs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from jupyter_server.services.contents.largefilemanager import LargeFileManager
from traitlets.config.loader import PyFileConfigLoader

ROOT = Path(__file__).resolve().parents[3]
NAME = "notebooks/13-gigabit-hosts.ipynb"
CI = (".ci/clean-notebook", ".ci/setup", ".ci/jupyter_server_config.py")
FILES = (".gitattributes", ".gitignore", *CI, NAME)
GIT = ("git", "-c", "user.name=n", "-c", "user.email=n@example.org")
PRETENDED = ("ip", "tc", "ethtool", "sshd", "ssh-keygen", "ping", "traceroute", "unshare", "uv")


def git(tree: Path, *words: str) -> str:
    done = subprocess.run((*GIT, *words), cwd=tree, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture
def checkout(tmp_path):
    """A repository with one notebook, as cloned, before its set-up."""
    tree = tmp_path / "tree"
    for name in FILES:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tree / name)
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "all")
    return tree


@pytest.fixture
def set_up(tmp_path):
    """Run the set-up of a tree; what it would install or build is pretended."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in PRETENDED:
        (programs / name).write_text("#!/bin/sh\nmkdir -p .venv\n")
        (programs / name).chmod(0o755)

    def run(tree: Path) -> str:
        (tree / "native").mkdir(exist_ok=True)
        (tree / "netlab").mkdir(exist_ok=True)
        for name in ("uv.lock", "pyproject.toml"):
            (tree / name).touch()
        env = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"}
        done = subprocess.run(
            (".ci/setup",), cwd=tree, env=env, capture_output=True, text=True, check=True
        )
        return done.stdout

    return run


def changed(tree: Path) -> str:
    """Notebooks that git finds changed."""
    return git(tree, "status", "--porcelain", "--", "notebooks")


def saved(tree: Path) -> nbformat.NotebookNode:
    """The notebook, as another editor with another kernel saves it."""
    notebook = nbformat.read(tree / NAME, as_version=4)
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"name": "mine", "display_name": "Mine", "language": "python"},
            "language_info": {"name": "python", "version": "3.99", "mimetype": "text/x-python"},
            "widgets": {"state": {}},
        }
    )
    for cell in notebook.cells:
        cell.metadata["editable"] = True
        cell.metadata["collapsed"] = False
    write(tree, notebook)
    return notebook


def write(tree: Path, notebook: nbformat.NotebookNode) -> None:
    nbformat.write(notebook, tree / NAME)


def save_in_jupyter(tree: Path, notebook: nbformat.NotebookNode) -> None:
    """Save as a server with the settings of the set-up does."""
    folder = str(tree / ".venv" / "etc" / "jupyter")
    config = PyFileConfigLoader("jupyter_server_config.py", folder).load_config()
    server = LargeFileManager(root_dir=str(tree), config=config)
    server.save({"type": "notebook", "format": "json", "content": notebook}, NAME)


def execute_in_place(tree: Path) -> None:
    argv = (sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--inplace", NAME)
    subprocess.run(argv, cwd=tree, capture_output=True, check=True, timeout=300)


def test_a_notebook_that_was_run_and_saved_has_no_difference_and_nothing_to_commit(
    checkout, set_up
):
    set_up(checkout)
    before = (checkout / NAME).read_bytes()
    execute_in_place(checkout)
    assert b'"output_type"' in (checkout / NAME).read_bytes()
    assert git(checkout, "diff") == ""
    save_in_jupyter(checkout, nbformat.read(checkout / NAME, as_version=4))
    assert b'"output_type"' in (checkout / NAME).read_bytes()
    assert changed(checkout) == ""
    notebook = saved(checkout)
    save_in_jupyter(checkout, notebook)
    assert changed(checkout) == ""
    saved(checkout)
    git(checkout, "add", "--update")
    assert changed(checkout) == ""
    assert git(checkout, "show", f":{NAME}").encode() == before
    notebook.cells[-1].source += "\n# mine"
    for save in (lambda: save_in_jupyter(checkout, notebook), lambda: write(checkout, notebook)):
        save()
        assert changed(checkout) == f" M {NAME}\n", "an edit shows, and is not staged"
        assert git(checkout, "diff", "--cached") == ""
    diff = git(checkout, "diff", "-U0").splitlines()
    added = [line for line in diff if line.startswith("+ ")]
    assert any("# mine" in line for line in added) and len(added) <= 2


def test_a_commit_that_lacks_the_filter_can_be_worked_on(checkout, set_up):
    set_up(checkout)
    git(checkout, "rm", "-q", ".ci/clean-notebook")
    saved(checkout)
    git(checkout, "commit", "-q", "-a", "-m", "without")
    assert json.loads(git(checkout, "show", f"HEAD:{NAME}"))["metadata"]["widgets"]


def test_without_git_the_set_up_configures_nothing_of_a_tree_above(tmp_path, set_up):
    outer, tree = tmp_path / "outer", tmp_path / "outer" / "netlab-0.1.0"
    (tree / ".ci").mkdir(parents=True)
    for name in CI:
        shutil.copy2(ROOT / name, tree / name)
    git(outer, "init", "-q")
    before = (outer / ".git" / "config").read_text()
    assert "ready" in set_up(tree)
    assert (outer / ".git" / "config").read_text() == before


def cleaned(text: str) -> str:
    argv = (str(ROOT / ".ci" / "clean-notebook"),)
    return subprocess.run(argv, input=text, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("text", ["", "no notebook", "[]", '{"cells": [1]}', '{"cells": "a"}'])
def test_what_is_not_a_notebook_passes_unchanged(text):
    assert cleaned(text) == text


def test_cells_that_papermill_adds_are_dropped_and_tags_stay():
    cells = [
        nbformat.v4.new_code_cell("a = 1", metadata={"tags": ["parameters"], "trusted": True}),
        nbformat.v4.new_code_cell("a = 2", metadata={"tags": ["injected-parameters"]}),
    ]
    text = nbformat.writes(nbformat.v4.new_notebook(cells=cells))
    (left,) = json.loads(cleaned(text))["cells"]
    assert left["source"] == ["a = 1"] and left["metadata"] == {"tags": ["parameters"]}
