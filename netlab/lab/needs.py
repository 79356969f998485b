"""Requirements of a lab, checked before anything is created."""

from __future__ import annotations

import os
import shutil
import subprocess

from netlab.errors import Unsupported
from netlab.lab.reaper import SEARCH_PATH

PACKAGES = {
    "ip": "iproute2",
    "tc": "iproute2",
    "ethtool": "ethtool",
    "sshd": "openssh-server",
    "ssh-keygen": "openssh-client",
    "unshare": "util-linux",
}
NAMELESS = ("unshare", "--net", "--mount", "--uts", "--")

# Runs in nameless namespaces that end with it; prints the name of each missing feature.
PROBE = r"""
mount -t sysfs sysfs /sys || { echo sysfs; exit; }
ip link add nl0 type veth peer name nl1 || { echo veth; exit; }
echo host > /proc/sys/kernel/hostname || echo hostname
if [ "$1" = tbf ]; then
  tc qdisc add dev nl0 root tbf rate 1gbit burst 131072b limit 1000000b || echo tbf
fi
ethtool -K nl0 gro on tso off gso off tx off rx off || echo offloads
ip link set dev nl0 gro_max_size 100 || echo gro_max_size
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


def check(*, shaped: bool, queues: int = 1, search_path: str = SEARCH_PATH) -> None:
    """Check that this machine can create a lab.

    Parameters
    ----------
    shaped : bool
        Whether a link has a bus or a rate.
    queues : int
        Most pairs of queues of a link.
    search_path : str
        Directories to search for tools.

    Raises
    ------
    Unsupported
        Not Linux, not root, a tool or a part of the kernel is missing; the message says which, and
        the one line that installs a tool.
    """
    if os.uname().sysname != "Linux":
        raise Unsupported(
            "the lab needs Linux; on other systems measure hosts over SSH", code="E-LAB-018"
        )
    if os.geteuid() != 0:
        raise Unsupported(
            "the lab makes network namespaces, which needs root: run it with sudo", code="E-LAB-019"
        )
    missing = [name for name in PACKAGES if shutil.which(name, path=search_path) is None]
    if missing:
        raise Unsupported(
            f"the lab needs {', '.join(missing)}, not installed here; install with: "
            f"apt-get install -y {' '.join(sorted({PACKAGES[name] for name in missing}))}",
            code="E-LAB-020",
        )
    done = subprocess.run(
        (*NAMELESS, "sh", "-c", PROBE, "probe", "tbf" if shaped else "-", str(queues)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=20,
        env={**os.environ, "PATH": search_path, "LC_ALL": "C"},
        process_group=0,
        check=False,
    )
    lacking = [MEANINGS[word] for word in done.stdout.split() if word in MEANINGS]
    if lacking:
        raise Unsupported(f"this kernel lacks {'; '.join(lacking)}", code="E-LAB-021")
    if done.returncode != 0 and "unshare" in done.stderr:
        raise Unsupported(
            "namespaces cannot be made here (a container needs --privileged): "
            f"{done.stderr.strip()}",
            code="E-LAB-022",
        )
