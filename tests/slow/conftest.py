"""Results that netlab finds by name."""

from tests.face.conftest import home, no_window, results

__all__ = ["home", "no_window", "results"]
