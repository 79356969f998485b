"""Faults of docs/promises.md by name, each with its cause.

Each cause ends with the site as it was, so that the next run completes.
"""

from __future__ import annotations

import signal
from collections.abc import Callable

from e2e.faults.fault_site import ADDRESSES, Site
from e2e.faults.of_hosts import (
    LIE,
    cache_mounted,
    cache_read_only,
    clocks_differ,
    route_added,
    run_filled,
    run_mounted,
    sudo_expires,
    tool_mounted,
    wrapped,
)
from e2e.faults.of_processes import killed, stopped, tune_and_guard_killed, tune_killed
from e2e.faults.of_the_controller import (
    clock_of_controller_set,
    clock_of_host_set,
    controller,
    controller_asleep,
    controller_stopped,
    mounted,
    two_controllers,
)
from e2e.faults.of_the_way import (
    address_moved,
    agent_locked,
    check_in_black_hole,
    cut_at_push,
    cut_at_record,
    cut_off,
    data_link,
    flooded,
    iperf3_flooded,
    links_down_for_5_s,
    no_key,
    run_in_black_hole,
    session_killed,
    unknown_key,
    unreachable,
)
from e2e.faults.under_way import Result, under_way

FAULTS: dict[str, Callable[[Site], Result]] = {
    # the long ones, which wait, are spread over the first half, so that others use the CPUs
    "the agent is stopped for 35 s": lambda site: stopped(site, "agent"),
    "tune is stopped for 35 s": lambda site: stopped(site, "tune"),
    "none": lambda site: site.finished(site.measure()),
    "a host is unreachable": lambda site: unreachable(site, "b"),
    "both hosts are unreachable": lambda site: unreachable(site, "a", "b"),
    "the host key is unknown": unknown_key,
    "the user has no SSH key": no_key,
    "another program adds a route during a run": route_added,
    "the agent's answer has a number beyond 64 bits": lambda site: wrapped(site, LIE),
    "the SSH agent is locked during a run, and a login follows": agent_locked,
    "an address moves to another interface during a run": address_moved,
    "sudo asks for a password in the second visit": sudo_expires,
    "the guard is stopped for 35 s": lambda site: stopped(site, "guard"),
    "a host becomes unreachable while its agent is pushed": cut_at_push,
    "a host becomes unreachable while it is tuned": lambda site: cut_at_record(site, "set"),
    "a host becomes unreachable while it is reverted": lambda site: cut_at_record(site, "reverted"),
    "the SSH sessions of a host are killed": session_killed,
    "the controller is stopped": controller_stopped,
    "the controller is stopped until the hosts have reverted, and goes on": controller_asleep,
    "both management links are down for 5 s": links_down_for_5_s,
    "the data link is cut": lambda site: data_link(site, 0),
    "the data link is down for 1 s": lambda site: data_link(site, 1),
    "both management links are cut": lambda site: cut_off(site, under_way(site), *ADDRESSES),
    "a third host floods the data port with connections": lambda site: flooded(site, "connections"),
    "a third host floods the data port with datagrams": lambda site: flooded(site, "datagrams"),
    "a third host floods iperf3's port with datagrams": lambda site: iperf3_flooded(
        site, "datagrams"
    ),
    "a third host floods iperf3's port with half handshakes": lambda site: iperf3_flooded(
        site, "half handshakes"
    ),
    "a link of the path drops large packets": run_in_black_hole,
    "`check`: a link of the path drops large packets": check_in_black_hole,
    "the agent is killed": lambda site: killed(site, "agent"),
    "tune is killed": tune_killed,
    "the guard is killed": lambda site: killed(site, "guard"),
    "tune and its guard are killed": tune_and_guard_killed,
    "the controller gets SIGTERM": lambda site: controller(site, signal.SIGTERM),
    "the controller gets SIGHUP": lambda site: controller(site, signal.SIGHUP),
    "the controller is killed": lambda site: controller(site, signal.SIGKILL),
    "another controller is at work": lambda site: two_controllers(site, "other"),
    "another controller writes into the same results": lambda site: two_controllers(
        site, "results"
    ),
    "the results are read-only": lambda site: mounted(site, "ro"),
    "the disk of the results is full": lambda site: mounted(site, "size=4k"),
    "the results have no inode left": lambda site: mounted(site, "nr_inodes=3"),
    "the clock of the controller is set": clock_of_controller_set,
    "the clock of a host is set": clock_of_host_set,
    "the monotonic clocks of the hosts differ": clocks_differ,
    "the disk of a host is full": lambda site: cache_mounted(site, "size=64k"),
    "a host has no inode left": lambda site: cache_mounted(site, "nr_inodes=2"),
    "the disk of a host's journals is full": lambda site: run_mounted(site, "size=64k"),
    "a host has no inode for a lock": lambda site: run_mounted(site, "nr_inodes=2"),
    "the disk of a host's journals fills up during a run": run_filled,
    "the output of a tool fills the disk of a host": lambda site: tool_mounted(site, "size=8k"),
    "a host has no inode for the output of a tool": lambda site: tool_mounted(site, "nr_inodes=2"),
    "the cache of a host is read-only": cache_read_only,
    "a host allows 40 open files": lambda site: wrapped(site, "ulimit -n 40"),
    "the agent has 3 MB of memory": lambda site: wrapped(
        site, 'case $SSH_ORIGINAL_COMMAND in *" agent "*) ulimit -v 3000;; esac'
    ),
}
