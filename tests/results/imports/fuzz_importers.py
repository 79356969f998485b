"""Fuzz target of the importers; the corpus is `recorded/`.

    uv run --with atheris python tests/results/imports/fuzz_importers.py \
        NEW_CORPUS tests/results/imports/recorded -max_total_time=600

Arguments are libFuzzer's. A finding is an exception other than a refusal that names its line, or an
imported value out of its bounds."""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[3])]
with atheris.instrument_imports(include=["netlab.results.imports", "netlab.files"]):
    from results.imports.test_import_damage import imports_or_refuses

if __name__ == "__main__":
    atheris.Setup(sys.argv, lambda content: imports_or_refuses(bytes(content)) and None)
    atheris.Fuzz()
