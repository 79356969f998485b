"""Details that an endpoint adds to the errors of its host."""

from types import SimpleNamespace

import pytest

from netlab.errors import HostError
from netlab.experiment import endpoint as module
from netlab.experiment.endpoint import Endpoint


def waiting(monkeypatch, code):
    def lost(host, interface):
        raise HostError(host.name, f"no answer about {interface}", code=code)

    monkeypatch.setattr(module, "wait_for_carrier", lost)
    end = SimpleNamespace(
        software_deferral=False, host=SimpleNamespace(name="b"), interface="data0"
    )
    with pytest.raises(HostError) as caught:
        Endpoint.wait_for_carrier(end)
    return caught.value


def test_a_host_lost_while_its_link_comes_up_is_left_to_its_guard(monkeypatch):
    error = waiting(monkeypatch, "E-HOST-023")
    assert str(error).startswith("b: no answer about data0; the guard on the host reverts")
    assert error.code == "E-HOST-023"


def test_a_link_that_stays_down_is_told_as_it_is(monkeypatch):
    assert str(waiting(monkeypatch, "E-HOST-038")) == "b: no answer about data0"
