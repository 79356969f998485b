"""`python -m netlab`: the netlab command."""

import sys


def main() -> None:
    """Run the command that the arguments name; a Ctrl-C before it has begun is one sentence too."""
    try:
        from netlab import interrupts  # enum takes a millisecond, in which Ctrl-C may come

        interrupts.end_on_interrupt()
    except KeyboardInterrupt:
        print("netlab: interrupted; nothing was changed", file=sys.stderr)
        sys.exit(130)
    from netlab.cli import main as command  # 60 ms

    try:
        command()
    finally:
        interrupts.die_of_interrupt()


if __name__ == "__main__":
    main()
