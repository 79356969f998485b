"""The documents of 2003: figures, claims and charts, and results beside them."""

from netlab.wings import Wing

wing = Wing(
    names={
        "claims": "netlab.openlab.documents:claims",
        "document": "netlab.openlab.documents:document",
        "load_published": "netlab.openlab.notebook:load_published",
    },
    notebooks=("netlab.openlab.report:notebooks",),
    openings=("netlab.openlab.report:opening",),
    published=("netlab.openlab.then_and_now:comparable",),
    results={
        "published_beside": "netlab.openlab.view:PublishedBeside",
        "then_and_now": "netlab.openlab.view:ThenAndNow",
    },
)
