"""Fixtures of the native tests."""

from native.conftest import agent, build, gensink, own_network, path, start_agent

__all__ = ["agent", "build", "gensink", "own_network", "path", "start_agent"]
