"""``gcnlimit predict``."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from gcnlimit.cli.options import Grid, data_options, json_option, network_options
from gcnlimit.cli.output import show

__all__ = ["command"]


@click.command("predict", no_args_is_help=True)
@data_options
@network_options
@json_option
def command(as_json: bool, **given: Any) -> None:
    """Exact performance of a network in the large-size limit, beside the Bayes-optimal ceiling.

    Any number may be a list a,b,c or a range first:last:count; every combination is computed.

    \b
    Examples:
      gcnlimit predict --alpha 4 --lam 1 --mu 2 --rho 0.1 --t 1.488 --symmetrize
      gcnlimit predict --alpha 4 --lam 0.5:2:7 --mu 2 --rho 0.1 --c 1 --depth 3 --json
    """
    from gcnlimit.theory.bayes import bayes_optimal
    from gcnlimit.theory.predict import predict

    grid = Grid(given)
    data, gcn = grid.problem()
    prediction = predict(data, gcn)
    ceiling = bayes_optimal(data)
    columns = grid.columns() | prediction.as_dict()
    columns["bayes_optimal"] = np.broadcast_to(ceiling.test_accuracy, np.shape(prediction.test_accuracy))
    show(columns, grid.size, title="Exact performance in the large-size limit", as_json=as_json)
