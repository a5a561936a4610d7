"""``python -m gcnlimit``: the command line."""

from gcnlimit.cli import main

main()
