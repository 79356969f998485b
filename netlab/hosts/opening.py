"""Open and close several hosts at a time."""

from __future__ import annotations

from collections.abc import Mapping

from netlab.errors import HostError
from netlab.hosts.at_once import together
from netlab.hosts.host import Host

OPENED_AT_ONCE = 16


def open_all(hosts: Mapping[str, Host]) -> None:
    try:
        attempts = together([host.open for host in hosts.values()], at_once=OPENED_AT_ONCE)
        failures = [error for attempt in attempts if (error := attempt.exception())]
        unreachable = [error for error in failures if isinstance(error, HostError)]
        if len(unreachable) > 1 and len(unreachable) == len(failures):
            raise HostError(
                ", ".join(error.host for error in unreachable),
                "cannot be used",
                output="\n".join(error.with_code() for error in unreachable),
                code="E-HOST-039",
            )
        if failures:
            raise failures[0]
    except BaseException:
        close_hosts(hosts)
        raise


def close_hosts(hosts: Mapping[str, Host]) -> None:
    for closed in together([host.close for host in hosts.values()], at_once=OPENED_AT_ONCE):
        closed.result()
