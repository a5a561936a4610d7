"""Networks of the study: sparse products are the layers of PyTorch Geometric, a device chooses as the processor does."""

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.benchmark.methods import STRENGTHS, linear_by_leave_one_out
from gcnlimit.benchmark.task import split

torch = pytest.importorskip("torch")
pyg = pytest.importorskip("torch_geometric.nn")

from gcnlimit.benchmark import device_ridge, networks  # noqa: E402


def graph():
    return gl.sample(gl.CSBM(4, 1.0, 2.0, 0.1), nodes=60, degree=4, seed=0).adjacency


@pytest.mark.parametrize(
    ("ours", "theirs", "operator", "sizes", "options"),
    [
        (networks.GCNConv, pyg.GCNConv, "normalized", (5, 3), {"normalize": False}),
        (networks.SAGEConv, pyg.SAGEConv, "mean", (5, 3), {}),
        (networks.GINConv, pyg.GINConv, "total", (torch.nn.Linear(5, 3),), {}),
        (networks.GCN2Conv, pyg.GCN2Conv, "normalized", (5, 0.1), {"normalize": False}),
    ],
)
def test_products_are_sums_over_edges(ours, theirs, operator, sizes, options):
    parts, x = networks.Graph(graph(), "cpu"), torch.randn(60, 5)
    one, other = ours(*sizes, **options), theirs(*sizes)
    other.load_state_dict(one.state_dict())
    start = (x, torch.randn(60, 5)) if ours is networks.GCN2Conv else (x,)
    with torch.no_grad():
        assert torch.allclose(one(*start, getattr(parts, operator)), other(*start, parts.edges), atol=1e-5)


def test_a_device_chooses_the_linear_network_that_the_processor_chooses():
    seed = np.random.SeedSequence(5)
    task = split(gl.sample(gl.CSBM(4, 1.2, 3.0, 0.3), 400, 20, seed, dtype=np.float32), "own", seed)
    found = device_ridge.linear_by_leave_one_out(task, STRENGTHS, "cpu")
    assert np.allclose(found, linear_by_leave_one_out(task), atol=1e-4)
