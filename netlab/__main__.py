"""`python -m netlab`: the netlab command."""

from netlab.cli import main

main()
