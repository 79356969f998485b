"""The kernel of netlab's notebooks is that of the interpreter that runs netlab."""

import json
import sys

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
    assert argv[1:3] == ["-m", "ipykernel_launcher"]
    with Kernel(f"import sys; assert sys.prefix == {sys.prefix!r}") as kernel:
        kernel.execute("assert sys.prefix")
