"""Facts of the hosts of a study, and the settings found there."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from netlab import core
from netlab.errors import HostError
from netlab.experiment.study_hosts import data_address, interface, open_hosts
from netlab.files.recorded_facts import EndFacts
from netlab.generators import versions
from netlab.hosts.agent import push_agent
from netlab.hosts.at_once import together
from netlab.hosts.carrier import wait_for_carrier
from netlab.hosts.host import Host
from netlab.hosts.opening import OPENED_AT_ONCE, close_hosts
from netlab.hosts.route import route_of
from netlab.hosts.stack import InterfaceStack
from netlab.lab import lab as labs
from netlab.study import Study
from netlab.study.factors import path_of_link
from netlab.tuning.requests import SettingsRead, reading, settings_read

NO_LINK = ("down", "lowerlayerdown", "dormant")
RESET_S = 10
"""Timeout of the link of a card that was reset; a link that stays down is a later error."""


def agent_on(host: Host) -> str:
    """Path of the agent on a host, which is pushed if it lacks it."""
    return push_agent(host, core.gensink_path(), source_dir=core.source_dir())


def facts_of(host: Host, card: str, study: Study, link: str, binary: str) -> EndFacts:
    """Facts of a host at an end of a link, with generators' versions and the settings found."""
    facts = host.facts(card)
    if facts["interface_exists"] is False:
        raise _no_interface(host, card, study, link)
    if facts["operstate"] in NO_LINK:
        # the revert of the visit before may have reset the card, whose speed is then unknown: the
        # record would have other conditions than its campaign
        with suppress(HostError):
            wait_for_carrier(host, str(facts["interface"]), timeout_s=RESET_S)
        facts = host.facts(card)
    found = settings_found(host, study, str(facts["interface"]), binary)
    vrf = InterfaceStack.of(facts.get("layers")).vrf
    return {
        **facts,
        "generators": versions(host, study.generators(link), vrf),
        "found": found.values,
        "fixed": list(found.fixed),
    }


def _no_interface(host: Host, card: str, study: Study, link: str) -> HostError:
    """The error for a card that is not there, such as one that a restart has renamed."""
    end = next(end for end in study.path(link).every_end if end.host == host.name)
    own = end.bind_address or data_address(study, link, host.name)
    text = f"has no interface {card}"
    if holder := route_of(host, own, own, card).has_address:
        text += f"; {own} is an address of {holder}: name that one in the study"
    return HostError(host.name, text, code="E-RUN-033")


def settings_found(host: Host, study: Study, interface: str, binary: str) -> SettingsRead:
    records = study.settings_read(host.name)
    printed = host.run(reading(binary, records, interface)).stdout
    return settings_read(printed, records, interface, host=host.name)


def host_facts(
    study: Study, *, lab: labs.Lab | None = None, only: str | None = None
) -> dict[str, dict[str, EndFacts]]:
    """Facts of the ends of every link that a group uses, or of one: link -> host -> facts."""
    paths = {group.path for group in study.groups}
    used = [link for link in study.links if path_of_link(link) in paths and only in (None, link)]
    names = sorted({name for link in used for name in study.path(link).hosts})
    hosts = open_hosts(study, names, lab)

    ends = {link: study.path(link).hosts for link in used}

    def of(host: str) -> dict[str, EndFacts]:
        binary = agent_on(hosts[host])
        return {
            link: facts_of(hosts[host], interface(study, link, host), study, link, binary)
            for link in used
            if host in ends[link]
        }

    try:
        read = together([partial(of, name) for name in names], at_once=OPENED_AT_ONCE)
        facts = {name: one.result() for name, one in zip(names, read, strict=True)}
        return {link: {host: facts[host][link] for host in ends[link]} for link in used}
    finally:
        close_hosts(hosts)
