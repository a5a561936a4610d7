"""Networks of the study: sparse products are the layers of PyTorch Geometric, and what is known is not run again."""

import numpy as np
import pytest

import gcnlimit as gl

torch = pytest.importorskip("torch")
pyg = pytest.importorskip("torch_geometric.nn")

from benchmarks.gnn import networks, study  # noqa: E402
from gcnlimit.nn import message_passing_scores  # noqa: E402


def graph():
    return gl.sample(gl.CSBM(4, 1.0, 2.0, 0.1), nodes=60, degree=4, seed=0).adjacency


@pytest.mark.parametrize(
    ("ours", "theirs", "operator", "sizes"),
    [
        (networks.GCNConv, pyg.GCNConv, "normalized", (5, 3)),
        (networks.SAGEConv, pyg.SAGEConv, "mean", (5, 3)),
        (networks.GINConv, pyg.GINConv, "total", (torch.nn.Linear(5, 3),)),
        (networks.GCN2Conv, pyg.GCN2Conv, "normalized", (5, 0.1, 0.5, 1)),
        (networks.GATConv, pyg.GATConv, "edges", (5, 3, 2)),
        (networks.TransformerConv, pyg.TransformerConv, "edges", (5, 3, 2)),
    ],
)
def test_layers_are_those_of_torch_geometric(ours, theirs, operator, sizes):
    parts, x = networks.Graph(graph(), "cpu"), torch.randn(60, 5)
    one, other = ours(*sizes), theirs(*sizes)
    other.load_state_dict(one.state_dict(), strict=False)  # but for a constant
    start = (x, torch.randn(60, 5)) if ours is networks.GCN2Conv else (x,)
    with torch.no_grad():
        assert torch.allclose(
            one(*start, getattr(parts, operator)), other(*start, parts.edges), atol=1e-5
        )


def test_the_network_with_nothing_left_out_is_the_network():
    task = gl.benchmark.problems()[0].task("small")
    both = [
        message_passing_scores(
            task.features, task.adjacency, task.labels, components=None, layers=2, seed=task.seed
        )
    ]
    both.append(study._ablated(task, device="cpu", layers=2))
    assert np.allclose(*both, atol=1e-4)


def test_results_that_are_known_are_not_computed_again(tmp_path):
    runs = [gl.benchmark.Run("GCN", "sparse", "small", graph, 0.123, 1.0) for graph in range(2)]
    known = gl.benchmark.Scores(tuple(runs))
    known.save(tmp_path / "known.json")
    options = [
        "--size",
        "small",
        "--graphs",
        "2",
        "--problems",
        "sparse",
        "--known",
        str(tmp_path / "known.json"),
    ]
    study.main([*options, "--methods", "GCN", "features", "--out", str(tmp_path / "study")])
    found = gl.benchmark.Scores.load(tmp_path / "study" / "scores.json").runs
    assert [run.accuracy for run in found if run.method == "GCN"] == [0.123, 0.123]
    assert all(0.5 < run.accuracy < 0.7 for run in found if run.method == "features")
