"""State of this machine's own network as text, to compare before and after a test."""

import re
import subprocess

from tests.e2e.dumps import STACKS_OF_OTHERS

# Counters, clocks and random values that change by themselves.
RESTLESS = re.compile(
    r"^(kernel\.random\.|fs\.(dentry|inode|file|aio|quota)|kernel\.(ns_last_pid|pty\.nr|sched_"
    r"|perf_event_max_sample)|fs\.binfmt|net\.netfilter\.nf_conntrack_count|kernel\.tainted"
    r"|vm\.stat|debug\.)"
)


def _printed(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout


def machine_state() -> dict[str, str]:
    """Links, addresses, routes, queueing disciplines and sysctls of the main namespace."""
    sysctls = _printed("/sbin/sysctl", "-a").splitlines()
    return {
        "links": _printed("ip", "-d", "link"),
        "addresses": re.sub(r"(valid|preferred)_lft \S+", "", _printed("ip", "addr")),
        "routes": _printed("ip", "route", "show", "table", "all"),
        "qdiscs": _printed("tc", "qdisc"),
        "sysctls": "\n".join(
            STACKS_OF_OTHERS.sub("", line) if "congestion_control = " in line else line
            for line in sysctls
            if not RESTLESS.match(line)
        ),
    }
