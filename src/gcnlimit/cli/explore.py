"""``gcnlimit explore``."""

from __future__ import annotations

from typing import Any

import click

from gcnlimit._runtime.extras import need
from gcnlimit.cli.options import file_argument, load_labelled, table_options


@click.command("explore")
@file_argument(required=False)
@table_options
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8050, show_default=True, help="Port; 0 takes a free one."
)
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to serve on; others may then reach the page."
)
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
def command(*, file: str | None, port: int, host: str, no_browser: bool, **tables: Any) -> None:
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
        start, sentence = describe(start, load_labelled(file, **tables))
    serve(start, sentence, host=host, port=port, browser=not no_browser)
