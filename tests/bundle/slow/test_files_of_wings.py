"""A bundle has the files and stores that wings name, and no others."""

from __future__ import annotations

import synthetic

import netlab
from netlab.bundle import pack
from netlab.study.frozen import freeze


def test_a_bundle_has_the_files_and_stores_that_wings_name(tmp_path, monkeypatch):
    directory, study = tmp_path / "results", synthetic.openlab()
    synthetic.store_of(directory, study)
    freeze(study, directory)
    kept = {"other/one/note.json", "other/one/store/runs/one.parquet"}
    for name in (*kept, "other/one/draft.txt", "unnamed/note.json"):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(b"PAR1")
    monkeypatch.setattr(pack.wings, "files", lambda: ("other/*/note.json",))
    monkeypatch.setattr(pack.wings, "stores", lambda: ("other/*/*",))
    copy = tmp_path / "copy"
    pack._copy_results(netlab.Results(directory).measured, copy, blocks=False)
    copied = {path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_file()}
    assert {name for name in copied if name.startswith(("other", "unnamed"))} == kept
