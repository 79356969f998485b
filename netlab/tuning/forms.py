"""Forms of a knob's value: what is allowed, and the notation that the host reads back."""

from __future__ import annotations

import re
from collections.abc import Iterable

QDISCS = (
    *("noqueue", "pfifo_fast", "pfifo", "bfifo", "mq"),
    *("fq", "fq_codel", "codel", "sfq", "cake"),
)
"""Queueing disciplines that carry traffic without classes."""

IRQ_WORDS = ("spread", "local")
"""Values that the plan replaces by CPUs: queue i to the i-th of all CPUs, or of the card's node."""

PCI_SIZES_B = (128, 256, 512, 1024, 2048, 4096)

_GOVERNOR = re.compile(r"[a-z_]{1,15}")
_CPUS = r"\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*"
_IRQ_ITEM = rf"({_CPUS}(\*[1-9]\d{{0,2}})?|\d{{1,4}}\.\.\d{{1,4}})"
_IRQS = re.compile(rf"{_IRQ_ITEM}(/{_IRQ_ITEM})*")
_RATE = re.compile(r"(\d+(?:\.\d+)?)([kmg]?bit)?")
_SCALE = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
_MOST_RATE_bps = 8 * (2**32 - 2)
_MOST = {"limit": 2**32 - 1, "flow_limit": 2**32 - 1, "buckets": 2**18}
_DEFAULT = {"limit": 10_000, "flow_limit": 100, "buckets": 1024}


def governor(text: str) -> str:
    if not _GOVERNOR.fullmatch(text):
        raise ValueError(f"a governor is a word such as performance or powersave, not {text!r}")
    return text


def irq_affinity(text: str) -> str:
    """CPUs of the interrupts of an interface, or a word of :data:`IRQ_WORDS`."""
    if text in IRQ_WORDS:
        return text
    if not _IRQS.fullmatch(text):
        raise ValueError(
            f"the CPUs of interrupts are {' or '.join(IRQ_WORDS)}, one list for all as in 0-3, or "
            f"one for each as in 0/1/2-3, not {text!r}"
        )
    irq_lists(text)
    return text


MOST_CPUS = 8192
"""CPUs of the largest kernel."""


def cpus(text: str) -> list[int]:
    numbers: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        if not 0 <= int(last or first) - int(first) < MOST_CPUS:
            raise ValueError(f"{part} is not an ascending range of at most {MOST_CPUS} CPUs")
        numbers.extend(range(int(first), int(last or first) + 1))
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"a CPU is named twice in {text!r}")
    return sorted(numbers)


def cpu_list(numbers: Iterable[int]) -> str:
    """The kernel's notation of ascending CPUs."""
    runs: list[list[int]] = []
    for cpu in numbers:
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def governors_text(of: dict[int, str]) -> str:
    """The governor that all CPUs have, else ``powersave:0,3 performance:1-2``."""
    words = list(dict.fromkeys(of.values()))
    if len(words) == 1:
        return words[0]
    each = ((word, [cpu for cpu, other in of.items() if other == word]) for word in words)
    return " ".join(f"{word}:{cpu_list(numbers)}" for word, numbers in each)


def irq_lists(text: str) -> list[str]:
    lists: list[str] = []
    for item in text.split("/"):
        if ".." in item:
            lists.extend(str(cpu) for cpu in cpus(item.replace("..", "-")))
        else:
            listed, _, times = item.partition("*")
            lists.extend([cpu_list(cpus(listed))] * int(times or 1))
    return lists


def irq_text(lists: Iterable[str]) -> str:
    """Short notation: ``X*N`` for N interrupts with the same CPUs, ``A..B`` for A, A+1, .. B."""
    left, items = list(lists), []
    while left:
        count = next((i for i, one in enumerate(left) if one != left[0]), len(left))
        text = f"{left[0]}*{count}" if count > 1 else left[0]
        rises = 1
        while left[0].isdecimal() and left[rises : rises + 1] == [str(int(left[0]) + rises)]:
            rises += 1
        if rises >= 3:
            count, text = rises, f"{left[0]}..{left[rises - 1]}"
        items.append(text)
        del left[:count]
    return "/".join(items)


def pci_size(text: str, name: str) -> str:
    if name == "max-payload":
        raise ValueError("max-payload is set by the system for all devices of a path; read only")
    sizes = [str(size) for size in PCI_SIZES_B if name != "mmrbc" or size >= 512]
    if text not in sizes:
        raise ValueError(f"{name} is one of {', '.join(sizes)} bytes, not {text!r}")
    return text


def qdisc(text: str) -> str:
    words = text.split()
    kinds = words[: 2 if words[:1] == ["mq"] else 1]
    if not kinds or any(kind not in QDISCS for kind in kinds) or kinds[1:] in (["mq"], ["noqueue"]):
        raise ValueError(
            f"a qdisc is one of {', '.join(QDISCS)}, or mq and that of each queue, not {text!r}"
        )
    parameters = words[len(kinds) :]
    if parameters and kinds[-1] != "fq":
        raise ValueError(f"{kinds[-1]} takes no parameters here, as in {text!r}; fq does")
    return " ".join([*kinds, *_fq(iter(parameters), text)])


def _fq(words: Iterable[str], text: str) -> list[str]:
    values: dict[str, int] = {}
    paced = True
    words = iter(words)
    for word in words:
        if word == "nopacing":
            paced = False
        elif word == "maxrate":
            values[word] = _rate_bps(next(words, ""))
        elif word in _MOST:
            values[word] = _number(word, next(words, ""))
        else:
            raise ValueError(
                f"fq takes limit, flow_limit, buckets, maxrate and nopacing, not {word!r} "
                f"(in {text!r})"
            )
    order = ("limit", "flow_limit", "buckets", "maxrate")
    kept = [key for key in order if key in values and values[key] != _DEFAULT.get(key)]
    return [part for key in kept for part in (key, str(values[key]))] + ["nopacing"] * (not paced)


def _number(name: str, text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MOST[name]:
        raise ValueError(f"{name} of fq is a whole number, 1 to {_MOST[name]}, not {text!r}")
    if name == "buckets" and int(text) & (int(text) - 1):
        raise ValueError(f"buckets of fq are a power of two, not {text!r}")
    return int(text)


def _rate_bps(text: str) -> int:
    match = _RATE.fullmatch(text)
    rate_bps = float(match[1]) * _SCALE[match[2] or "bit"] if match else 0.0
    if not 8 <= rate_bps <= _MOST_RATE_bps:
        raise ValueError(
            f"maxrate of fq is a rate of a flow such as 2gbit, at most {_MOST_RATE_bps / 1e9:.1f} "
            f"Gbit/s, not {text!r}"
        )
    return int(rate_bps) // 8 * 8


FORMS = {"qdisc": qdisc, "governor": governor, "irq": irq_affinity}
