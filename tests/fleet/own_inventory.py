"""An inventory in netlab's own format."""

from __future__ import annotations

OWN = """\
netlab: 1
hosts:
  web1: {address: 192.0.2.1, user: ops, port: 2222, identity_file: /keys/a, groups: [eu, web],
    labels: {rack: "7"}, data_address: 198.18.0.1, interface: eth1}
  web2: {address: 192.0.2.2, user: ops, groups: [eu, web], labels: {rack: "8"}}
pairs: [[web1, web2]]
"""
