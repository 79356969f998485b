"""A DuckDB connection that is bounded in memory and never reaches a network."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from netlab.errors import NetlabError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MEMORY = "2GiB"
"""Limit of DuckDB's own memory; beyond it DuckDB writes to a temporary directory."""

THREADS = 2


@contextmanager
def database() -> Iterator[DuckDBPyConnection]:
    """Open a database in memory, which spills to a temporary directory."""
    if importlib.util.find_spec("duckdb") is None:
        raise NetlabError(
            "queries of many stores need DuckDB, which is not installed: "
            "pip install 'netlab[fleet]', or `uv sync --extra fleet` in a checkout",
            code="E-FLEET-040",
        )
    import duckdb

    settings = {
        "memory_limit": MEMORY,
        "threads": str(THREADS),
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "preserve_insertion_order": "false",
    }
    with TemporaryDirectory(prefix="netlab-spill-") as spill:
        connection = duckdb.connect(config={**settings, "temp_directory": spill})
        try:
            connection.execute("SET enable_progress_bar = false")
            yield connection
        except duckdb.Error as error:
            reason = " ".join(str(error).split())[:300]
            raise NetlabError(
                f"the results cannot be queried: {reason}", code="E-FLEET-041"
            ) from None
        finally:
            connection.close()


def quoted(text: str) -> str:
    """A string literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def files_of(paths: list[str]) -> str:
    """A list of files in SQL."""
    return "[" + ", ".join(quoted(path) for path in paths) + "]"
