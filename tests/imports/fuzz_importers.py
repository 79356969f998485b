"""Fuzz target of the importers; the corpus is that of the recorded outputs.

    uv run --with atheris python tests/imports/fuzz_importers.py \
        NEW_CORPUS tests/outputs/recorded -max_total_time=600

Arguments are libFuzzer's. A finding is an exception other than a refusal that names its line, or an
imported value out of its bounds."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FunctionType

import atheris

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]
from imports.readers import imports_or_refuses  # noqa: E402

if __name__ == "__main__":
    for name, module in sorted(sys.modules.items()):
        if name.startswith("netlab.imports"):
            for each in vars(module).values():
                if isinstance(each, FunctionType) and each.__module__ == name:
                    atheris.instrument_func(each)
    atheris.Setup(sys.argv, lambda content: imports_or_refuses(bytes(content)) and None)
    atheris.Fuzz()
