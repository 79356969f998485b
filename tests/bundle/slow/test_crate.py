"""The metadata of a bundle conform to the Process Run Crate profile, by roc-validator, offline."""

from __future__ import annotations

import io
import json

import pytest
import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests_cache import CachedSession
from rocrate_validator import services
from rocrate_validator.models import Severity, ValidationSettings

from netlab.bundle import crate
from netlab.files.archive import pack

SCHEMA_ORG = "http://schema.org/"
TERMS = {
    "File": f"{SCHEMA_ORG}MediaObject",
    "conformsTo": "http://purl.org/dc/terms/conformsTo",
    **{
        name: f"{SCHEMA_ORG}{name}"
        for name in (
            *("CreateAction", "CreativeWork", "Dataset", "Person", "SoftwareApplication"),
            *("about", "agent", "author", "contentSize", "datePublished", "description"),
            *("encodingFormat", "endTime", "hasPart", "instrument", "license", "mentions"),
            *("name", "object", "result", "softwareVersion", "startTime", "version"),
        )
    },
}
"""Terms of the context of RO-Crate 1.1 that a bundle uses, written down from the specification.

The validator takes contexts from its cache and is not allowed the network.
"""

RECOMMENDED_AND_ABSENT = {
    "The Application SHOULD have a url",
    "The SoftwareApplication id SHOULD be an absolute URI",
    "The Action SHOULD have an endTime in ISO 8601 format",
    "The `publisher` property of a `Root Data Entity` SHOULD be an `Organization`",
    "The author SHOULD have an organizational affiliation.",
    "The author SHOULD have a Contextual Entity which specifies the organizational `affiliation`.",
}
"""netlab has no address of its own, nobody is asked for an organisation, and the time of a report
would change its bytes."""


@pytest.fixture
def bundle(tmp_path):
    """A small bundle as a directory, with a file of each kind, and an author."""
    return directory_of(tmp_path / "bundle", author="A. Person")


def directory_of(made, **more):
    for name in (
        *("study.yml", "provenance.json", "uv.lock", "CITATION.cff", "tunings/none.yml"),
        *("results/runs/20260105T100000Z~cable+rtt_ms=10@full@9000@r1.parquet", "site/report.pdf"),
        *("site/index.html", "site/figures/streams-1.svg", "published/slac-2003.csv"),
    ):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(name)
    times = ("2026-01-05T10:00:00+00:00", "2026-01-05T10:20:00+00:00")
    about = crate.About(
        "A study: results and report",
        "A description.",
        "small",
        times[1],
        "0.1.0",
        [("20260105T100000Z", "0.0.9", *times)],
        **more,
    )
    (made / crate.METADATA).write_text(json.dumps(crate.metadata(made, about)))
    (made / crate.MANIFEST).write_text(crate.manifest(made))
    return made


def issues(bundle, tmp_path, severity=Severity.REQUIRED):
    """Findings of the validator, without the network."""
    cache = tmp_path / "cache"
    with CachedSession(str(cache), backend="sqlite", expire_after=-1) as session:
        session.cache.save_response(context_response(f"{crate.SPECIFICATION}/context"))
    settings = ValidationSettings(
        rocrate_uri=str(bundle),
        profile_identifier="process-run-crate",
        requirement_severity=severity,
        cache_path=cache,
        offline=True,
    )
    result = services.validate(settings)
    return [issue.message for issue in result.get_issues()]


def context_response(url):
    request = requests.Request("GET", url).prepare()
    body = io.BytesIO(json.dumps({"@context": TERMS}).encode())
    headers = {"Content-Type": "application/ld+json"}
    raw = urllib3.HTTPResponse(body=body, headers=headers, status=200, preload_content=False)
    return HTTPAdapter().build_response(request, raw)


def test_a_bundle_conforms_and_lacks_only_recommendations_that_nobody_states(bundle, tmp_path):
    assert set(issues(bundle, tmp_path, Severity.RECOMMENDED)) == RECOMMENDED_AND_ABSENT


def test_a_zip_file_and_one_without_an_author_conform_as_well(tmp_path):
    made = directory_of(tmp_path / "bundle", licence="https://spdx.org/licenses/CC-BY-4.0")
    assert issues(pack(made, tmp_path / "b.zip"), tmp_path) == []
