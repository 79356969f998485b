"""Choice of a host's congestion control for a name."""

import pytest

from netlab.congestion import OWN_LAWS, CcChoice, choose
from netlab.errors import Unsupported
from netlab.study import Stack

KERNEL = ("reno", "bbr", "cubic")
WAD = Stack(law="aimd", increase=6.0, decrease=0.3)
OUTSIDE = Stack(law="kernel")
"""A module from outside of Linux, even where netlab has that name."""


@pytest.mark.parametrize(
    ("name", "defined", "available", "modules", "found"),
    [
        ("cubic", None, KERNEL, (), CcChoice("cubic", "kernel")),
        (
            "scalable",
            None,
            (*KERNEL, "scalable"),
            ("tcp_scalable",),
            CcChoice("scalable", "kernel"),
        ),
        ("highspeed", None, KERNEL, ("tcp_highspeed",), CcChoice("highspeed", "module")),
        *((law, None, KERNEL, (), CcChoice(law, "bpf", Stack(law=law))) for law in OWN_LAWS),
        ("wad", WAD, KERNEL, ("tcp_wad",), CcChoice("wad", "bpf", WAD)),
        ("cubic", WAD, KERNEL, (), CcChoice("cubic", "bpf", WAD)),
        ("bbr9", OUTSIDE, ("reno", "bbr9"), (), CcChoice("bbr9", "kernel")),
        ("fast", OUTSIDE, KERNEL, ("tcp_fast",), CcChoice("fast", "module")),
    ],
)
def test_the_studys_own_comes_before_the_kernels_a_module_and_netlabs(
    name, defined, available, modules, found
):
    stacks = {name: defined} if defined else {}
    assert choose("left", (name,), stacks, available, lambda m: m in modules) == (found,)
    assert found.module == f"tcp_{name}"


@pytest.mark.parametrize(("name", "defined"), [("vegas", {}), ("fast", {"fast": OUTSIDE})])
def test_an_unavailable_control_is_refused_with_the_available_ones(name, defined):
    with pytest.raises(Unsupported, match=f"left: no congestion control '{name}' in its") as e:
        choose("left", ("reno", name), defined, KERNEL, lambda module: False)
    assert "the kernel has reno, bbr, cubic" in str(e.value)
    assert "netlab has scalable, highspeed, aimd, fast" in str(e.value)
