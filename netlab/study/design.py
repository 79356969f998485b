"""A study whose parts fit each other, and its digest."""

from __future__ import annotations

import hashlib
import json
from typing import Self

from pydantic import model_validator

from netlab.study.checks import check
from netlab.study.groups import DRAIN_S
from netlab.study.model import StudyFields, contents


class Study(StudyFields, title="A study"):
    """A whole study. Load one with :func:`load`."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        check(self)
        return self

    def digest(self) -> str:
        """SHA-256 of the study's content, independent of layout and comments of the file.

        It covers the knobs and values of every tuning the hosts take, wherever it is defined. The
        copy beside results, :func:`netlab.study.frozen.freeze`, has the digest of its study.
        """
        content = self.model_dump(mode="json", exclude={"profiles", "published", "report"})
        content["quick"] = None  # another study, named for this one
        content["timing"]["drain_s"] = self.timing.drain_s or DRAIN_S  # as in the key of a run
        # Studies that have none of these keep the digests they had before there were such keys.
        for name in ("factors", "exclude", "outer", "policy", "latency", "udp"):
            if not content[name]:
                del content[name]
        for host in content["hosts"].values():
            del host["agent_directory"]  # no figure depends on it
        for group in content["groups"]:
            for name in (
                *("factors", "exclude", "timing", "quick", "target_Gbps", "flows"),
                *("cross_udp_Mbps", "cross_udp_B"),
            ):
                if not group[name]:
                    del group[name]
        for level in content["tunings"]:
            del level["knobs"], level["extends"], level["risk"]
        content["knobs"] = contents(self)
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()
