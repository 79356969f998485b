"""Import mutated recordings for some time, without coverage: 20 times as fast as the fuzz target.

    python tests/results/imports/mutate_importers.py SECONDS [SEED]

Prints the number of inputs, of those refused, and each finding with the file that has its input. A
finding is an exception other than a refusal that names its line, or an imported value out of its
bounds."""

from __future__ import annotations

import gzip
import itertools
import random
import sys
import tempfile
import time
from bisect import bisect
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[3])]
from results.imports.test_import_damage import PLAIN, imports_or_refuses  # noqa: E402

BATCH = 2000
DIGITS = range(ord("0"), ord("9") + 1)
NUMBERS = (b"", b"-", b"0", b"9" * 12, b".", b"e9")
TOKENS = (
    *(b"{", b"}", b"[", b"]", b",", b":", b'"', b"null", b"true", b"NaN", b"Infinity"),
    *(
        b"-1",
        b"0",
        b"1e308",
        b"1e999",
        b"-0.0",
        b"9" * 30,
        b"18446744073709551616",
        b"-",
        b".",
        b"e",
    ),
    *(b"\n", b"\r\n", b" ", b"\t", b"\x00", b"\xff", b"\x85", b"\xc3\xa9", b"\xe2\x80\xa8"),
    *(b"sec", b"MBytes", b"Mbits/sec", b"[SUM]", b"[ ID]"),
)


class Mutations:
    """Inputs near the recorded ones; short recordings are drawn more often."""

    def __init__(self, seed: int):
        self.random = random.Random(seed).random
        self.seeds = [*PLAIN.values(), *(gzip.compress(text) for text in PLAIN.values())]
        self.weights = list(itertools.accumulate(1 / (300 + len(text)) for text in self.seeds))

    def drawn(self) -> bytes:
        """A recording with one to six changes."""
        text = bytearray(self.seeds[bisect(self.weights, self.random() * self.weights[-1])])
        for _ in range(1 + int(self.random() * self.random() * 6)):
            self._change(text, self._below(len(text) or 1))
        return bytes(text)

    def _below(self, n: int) -> int:
        return int(self.random() * n)

    def _change(self, text: bytearray, at: int) -> None:
        token, kind = TOKENS[self._below(len(TOKENS))], self.random()
        if kind < 0.25:
            text[at : at + 1] = bytes([self._below(256)])
        elif kind < 0.40:
            text[at : at + 1] = bytes(byte ^ 1 << self._below(8) for byte in text[at : at + 1])
        elif kind < 0.55:
            text[at:at] = token
        elif kind < 0.70:
            text[at : at + len(token)] = token
        elif kind < 0.80:
            del text[at : at + int(self.random() * self.random() * 64)]
        elif kind < 0.85:
            text[at:at] = text[at : at + int(self.random() * self.random() * 200)]
        elif kind < 0.92:
            at = next((i for i in range(at, len(text)) if text[i] in DIGITS), at)
            text[at : at + 1] = NUMBERS[self._below(len(NUMBERS))]
        elif kind < 0.96:
            del text[at:]
        else:
            other = self.seeds[self._below(len(self.seeds))]
            begin = self._below(len(other))
            text[at:] = other[begin : begin + self._below(400)]


def main(seconds: float, seed: int) -> int:
    """Import mutations; the exit code is 1 after a finding."""
    mutations, inputs, refused, findings = Mutations(seed), 0, 0, 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for _ in range(BATCH):
            text = mutations.drawn()
            try:
                refused += imports_or_refuses(text) is None
            except Exception as error:  # any: that is the finding
                findings += 1
                with tempfile.NamedTemporaryFile(prefix="finding-", delete=False) as file:
                    file.write(text)
                print(f"{file.name}: {error!r}", flush=True)
        inputs += BATCH
    print(f"{inputs} inputs, {refused} refused, {findings} findings")
    return int(findings > 0)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
