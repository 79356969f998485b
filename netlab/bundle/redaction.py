"""Words of a bundle that describe a network, and stable pseudonyms in their place.

Records and studies are redacted before the report is made of them, so that site, PDF, figures and
digests are those of the redacted records.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from netlab.analysis.fact_words import UNITS
from netlab.files.archive import names_in
from netlab.files.reading import read_text
from netlab.files.yaml_file import read_yaml
from netlab.results.parquet import map_texts, texts_in
from netlab.study import Study
from netlab.tuning.knobs import NAMES
from netlab.units import listed

STUDY = "study.yml"

_MAC = re.compile(r"(?<![0-9A-Za-z:])(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?![0-9A-Za-z:])")
_ADDRESS = re.compile(
    r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f.]*)(?![\w:])"
)
_HOST = re.compile(r'"(?:host|hostname)": "([^"\\]+)"')
_BEFORE_UNIT = re.compile(r"(?:_|\d )\Z")
_USER = re.compile(r"/(?:home|Users)/([\w.-]+)")
_LABELS = [f"{kind} {name}" for kind, names in NAMES.items() for name in names]
_LABELS += [name for names in NAMES.values() for name in names if re.search("[-_]", name)]
_SETTINGS = "|".join([r"net\.(?:core|ipv[46])\.[a-z][a-z0-9_.]*", *map(re.escape, _LABELS)])
"""Names of settings, of several words: none of these is that of a host called `core` or `rx`."""


@dataclass(frozen=True)
class Words:
    """Words of a network by their kind, each kind sorted."""

    hosts: tuple[str, ...]
    addresses: tuple[str, ...]
    macs: tuple[str, ...]
    users: tuple[str, ...]
    kept: tuple[str, ...] = ()
    """Hosts without a pseudonym: each is named like a word of records."""

    def __str__(self) -> str:
        nouns = ("host name", "address", "MAC address", "user")
        hosts = [name for name in self.hosts if name not in self.kept]
        kinds = zip(nouns, (hosts, self.addresses, self.macs, self.users), strict=True)
        return listed(
            f"{len(words)} {noun}{('es' if noun.endswith('s') else 's') * (len(words) != 1)}"
            for noun, words in kinds
        )

    @cached_property
    def pseudonyms(self) -> dict[str, str]:
        """Word -> pseudonym: by the order of the words, so that it is stable.

        Hosts may differ in case alone; other words are in lower case.
        """
        # RFC 2544 and 3849: no host of a network has these
        v4, v6 = (int(ipaddress.ip_address(first)) for first in ("198.18.0.0", "2001:db8::"))
        found = {}
        for number, word in enumerate(self.addresses, 1):
            first = v6 if ":" in word else v4
            found[word.lower()] = str(ipaddress.ip_address(first + number))
        for number, word in enumerate(self.macs, 1):
            found[word.lower()] = "02:" + ":".join(re.findall("..", f"{number:010x}"))
        for kind, words in (("host", self.hosts), ("user", self.users)):
            for number, word in enumerate(words, 1):
                if word not in self.kept:
                    found.setdefault(word, f"{kind}-{number}")
        return found

    @cached_property
    def _in_any_case(self) -> dict[str, str]:
        """Word in lower case -> pseudonym; of words that differ in case alone the first one's."""
        return {word.lower(): of for word, of in reversed(self.pseudonyms.items())}

    def keeping(self, hosts: Collection[str]) -> Words:
        """These words with the hosts' own names left as they are."""
        return replace(self, kept=tuple(sorted({*self.kept, *hosts})))

    @cached_property
    def _pattern(self) -> re.Pattern:
        words = sorted(self.pseudonyms, key=len, reverse=True)
        alternatives = "|".join(map(re.escape, words)) or "(?!)"
        domains = "|".join(re.escape(word) for word in words if "." in word) or "(?!)"
        one = rf"{domains}|(?P<setting>{_SETTINGS})|{alternatives}"
        return re.compile(rf"(?<![0-9A-Za-z])(?:{one})(?![0-9A-Za-z])", re.IGNORECASE)

    def redacted(self, text: str) -> str:
        """The text with the pseudonym of each word.

        A unit is not the name of a host, neither in ``1448 B`` nor at the end of ``mtu_B``, nor is
        a word of a setting, such as ``net.core.rmem_max``.
        """

        def replacement(found: re.Match) -> str:
            is_unit = found[0] in UNITS and _BEFORE_UNIT.search(text, 0, found.start())
            if is_unit or found["setting"]:
                return found[0]
            own = self.pseudonyms.get(found[0])
            return own or self._in_any_case[found[0].lower()]

        return self._pattern.sub(replacement, text)

    def redact(self, directory: Path) -> None:
        """Replace the words in the content and in the name of every file."""
        for name in names_in(directory):
            file, target = directory / name, directory / self.redacted(name)
            target.parent.mkdir(parents=True, exist_ok=True)
            if file.suffix == ".parquet":
                map_texts(file, target, self.redacted)
            else:
                text = self.redacted(read_text(file))
                target.write_text(text, encoding="utf-8")
            if target != file:
                file.unlink()


def words_of(study: Study | None, *directories: Path) -> Words:
    """The words of a study, where one is given, and of all files of directories."""
    logins = [*_stored_hosts(directories)]
    if study:
        logins += study.model_dump(mode="json")["hosts"].items()
    hosts = {name for name, _ in logins}
    names = {login["address"] for _, login in logins if login.get("address")}
    hosts |= {name for name in names if not _is_address(name)}
    users = {login["user"] for _, login in logins if login.get("user")}
    addresses: set[str] = set()
    macs: set[str] = set()
    for text in (study.model_dump_json() if study else "", *_texts(directories)):
        hosts.update(_HOST.findall(text))
        users.update(_USER.findall(text))
        macs.update(_MAC.findall(text))
        addresses.update(filter(_is_address, _ADDRESS.findall(text)))
    return Words(*(tuple(sorted(words)) for words in (hosts, addresses, macs, users)))


def _stored_hosts(directories: Iterable[Path]) -> Iterator[tuple[str, dict]]:
    """Name and login of each host of stored studies: earlier campaigns may have had others."""
    for directory in directories:
        for name in names_in(directory):
            if Path(name).name == STUDY:
                yield from (read_yaml(directory / name).get("hosts") or {}).items()


def _is_address(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified)


def _texts(directories: Iterable[Path]) -> Iterator[str]:
    for directory in directories:
        for name in names_in(directory):
            if name.endswith(".parquet"):
                yield from texts_in(directory / name)
            else:
                yield read_text(directory / name)
