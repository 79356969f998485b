"""`python -m netlab`: the netlab command."""

import gc
import sys

OBJECTS = 200_000
"""New objects after which Python looks for cycles; after 700, its default, imports take 10 % more
CPU."""


def main() -> None:
    """Run the command that the arguments name; a Ctrl-C before it has begun is one sentence too."""
    gc.set_threshold(OBJECTS, 30, 30)
    try:
        from netlab.cli import main as command
    except KeyboardInterrupt:
        print("netlab: interrupted; nothing was changed", file=sys.stderr)
        sys.exit(130)
    command()


if __name__ == "__main__":
    main()
