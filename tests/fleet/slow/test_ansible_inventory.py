"""Ansible's inventories give the hosts that netlab's own format does; none is run."""

from __future__ import annotations

import pytest
from fleet.own_inventory import OWN
from refusals import refused

from netlab.errors import BadInput
from netlab.fleet.inventory import load_inventory

ANSIBLE = """\
all:
  vars: {ansible_user: ops}
  children:
    eu:
      children:
        web:
          hosts:
            web1: {ansible_host: 192.0.2.1, ansible_port: 2222, rack: 7, netlab_interface: eth1,
              ansible_ssh_private_key_file: /keys/a, netlab_address: 198.18.0.1}
            web2: {ansible_host: 192.0.2.2}
          vars: {rack: 8}
"""
INI = """\
# two hosts
web1 ansible_host=192.0.2.1 ansible_port=2222 ansible_ssh_private_key_file=/keys/a rack=7 \
netlab_address=198.18.0.1 netlab_interface=eth1  # its data end

[web]
web[1:2]
[web:vars]
rack = 8
[eu:children]
web
[all:vars]
ansible_user=ops
[ungrouped]
web2 ansible_host=192.0.2.2
"""


def test_ansible_in_yaml_and_ini_give_what_the_own_format_does(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ansible.cfg").write_text("[inventory]\nenable_plugins = nothing\n")
    found = []
    for name, text in (("own.yml", OWN), ("hosts.yml", ANSIBLE), ("hosts", INI)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)  # Ansible would run it
        found.append(load_inventory(tmp_path / name).hosts)
    assert found[0] == found[1] == found[2]
    assert list(found[0]) == ["web1", "web2"]


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("h", "x\ny ansible_host='{{ z }}'\n", "E-FLEET-007"),
        ("h", "x ansible_connection=local\ny\n", "E-FLEET-008"),
        ("h", "x\ny ansible_port=http\n", "E-FLEET-009"),
        ("h.yml", "web:\n  hosts: [a, b]\n", "E-FLEET-006"),
        ("h", "x\n[web:host]\n", "E-FLEET-006"),
        ("h", "#!/bin/sh\necho '{}'\n", "E-FLEET-006"),
        ("missing", None, "E-FLEET-006"),
    ],
)
def test_an_inventory_that_ansible_or_netlab_cannot_use_is_refused(tmp_path, name, text, code):
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
        path.chmod(0o755)
    with refused(BadInput, code) as caught:
        load_inventory(path)
    assert caught.value.where == str(path)
