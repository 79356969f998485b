"""The documents of 2003: figures, claims and charts, and results beside them."""

from netlab.wings import Wing

wing = Wing(
    names={
        "claims": "netlab.openlab.notebook:claims",
        "document": "netlab.openlab.notebook:document",
        "load_published": "netlab.openlab.notebook:load_published",
    },
)
