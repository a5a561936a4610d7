"""The command line: one verb per file, each parses, calls one function, prints a table or JSON."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of ``gcnlimit``."""
    try:
        from gcnlimit.cli.app import app
    except ModuleNotFoundError as missing:
        sys.exit(
            f"gcnlimit: the command line needs {missing.name}; install it with "
            "pip install 'gcnlimit[cli]' (in a checkout: pip install '.[cli]')"
        )
    app()
