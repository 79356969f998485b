"""Details that an endpoint adds to the errors of its host."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from netlab.errors import HostError
from netlab.experiment import endpoint as module
from netlab.experiment.endpoint import Endpoint
from netlab.tuning.requests import AFTERWARDS


@pytest.mark.parametrize(
    ("code", "text"), [("E-HOST-023", "; the guard on the host reverts"), ("E-HOST-038", "")]
)
def test_a_host_lost_while_its_link_comes_up_is_left_to_its_guard(monkeypatch, code, text):
    """A link that stays down is said as it is."""

    def lost(host, interface):
        raise HostError(host.name, f"no answer about {interface}", code=code)

    monkeypatch.setattr(module, "wait_for_carrier", lost)
    host = SimpleNamespace(name="b")
    end = SimpleNamespace(software_deferral=False, host=host, interface="data0")
    with pytest.raises(HostError) as caught:
        Endpoint.wait_for_carrier(end)
    assert str(caught.value).startswith(f"b: no answer about data0{text}")
    assert bool(text) == str(caught.value).endswith(AFTERWARDS) and caught.value.code == code
