"""Scatter of accuracies over graphs: reference values, the identities between its formulas, graphs that were drawn."""

import numpy as np
import pytest
from transfers import deployment, made, rows, training

import gcnlimit as gl
from gcnlimit.theory.scatter import paired_scatter, scatter


def close(a, b, tol=1e-5):
    assert abs(a / b - 1.0) < tol


@pytest.mark.parametrize("row", rows("scatter"))
def test_reference(row):
    data, gcn = training(row)
    found = scatter(data, gcn, row["nodes"])
    assert found.exact
    close(found.accuracy, row["accuracy"], 1e-9)
    close(found.deviation, row["sd"])
    close(found.binomial, row["binomial_sd"], 1e-9)
    pair = paired_scatter(data, gcn, gcn.replaced(filter=made(row["other_filter"])), row["nodes"])
    close(pair.difference, row["difference"], 1e-7)
    close(pair.deviation, row["sd_difference"])


@pytest.mark.parametrize("row", rows("scatter", "scatter_new_graph"))
def test_reference_on_a_new_graph(row):
    data, gcn = training(row)
    there = row.get("new_graph", row)
    filter = made(there["filter"] if "filter" in there else row["deploy"]["filter"])
    to = deployment(row, data) if "deploy" in row else data.replaced(lam=there["lam_e"])
    found = scatter(data, gcn, there["nodes"], to=to, test_filter=filter)
    close(found.accuracy, there["accuracy"], 1e-9)
    close(found.deviation, there["sd"])
    close(found.training, there["sd_training"])
    close(np.sqrt(found.deviation**2 - found.training**2), there["sd_frozen"])
