"""`python -m netlab`: the netlab command."""

import sys


def main() -> None:
    """Run the command that the arguments name; a Ctrl-C before it has begun is one sentence too."""
    try:
        from netlab.cli import main as command  # where a Ctrl-C is caught
    except KeyboardInterrupt:
        print("netlab: interrupted; nothing was changed", file=sys.stderr)
        sys.exit(130)
    command()


if __name__ == "__main__":
    main()
