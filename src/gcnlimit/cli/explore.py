"""``gcnlimit explore``."""

from __future__ import annotations

import click

from gcnlimit._runtime.extras import need


@click.command("explore")
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--nodes", type=click.Path(exists=True, dir_okay=False), help="Table of nodes, if FILE is a list of edges."
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8050, show_default=True, help="Port; 0 takes a free one."
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to serve on; others may then reach the page.",
)
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
def command(*, file: str | None, nodes: str | None, port: int, host: str, no_browser: bool) -> None:
    """Open the explorer in the browser: sliders for data and network, and pictures that follow them.

    With FILE, it begins at the model that this graph resembles. Everything is computed and served on this machine.

    \b
    Examples:
      gcnlimit explore
      gcnlimit explore examples/data/texas.npz --port 9000
    """
    need("the explorer", "explore", "dash")
    from pathlib import Path

    from gcnlimit.explorer.serve import serve
    from gcnlimit.explorer.start import describe_file
    from gcnlimit.explorer.state import State

    start = State()
    sentence = ""
    if file is not None:
        start, sentence = describe_file(start, Path(file), None if nodes is None else Path(nodes))
    serve(start, sentence, host=host, port=port, browser=not no_browser)
