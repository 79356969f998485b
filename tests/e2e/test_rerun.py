"""A bundle's study is measured again on a lab, and compared with the records in the bundle."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import measured_store
import yaml

from netlab.analysis.measured import load_measured
from netlab.files.archive import pack
from netlab.files.writing import write_json, write_text
from netlab.report import bundle
from netlab.report.bundle import PROVENANCE, RESULTS, STUDY, provenance
from netlab.results.store import Store
from netlab.study import load
from netlab.study.file import frozen_text
from tests.e2e.conftest import measured_through, run_netlab, small_study


def bundle_of(place: Path) -> Path:
    """A bundle of made-up results of a small study of lab hosts, without a report."""
    whole = small_study("small")
    small = {"groups": whole["groups"][:1], "tunings": whole["tunings"][1:]}
    timing = {**whole["timing"], "rounds": 3}
    (place / "small.yml").write_text(yaml.safe_dump({**whole, **small, "timing": timing}))
    work = place / "work"
    study = measured_store.campaign_of(work / RESULTS, load(place / "small.yml"))
    write_text(work / STUDY, frozen_text(study))
    write_json(work / PROVENANCE, provenance(load_measured(work / RESULTS)))
    about = bundle.About(study.title, "", study.name, "2026-01-05T10:00:00+00:00", "0.1.0")
    write_json(work / bundle.METADATA, bundle.metadata(work, about))
    write_text(work / bundle.MANIFEST, bundle.manifest(work))
    return pack(work, place / "small.zip")


def test_a_bundle_is_measured_again_and_compared(tmp_path, machine_untouched):
    bundle, again = bundle_of(tmp_path), tmp_path / "again"
    done = run_netlab("rerun", str(bundle), "--results", str(again))
    measured_through(done)
    before = tmp_path / "again-bundle"
    assert done.stdout.strip() == f"netlab compare {before} {again}"
    new, old = Store(again).runs(), Store(before).runs()
    assert sorted(new["run_id"]) == sorted(old["run_id"]) and len(new) == 6
    assert set(new["study_digest"]) == set(old["study_digest"])
    assert not set(new["campaign"]) & set(old["campaign"])
    compared = run_netlab(*shlex.split(done.stdout)[1:], "--format", "json")
    assert compared.returncode == 0, compared.stderr
    assert json.loads(compared.stdout)
