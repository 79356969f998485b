"""Readers of inventories, as tests/any_input.py takes them."""

from __future__ import annotations

from netlab.fleet.inventory import load_inventory

HOSTS = b"""netlab: 1
hosts:
  a: {address: 192.0.2.1, user: u, port: 22, groups: [rack], labels: {site: x}}
  b: {data_address: 198.51.100.2, interface: eth0, address: b.example}
pairs: [[a, b]]
"""
ALIASES = (
    b"Host a c b*\n  HostName a.example\n  Port 22\n  User u\n  IdentityFile ~/k\n"
    b"Match host b\n  User %h\n"
)
READERS = {
    "inventory": (lambda file: load_inventory(file, format="netlab"), lambda: HOSTS),
    "aliases": (lambda file: load_inventory(file, format="ssh"), lambda: ALIASES),
}
OPENED = ("inventory", "aliases")
