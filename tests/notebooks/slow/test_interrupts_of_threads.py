"""Ctrl-C at the terminal ends a notebook that a thread executes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

SCRIPT = """
import asyncio, signal, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import nbformat
from nbformat.v4 import new_code_cell, new_notebook
from netlab.notebooks.execution import execute

CODE = '''
import os, time
from netlab.notebooks import progress
try:
    progress.announce("begun")
    while not os.path.exists("go"):
        time.sleep(0.05)
finally:
    print("reverted", file=open("reverted", "w"))
'''
cell = new_code_cell("x = 1", metadata={"tags": ["parameters"]})
nbformat.write(new_notebook(cells=[cell, new_code_cell(CODE)]), "a.ipynb")

def said(text):
    print(text, flush=True)

def work():
    try:
        execute(Path("a.ipynb"), Path("out.ipynb"), {}, on_progress=said)
    except KeyboardInterrupt:
        print("interrupted in the thread", flush=True)
        raise

async def in_a_thread():
    await asyncio.to_thread(work)

def in_a_pool():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()

if sys.argv[1] == "ignored":
    signal.signal(signal.SIGINT, lambda number, frame: print("own handler", flush=True))
try:
    in_a_pool() if sys.argv[1] == "pool" else asyncio.run(in_a_thread())
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def begun(tmp_path, how: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, how],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # its group stands for the foreground of a terminal
    )
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    return process


@pytest.mark.parametrize("how", ["asyncio", "pool"])
def test_ctrl_c_ends_the_notebook_of_a_thread(tmp_path, how):
    process = begun(tmp_path, how)
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=120)
    assert output.splitlines() == ["interrupted in the thread", "interrupted"]
    assert (tmp_path / "reverted").exists() and not (tmp_path / "out.ipynb").exists()


def test_a_handler_of_the_callers_own_decides(tmp_path):
    process = begun(tmp_path, "ignored")
    os.killpg(process.pid, signal.SIGINT)
    assert process.stdout is not None and process.stdout.readline() == "own handler\n"
    (tmp_path / "go").touch()
    output, _ = process.communicate(timeout=120)
    assert output == "" and (tmp_path / "out.ipynb").exists()
