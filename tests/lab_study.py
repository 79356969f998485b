"""Small studies for tests that need a lab."""

from netlab.study import Study


def lab_study(
    hosts: dict[str, dict] | None = None,
    paths: dict[str, dict] | None = None,
    name: str = "lab-test",
) -> Study:
    """A study with lab hosts a and b on a path a-b, unless changed by the arguments."""
    hosts = hosts or {"a": {"kind": "lab"}, "b": {"kind": "lab"}}
    paths = paths or {"a-b": {"ends": [{"host": "a"}, {"host": "b"}], "link": {}}}
    first = next(iter(paths))
    return Study.model_validate(
        {
            "netlab": 1,
            "name": name,
            "title": "A study for tests",
            "hosts": hosts,
            "paths": paths,
            "groups": [{"name": "only", "path": first, "sender": paths[first]["ends"][0]["host"]}],
            "tunings": [{"name": "openlab-2003-normal", "mtus_B": [1500]}],
            "streams": [1],
            # no run is measured again beside other tests, and no campaign waits for quiet
            "noise": {"steal_percent": 100, "foreign_cpu_percent": 100},
        }
    )


def bus(bandwidth_MBps: float) -> dict:
    return {"kind": "lab", "bus": {"bandwidth_MBps": bandwidth_MBps, "label": "test"}}
