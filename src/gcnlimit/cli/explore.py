"""``gcnlimit explore``."""

from __future__ import annotations

from typing import Any

import click

from gcnlimit._runtime.extras import need
from gcnlimit.cli.options import EXISTING, load_labelled, option, scale_option, table_options

_HOST = "Address to serve on; others may then reach the page."
_PORTS = click.IntRange(0, 65535)


@click.command("explore")
@click.argument("file", type=EXISTING, required=False)
@table_options
@scale_option
@option("--port", "Port; 0 takes a free one.", type=_PORTS, default=8050)
@option("--host", _HOST, default="127.0.0.1")
@option("--no-browser", "Do not open a browser.", is_flag=True)
def command(
    *, file: str | None, port: int, host: str, no_browser: bool, scale: str, **tables: Any
) -> None:
    """Open the explorer in the browser: sliders for data and network, and pictures that follow them.

    With FILE, as in gcnlimit recommend, it begins at the model that this graph resembles. Everything is computed and
    served on this machine.

    \b
    Examples:
      gcnlimit explore
      gcnlimit explore examples/data/texas.npz --port 9000
      gcnlimit explore edges.csv --nodes nodes.csv --label role --drop city
    """
    need("the explorer", "explore", "dash")
    from gcnlimit.explorer.app import serve
    from gcnlimit.explorer.start import describe
    from gcnlimit.explorer.state import State

    start = State()
    sentence = ""
    if file is not None:
        data = load_labelled(file, **tables)
        start, sentence = describe(start, data, scale)
    serve(start, sentence, host=host, port=port, browser=not no_browser)
