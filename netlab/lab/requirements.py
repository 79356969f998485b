"""Requirements of a lab, checked before anything is created."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from netlab.errors import Unsupported
from netlab.lab import rootless
from netlab.lab.namespaces import shielded
from netlab.lab.reaper import SEARCH_PATH

PACKAGES = {
    "ip": "iproute2",
    "tc": "iproute2",
    "ethtool": "ethtool",
    "sshd": "openssh-server",
    "ssh-keygen": "openssh-client",
    "unshare": "util-linux",
}
USER_PACKAGES = {"nsenter": "util-linux", "hostname": "hostname"}
"""Needed in addition without root."""
NAMELESS = ("unshare", "--net", "--mount", "--uts", "--")

# Runs in nameless namespaces that end with it; prints the name of each missing feature. Arguments:
# tbf or -, most queues of a link, root or user.
PROBE = r"""
mount -t sysfs sysfs /sys || { echo sysfs; exit; }
ip link add nl0 type veth peer name nl1 || { echo veth; exit; }
if [ "$3" = user ]; then hostname host; else echo host > /proc/sys/kernel/hostname; fi ||
  echo hostname
if [ "$1" = tbf ]; then
  tc qdisc add dev nl0 root tbf rate 1gbit burst 131072b limit 1000000b || echo tbf
fi
ethtool -K nl0 gro on tso off gso off tx off rx off || echo offloads
ip link set dev nl0 gro_max_size 100 || echo gro_max_size
if [ "$3" = user ]; then exit; fi
for f in gro_flush_timeout napi_defer_hard_irqs; do
  echo 0 > "/sys/class/net/nl0/$f" || echo "$f"
done
if [ "$2" -gt 1 ]; then
  ip link add nq0 numtxqueues 2 numrxqueues 2 type veth peer name nq1 &&
    echo 1 > /sys/class/net/nq0/queues/tx-0/xps_cpus || echo xps
fi
"""
MEANINGS = {
    "sysfs": "a mount of /sys in a namespace (a container needs --privileged)",
    "veth": "veth pairs (CONFIG_VETH)",
    "hostname": "a hostname per namespace (CONFIG_UTS_NS)",
    "tbf": "the token bucket that models the bus (CONFIG_NET_SCH_TBF)",
    "offloads": "offloads of veth that can be switched (Linux 5.13)",
    "gro_max_size": "gro_max_size (Linux 5.19 and iproute2 5.18)",
    "gro_flush_timeout": "gro_flush_timeout (CONFIG_SYSFS)",
    "napi_defer_hard_irqs": "napi_defer_hard_irqs (Linux 5.8)",
    "xps": "several queues of veth with processors of their own (CONFIG_XPS)",
}


def check_rights() -> None:
    if os.uname().sysname != "Linux":
        message = "the lab needs Linux; on other systems measure hosts over SSH"
        raise Unsupported(message, code="E-LAB-018")
    if not rootless.rootless():
        return
    done = shielded((*rootless.nameless(), "true"))
    if done.returncode != 0:
        cause, remedy = refusal(done.stderr.strip())
        message = (
            "the lab makes network namespaces; without root it needs a user namespace, which this "
            f"machine refuses: {cause}. Run netlab with sudo{remedy}"
        )
        raise Unsupported(message, code="E-LAB-019")


def refusal(said: str, sysctls: Path = Path("/proc/sys")) -> tuple[str, str]:
    settings = (
        ("user/max_user_namespaces", "0", "10000"),
        ("kernel/unprivileged_userns_clone", "0", "1"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
    )
    for name, forbids, permits in settings:
        try:
            value = (sysctls / name).read_text().strip()
        except OSError:
            continue
        if value == forbids:
            name = name.replace("/", ".", 1)
            return f"{name} is {value}", f", or permit it: sudo sysctl {name}={permits}"
    if not (sysctls / "user/max_user_namespaces").exists():
        return "the kernel has none (CONFIG_USER_NS)", ""
    return f"{said}; a container or its seccomp profile may forbid it", ""


def check(*, shaped: bool, queues: int = 1, search_path: str = SEARCH_PATH) -> None:
    user = rootless.rootless()
    packages = PACKAGES | (USER_PACKAGES if user else {})
    missing = [name for name in packages if shutil.which(name, path=search_path) is None]
    if missing:
        message = (
            f"the lab needs {', '.join(missing)}, not installed here; install with: "
            f"apt-get install -y {' '.join(sorted({packages[name] for name in missing}))}"
        )
        raise Unsupported(message, code="E-LAB-020")
    words = ("tbf" if shaped else "-", str(queues), "user" if user else "root")
    place = rootless.nameless() if user else NAMELESS
    done = shielded((*place, "sh", "-c", PROBE, "probe", *words), search_path=search_path)
    lacking = [MEANINGS[word] for word in done.stdout.split() if word in MEANINGS]
    if lacking:
        reported = "; ".join(dict.fromkeys(done.stderr.split("\n"))).strip("; ")
        message = f"the lab needs {'; '.join(lacking)}, which this machine refused: {reported}"
        raise Unsupported(message, code="E-LAB-021")
    if done.returncode != 0 and "unshare" in done.stderr:
        message = "namespaces cannot be made here (a container needs --privileged): "
        raise Unsupported(message + done.stderr.strip(), code="E-LAB-022")
