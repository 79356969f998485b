"""Aliases of an SSH configuration that others wrote."""

import paramiko
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from netlab.errors import BadInput
from netlab.fleet.aliases import aliases


@pytest.mark.parametrize(
    "line",
    [
        *("Match exec '{}'", "  match host a EXEC '{}'", "Match=\"exec\" '{}'"),
        *("Match ex\"\"ec '{}'", "Match !ex\\ec '{}'"),
    ],
)
def test_an_inventory_that_would_run_a_command_is_refused(tmp_path, line):
    ran = tmp_path / "ran"
    (tmp_path / "config").write_text(f"Host a\n{line.format(f'touch {ran}')}\n    User x\n")
    with refused(BadInput, "E-FLEET-068"):
        aliases(tmp_path / "config")
    assert not ran.exists()


@pytest.mark.parametrize("line", ["", "CanonicalDomains x.invalid\nCanonicalizeFallbackLocal no"])
def test_an_alias_without_a_canonical_name_is_one_error(tmp_path, line):
    (tmp_path / "config").write_text(f"Host a\nCanonicalizeHostname yes\n{line}\n")
    with refused(BadInput, "E-FLEET-071"):
        aliases(tmp_path / "config")


HOST_LINES = st.lists(
    st.sampled_from(["a", "b", "c.d", "x1", "*", "!a", "?", "c.*", "[ab]"]), min_size=1, max_size=3
).map(lambda names: "Host " + " ".join(names))
KEYS = st.sampled_from(["HostName h", "User u", "User v", "Port 1", "Port 2", "IdentityFile k"])


@given(lines=st.lists(HOST_LINES | KEYS, max_size=12))
def test_aliases_are_what_paramiko_finds(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("aliases") / "config"
    path.write_text("\n".join(lines))
    config = paramiko.SSHConfig.from_path(path)
    for name, alias in aliases(path).items():
        said = config.lookup(name)
        port, user = said.get("port"), said.get("user")
        assert (alias.said["address"], alias.said.get("user")) == (said["hostname"], user)
        assert alias.said.get("port") == (None if port is None else int(port))
