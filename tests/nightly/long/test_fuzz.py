"""Every fuzz target for a minute; new inputs stay in the test's directory."""

from __future__ import annotations

import pytest
from native.built_core import CLANG, FUZZ_TARGETS, fuzz

FUZZ_S = 60


@pytest.fixture(scope="module")
def fuzzers(build):
    options = (f"-DCMAKE_C_COMPILER={CLANG}", "-DNL_FUZZERS=ON", "-DNL_SANITIZE=address,undefined")
    targets = [f"fuzz_{name}" for name in FUZZ_TARGETS]
    return build("fuzz", *options, targets=targets) / "tests"


@pytest.mark.timeout(FUZZ_S + 600)
@pytest.mark.parametrize("target", FUZZ_TARGETS)
def test_no_input_breaks_a_parser(fuzzers, tmp_path, target):
    fuzz(fuzzers / f"fuzz_{target}", target, FUZZ_S, tmp_path)
