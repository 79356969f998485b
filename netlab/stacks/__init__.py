"""TCP stacks of a study: the kernel's own, a module of it, or a window law of netlab's in BPF."""

from netlab.stacks.choice import Choice, choose
from netlab.stacks.held import Held, Stacks, hold

__all__ = ["Choice", "Held", "Stacks", "choose", "hold"]
