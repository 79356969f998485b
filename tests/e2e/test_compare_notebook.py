"""The notebook of a comparison, executed as papermill does."""

import papermill
import pytest
import synthetic

from netlab import study as studies
from netlab.files.paths import data_dir
from netlab.report import publish
from netlab.study.frozen import freeze

pytestmark = [pytest.mark.e2e, pytest.mark.beside]

NOTEBOOK = data_dir().parent / "notebooks" / "18-compare.ipynb"


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    base = tmp_path_factory.mktemp("stores")
    study = studies.load(synthetic.openlab_file(), rounds=3)
    for name, seed in (("a", 1), ("b", 2)):
        synthetic.store_of(base / name, study, synthetic.runs_of(study, seed=seed, noise=0.001))
        freeze(study, base / name)
    return base


@pytest.mark.parametrize(
    ("parameters", "charts"), [({"b": "b"}, 5), ({"by": "tuning", "levels": "none,full"}, 1)]
)
def test_it_shows_differences_effects_and_every_cell(stores, tmp_path, parameters, charts):
    given = {key: str(stores / value) if key == "b" else value for key, value in parameters.items()}
    executed = papermill.execute_notebook(
        NOTEBOOK, tmp_path / "out.ipynb", {"a": str(stores / "a"), **given}, progress_bar=False
    )
    outputs = [o for c in executed.cells if c.cell_type == "code" for o in c.outputs]
    assert all(o.get("name") != "stderr" for o in outputs), outputs
    page = "\n".join(o.data.get("text/html", "") for o in outputs if "data" in o)
    assert "geometric mean" in page and "Cell by cell" in page
    assert page.count("<figure") == charts


def test_a_report_against_other_results_executes_it_with_both(stores, tmp_path, monkeypatch):
    executed = {}

    def execute(notebook, output, parameters, **_more):
        executed[notebook.name] = parameters
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text("{}")
        return output

    built = []
    monkeypatch.setattr(publish, "execute", execute)
    monkeypatch.setattr(publish, "_published", lambda notebook: notebook)
    monkeypatch.setattr(publish, "build_site", lambda pages, *_a, **_k: built.extend(pages))
    publish.publish(stores / "b", tmp_path / "site", against=str(stores / "a"))
    assert executed[NOTEBOOK.name] == {"a": str(stores / "a"), "b": str(stores / "b")}
    assert NOTEBOOK.name in {page.path.name for page in built}
    executed.clear()
    publish.publish(stores / "b", tmp_path / "site")
    assert NOTEBOOK.name not in executed
