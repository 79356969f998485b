"""`gensink tune` as root of a user namespace: the kernel reserves some knobs for the machine's."""

from __future__ import annotations

import subprocess

MTU = "knob=mtu interface=v0"


def test_root_of_a_user_namespace_may_set_a_link_but_not_its_deferral(namespace):
    place = ("unshare", "--user", "--map-root-user", "--net", "--mount", "sh", "-c")
    devices = "mount -t sysfs s /sys && ip link add v0 type veth peer name v1"
    defer = "knob=defer name=gro_flush_timeout interface=v0"
    script = f"read {defer}\nbegin\nset {defer} value=7\nset {MTU} value=1400\nend\n"
    tune = f"{devices} && exec {namespace.program}"
    run = subprocess.run((*place, tune), input=script, capture_output=True, text=True, timeout=20)
    assert "only root of the machine may change it; this is root of a user" in run.stdout, run
    assert run.stdout.count('"status":"unsupported"') == 1
    assert run.stdout.count('"status":"applied"') == 1
    assert run.stdout.count('"status":"restored"') == 1
