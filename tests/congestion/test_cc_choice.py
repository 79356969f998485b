"""Choice of a host's congestion control for a name."""

import pytest

from netlab.congestion import CcChoice, choose
from netlab.errors import Unsupported
from netlab.study import Stack

KERNEL = ("reno", "bbr", "cubic")
WAD = Stack(law="aimd", increase=6.0, decrease=0.3)


def chosen(names, defined=None, available=KERNEL, modules=()):
    return choose("left", names, defined or {}, available, lambda name: name in modules)


def test_the_kernels_own_comes_first():
    assert chosen(("cubic", "reno")) == (CcChoice("cubic", "kernel"), CcChoice("reno", "kernel"))
    (scalable,) = chosen(("scalable",), available=(*KERNEL, "scalable"), modules=("tcp_scalable",))
    assert scalable.source == "kernel"


def test_then_a_module_of_it():
    (found,) = chosen(("highspeed",), modules=("tcp_highspeed",))
    assert (found.source, found.module, found.stack) == ("module", "tcp_highspeed", None)


@pytest.mark.parametrize("law", ["scalable", "highspeed", "aimd", "fast"])
def test_then_netlabs_with_the_parameters_of_its_publication(law):
    assert chosen((law,)) == (CcChoice(law, "bpf", Stack(law=law)),)


def test_a_stack_of_the_study_takes_precedence_over_the_kernels():
    found = chosen(("wad", "cubic"), {"wad": WAD, "cubic": WAD}, modules=("tcp_wad",))
    assert found == (CcChoice("wad", "bpf", WAD), CcChoice("cubic", "bpf", WAD))


def test_an_unavailable_control_is_refused_with_the_available_ones():
    with pytest.raises(Unsupported, match="left: no congestion control 'vegas' in its kernel") as e:
        chosen(("reno", "vegas"))
    assert "the kernel has reno, bbr, cubic" in str(e.value)
    assert "netlab has scalable, highspeed, aimd, fast" in str(e.value)


def test_a_declared_control_of_the_kernels_own_is_never_brought():
    """``law: kernel`` names a module from outside of Linux, even where netlab has that name."""
    declared = {name: Stack(law="kernel") for name in ("bbr9", "fast")}
    there, has_none = ("reno", "bbr9"), lambda module: False
    assert choose("a", ("bbr9",), declared, there, has_none) == (CcChoice("bbr9", "kernel"),)
    assert choose("a", ("fast",), declared, there, lambda m: m == "tcp_fast") == (
        CcChoice("fast", "module"),
    )
    with pytest.raises(Unsupported, match="'fast'"):
        choose("a", ("fast",), declared, there, has_none)
