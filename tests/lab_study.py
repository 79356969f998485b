"""Small studies for tests that need a lab."""

from studies import two_hosts

from netlab.study import Study


def lab_study(
    hosts: dict[str, dict] | None = None,
    paths: dict[str, dict] | None = None,
    name: str = "lab-test",
) -> Study:
    """A study with lab hosts a and b on a path a-b, unless changed by the arguments."""
    content = two_hosts(
        name,
        ends=("a", "b"),
        path="a-b",
        tunings=[{"name": "openlab-2003-normal", "mtus_B": [1500]}],
    )
    if paths is not None:
        path, first = next(iter(paths.items()))
        group = {"name": "only", "path": path, "sender": first["ends"][0]["host"]}
        content |= {"paths": paths, "groups": [group]}
    return Study.model_validate(content | ({"hosts": hosts} if hosts else {}))


def bus(bandwidth_MBps: float) -> dict:
    return {"kind": "lab", "bus": {"bandwidth_MBps": bandwidth_MBps, "label": "test"}}
