"""Bundles: results and report in one file that others verify and measure again."""

from netlab.wings import Command, Wing

wing = Wing(
    commands={
        "bundle": Command(
            "netlab.bundle.commands:bundle_command",
            "Write the results of STUDY and their report into one ZIP file, and print its path.",
        ),
        "publish": Command(
            "netlab.bundle.commands:publish_command",
            "Add the reports of SITES to a branch of a git repository, and push it.",
        ),
        "rerun": Command(
            "netlab.bundle.commands:rerun_command",
            "Measure the study of BUNDLE again, and print the command that compares the two.",
        ),
        "verify": Command(
            "netlab.bundle.commands:verify_command",
            "Check the files of BUNDLE by their digests, and recompute its "
            "figures from its records.",
        ),
    },
)
