"""``gcnlimit sample``."""

from __future__ import annotations

from typing import Any

import click

from gcnlimit.cli.options import Grid, data_options, graph_options, json_option
from gcnlimit.cli.output import show

__all__ = ["command"]


@click.command("sample", no_args_is_help=True)
@data_options
@graph_options
@click.option("--streamed", is_flag=True, help="Keep the key of the features instead of the matrix.")
@click.option("--out", type=click.Path(dir_okay=False), required=True, help="File to write, FILE.npz.")
@json_option
def command(  # noqa: PLR0917
    out: str, nodes: int, degree: float, seed: int, streamed: bool, as_json: bool, **given: Any
) -> None:
    """Draw one graph with features and labels, and write it to a file.

    Read it again with gcnlimit.Instance.load(FILE).

    \b
    Example:
      gcnlimit sample --alpha 4 --lam 1 --mu 2 --rho 0.1 --nodes 10000 --degree 30 --seed 0 --out graph.npz
    """
    from gcnlimit.errors import ParameterError
    from gcnlimit.simulation.sample import sample

    instance = sample(Grid(given).data(), nodes, degree, seed, streamed=streamed)
    try:
        instance.save(out)
    except OSError as error:
        raise ParameterError(f"out = {out!r} cannot be written: {error.strerror}") from None
    columns = {
        "file": out,
        "nodes": nodes,
        "edges": _edges(instance),
        "features": instance.features.shape[1],
        "labelled": int(instance.train_mask.sum()),
    }
    show(columns, 1, title="Sampled graph", as_json=as_json)


def _edges(instance: Any) -> int:
    """Number of edges: a symmetric matrix holds each of them twice, but a self-loop once."""
    held, loops = instance.adjacency.nnz, int(instance.adjacency.diagonal().sum())
    return int(held if instance.data.directed else (held + loops) // 2)
