"""Searches: the best setting of a path, the knobs that matter, rates without loss."""

from netlab.wings import Command, Wing

wing = Wing(
    commands={
        "autotune": Command(
            "netlab.search.autotune.commands:autotune_command",
            "Find the best record length, socket buffer, streams and engine of PATH.",
        ),
        "mlrsearch": Command(
            "netlab.search.mlrsearch.commands:mlrsearch_command",
            "Find the highest rate without loss, and with little, of each cell "
            "of datagrams of STUDY.",
        ),
        "screen": Command(
            "netlab.search.screen.commands:screen_command",
            "Find the knobs of a tuning that matter, on a path of STUDY.",
        ),
    },
    results={"screens": "netlab.search.screen.view:screens"},
    methods={
        "mlrsearch": "netlab.search.mlrsearch.view:searched",
        "screen": "netlab.search.screen.view:screening",
    },
    pages=("netlab.search.pages:pages",),
    page_prefixes=("screen-", "mlrsearch.html"),
    stores=("screens/*/*", "mlrsearch"),
    files=("screens/*/screen.json", "mlrsearch/bounds.csv"),
)
