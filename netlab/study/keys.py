"""Key of the conditions of a run, and the place of every field of a study: in the key or not.

Fields have their names in a study, `*` for all below. A field is in the key if a record that was
made with another value of it may have another figure or another flag.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from netlab.files.recorded_facts import BlockConditions
from netlab.study.design import Study
from netlab.study.groups import DRAIN_S, sends_datagrams
from netlab.study.schedule import Run, Visit

_KNOBS = ("tunings.knobs", "profiles.knobs")
_EACH_KNOB = tuple(f"{knobs}{way}" for knobs in _KNOBS for way in ("", ".first_supported.knobs"))

IN_KEY = {
    "hosts.kind": "a namespace of the lab is not the machine",
    "hosts.address": "names the machine",
    "hosts.port": "names the machine behind a forwarding",
    "hosts.bus.bandwidth_MBps": "shapes a lab's link, and is a ceiling of the run",
    "hosts.bus.shared": "halves what two directions can have",
    "paths.*": "the ends and their link",
    "groups.sender": "the host that sends",
    "groups.direction": "one way or both",
    "groups.record_length_B": "bytes of a send",
    "groups.buffer_B": "the socket's buffer",
    "groups.receive_buffer_B": "the receiver's buffer",
    "groups.congestion": "of the run's streams",
    "groups.flows.*": "stack, pace, round trip, links and times of each stream",
    "groups.generator": "the program that sends; with its versions at both ends",
    "groups.cross_udp_Mbps": "rate of datagrams beside the streams",
    "groups.cross_udp_B": "size of these datagrams",
    "groups.force_loss_at_s": "drops a packet",
    "groups.records": "ends the run",
    "groups.timing.*": "window, warm-up and samples of the run",
    "tunings.knobs.parameter": "names the choice in the list of unsupported settings",
    "tunings.knobs.first_supported.needs": "hosts that have the setting",
    "profiles.knobs.parameter": "names the choice in the list of unsupported settings",
    "profiles.knobs.first_supported.needs": "hosts that have the setting",
    **{f"{knob}.{part}": "a setting" for knob in _EACH_KNOB for part in ("kind", "name", "value")},
    "congestion": "of the run's streams",
    "stacks.*": "the law of a congestion control that the run names",
    "force_buffer": "lifts the host's limit of buffers",
    "engine": "method of sending and receiving",
    "threads": "of the engine",
    "send": "system call of the sender",
    "receive": "system call of the receiver",
    "socket.*": "options of the streams and their threads",
    "policy.*": "batches, yields and placement of the agents",
    "trace": "reads the sockets at every sample",
    "latency.*": "sends probes beside the streams",
    "udp.*": "options of the datagrams",
    "timing.seconds": "the window",
    "timing.warmup_s": "what lies before the window",
    "timing.interval_ms": "length of the samples",
    "timing.drain_s": "time after which a run fails",
    "noise.steal_percent": "limit of a flag",
    "noise.foreign_cpu_percent": "limit of a flag",
    "noise.foreign_traffic_percent": "limit of a flag",
    "noise.frequency_drop_percent": "limit of a flag",
}

OF_A_RUN = {
    "groups.name": "is in the id of the cell",
    "groups.path": "is in the id of the cell",
    "groups.factors.*": "the run's own level takes the place of the option",
    "factors.*": "the run's own level takes the place of the option",
    "groups.tunings": "which of the levels",
    "groups.mtus_B": "which of the levels",
    "groups.streams": "which of the levels",
    "tunings.name": "is in the id of the cell",
    "tunings.mtus_B": "which of the levels; left out, the MTU found is a condition",
    "streams": "the run's own number is in the key",
    "outer": "the run's own levels are in the key",
    "groups.exclude": "which combinations there are",
    "exclude": "which combinations there are",
}
"""Fields that say which cells there are; what they give a run is in its key."""

BY_CONTENT = {
    "hosts.profiles": "the host's own settings of a level",
    "tunings.profile": "the settings of a level",
    "tunings.extends": "the settings it starts from",
    "profiles.extends": "the settings it starts from",
}
"""Fields that name settings: the settings are in the key, not their name."""

NOT_IN_KEY = {
    "netlab": "version of the file's format",
    "name": "names the directory of the results",
    "title": "text of the report",
    "description": "text of the report",
    "hosts.user": "the way to log in",
    "hosts.identity_file": "the way to log in",
    "hosts.agent_directory": "where the agent lies",
    "hosts.bus.label": "text of the report",
    "groups.table": "text of the report",
    "groups.quick.*": "of the short form, which is a study of its own",
    "groups.target_percent_of_bus": "a goal",
    "groups.target_Gbps": "a goal",
    "groups.quick_records": "of the short form, which is a study of its own",
    "groups.short": "of the short form, which is a study of its own",
    "groups.part": "text of the report",
    "tunings.label": "text of the report",
    "tunings.risk": "a remark",
    **{
        f"{knob}.{part}": "a remark"
        for knob in _EACH_KNOB
        for part in ("source", "note", "when_missing", "risk")
    },
    **dict.fromkeys((f"{knobs}.published" for knobs in _KNOBS), "a remark"),
    "profiles.title": "text of the report",
    "profiles.source": "text of the report",
    "profiles.notes": "text of the report",
    "profiles.risk": "a remark",
    "profiles.records.*": "settings that are read; the values found are in the key",
    "published.*": "figures beside the results",
    "report.*": "pages of the report",
    "timing.rounds": "how often",
    "precision.*": "how often",
    "noise.retries": "how often",
    "noise.wait": "when",
    "quick.*": "of the short form, which is a study of its own",
    "seed": "the order of the runs",
    "confidence": "of the analysis",
}


def _below(prefix: str, fields: dict[str, str]) -> set[str]:
    """The next part of the names of fields below a prefix."""
    return {
        name.removeprefix(f"{prefix}.").partition(".")[0]
        for name in fields
        if name.startswith(f"{prefix}.")
    }


CONGESTION = "net.ipv4.tcp_congestion_control"

RULE = 2
"""Number of the rule that makes a key, for the reason why the records of another do not count."""


def _in_force(
    study: Study, run: Run, found: Mapping[str, Mapping[str, object]]
) -> Mapping[str, Mapping[str, object]]:
    """Settings found on each host without those that a run overrides on its own sockets."""
    group = run.group
    if study.congestion_of(group) or sends_datagrams(group.generator):  # datagrams have none
        return {h: {k: v for k, v in of.items() if k != CONGESTION} for h, of in found.items()}
    return found


_OF_STUDY = ("force_buffer", "engine", "threads", "send", "receive", "trace")


def provenance_key(study: Study, visit: Visit, run: Run, context: BlockConditions) -> str:
    """Key of the conditions of a run: the same in every round of a cell.

    A stored record of the run counts exactly if it has this key.
    """
    path, used = study.path(visit.link), run.group.generator
    study = run.study(study)
    not_of_group = _below("groups", NOT_IN_KEY) | _below("groups", OF_A_RUN) - {"name", "path"}
    in_force = {"timing", "congestion"}  # the group's own, else the study's
    # profiles: the context has the settings of the one that the visit takes
    left_out: dict[str, Any] = dict.fromkeys(_below("hosts", NOT_IN_KEY) | {"profiles"}, True)
    left_out["bus"] = _below("hosts.bus", NOT_IN_KEY)
    hosts = {
        name: study.hosts[name].model_dump(mode="json", exclude=left_out) for name in path.hosts
    }
    group = run.group.model_dump(mode="json", exclude=not_of_group | in_force)
    if not group["flows"]:
        del group["flows"]
    if not group["cross_udp_Mbps"]:
        del group["cross_udp_Mbps"], group["cross_udp_B"]
    content = {
        "path": path.model_dump(mode="json"),
        "hosts": hosts,
        "mtu_B": visit.mtu_B,
        "group": group,
        "streams": run.streams,
        **study.timing.model_dump(mode="json", exclude=_below("timing", NOT_IN_KEY)),
        # a limit that is derived ends no run that ended within the shortest one
        "drain_s": study.timing.drain_s or DRAIN_S,
        "congestion": study.congestion_of(run.group) or None,
        "stacks": {
            name: study.stacks[name].model_dump(mode="json")
            for name in study.congestions((run.group,))
            if name in study.stacks
        },
        **{name: getattr(study, name) for name in _OF_STUDY},
        "socket": study.socket.model_dump(mode="json"),
        "noise": study.noise.model_dump(mode="json", exclude=_below("noise", NOT_IN_KEY)),
        "context": {
            **context,
            **({"found": _in_force(study, run, context["found"])} if "found" in context else {}),
            "generators": context.get("generators", {}).get(used),
        },
    }
    for name in ("policy", "latency", "udp"):
        if given := getattr(study, name).model_dump(mode="json"):
            content[name] = given
    if visit.outer:
        content["outer"] = dict(visit.outer)
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
