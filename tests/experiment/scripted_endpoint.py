"""An endpoint whose host is scripted."""

from __future__ import annotations

from types import SimpleNamespace

from netlab.files.recorded_facts import end_facts
from netlab.hosts.stack import InterfaceStack


def endpoint(name: str, agent=None, clamps=(None, None), drift=()) -> SimpleNamespace:
    """A double of an endpoint."""
    return SimpleNamespace(
        name=name,
        agent=agent,
        address=f"198.18.0.{ord(name)}",
        own_address=f"198.18.0.{ord(name)}",
        ports=None,
        interface=f"to-{name}",
        buffer_clamps=lambda: clamps,
        may_force=True,
        stack=InterfaceStack(()),
        facts=end_facts({}),
        kernel_names=lambda congestion: f"nl_{congestion}",
        drift=lambda: list(drift),
    )
