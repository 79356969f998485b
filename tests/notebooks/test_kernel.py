"""The kernel of netlab's notebooks is that of the interpreter that runs netlab."""

import asyncio
import json
import signal
import sys

import pytest
from foreign_wings import install
from jupyter_client.manager import AsyncKernelManager

from netlab.errors import NetlabError
from netlab.notebooks.kernel import Kernel, local_manager


def test_a_kernel_of_the_same_name_in_the_users_directory_is_not_taken(tmp_path, monkeypatch):
    other = tmp_path / "jupyter" / "kernels" / "python3"
    other.mkdir(parents=True)
    (other / "kernel.json").write_text(
        json.dumps({"argv": ["/bin/false"], "display_name": "other", "language": "python"})
    )
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    argv = local_manager(str(tmp_path)).kernel_spec.argv
    assert argv[1:4] == ["-P", "-m", "ipykernel_launcher"]
    with Kernel() as kernel:
        kernel.execute(f"import sys; assert sys.prefix == {sys.prefix!r}")


def test_a_kernel_imports_nothing_from_the_current_directory(tmp_path, monkeypatch):
    """It may hold files of others; pandas imports a `numexpr` wherever there is one."""
    for name in ("numexpr", "ipykernel_launcher"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('executed')")
    monkeypatch.chdir(tmp_path)
    with Kernel() as kernel, pytest.raises(NetlabError, match="No module named 'numexpr'"):
        kernel.execute("import numexpr")


BROKEN = """
[project]
name = "netlab-trex"
version = "1"
[project.entry-points."netlab.wings"]
trex = "netlab_trex:wing"
"""


def test_a_wing_that_cannot_be_loaded_is_not_named_on_the_page_of_a_notebook(tmp_path, monkeypatch):
    env = install(tmp_path, {"pyproject.toml": BROKEN, "netlab_trex.py": "import no_libtrex"})
    monkeypatch.setenv("PYTHONPATH", env["PYTHONPATH"])
    with Kernel() as kernel:
        kernel.execute(
            "import sys, warnings\nfrom netlab.wings import wings\n"
            "with warnings.catch_warnings(record=True) as shown: found = wings()\n"
            "assert 'trex' not in found and not shown, shown\n"
            f"assert {str(tmp_path)!r} in sys.path"
        )


def test_an_interrupt_while_a_kernel_starts_is_an_interrupt_and_leaves_no_process(monkeypatch):
    started = []
    after = AsyncKernelManager._async_post_start_kernel

    async def post_start(manager, **kwargs):
        started.append(manager)
        await after(manager, **kwargs)
        asyncio.get_running_loop().call_soon(signal.raise_signal, signal.SIGINT)

    monkeypatch.setattr(AsyncKernelManager, "_async_post_start_kernel", post_start)
    with pytest.raises(KeyboardInterrupt), Kernel():
        raise AssertionError("not reached")
    assert not started[0].has_kernel
