"""How far below the best possible is my network of PyTorch Geometric?

Replace `Network` by yours and run this with, for example, --problem reference --graphs 3 --out mine.json.
"""

import argparse

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch_geometric.nn import GCNConv
from torch_geometric.utils import from_scipy_sparse_matrix, to_undirected

import gcnlimit as gl


class Network(torch.nn.Module):
    """Two layers of graph convolution."""

    def __init__(self, features: int, classes: int, hidden: int = 64) -> None:
        super().__init__()
        self.first, self.second = GCNConv(features, hidden), GCNConv(hidden, classes)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        """Scores of the nodes."""
        return self.second(F.dropout(self.first(x, edges).relu(), 0.5, self.training), edges)


def trained(task: gl.benchmark.Task, epochs: int = 100) -> np.ndarray:
    """Scores of all nodes, from the epoch that is best on the validation nodes."""
    torch.manual_seed(task.seed)
    x, y = (
        torch.from_numpy(task.features).float(),
        torch.from_numpy(task.labels),
    )  # labels are -1 where hidden
    edges = to_undirected(from_scipy_sparse_matrix(task.adjacency)[0])
    network = Network(x.shape[1], task.classes)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=5e-4)
    best, scores = -1.0, np.zeros(0)
    for _ in range(epochs):
        optimizer.zero_grad()
        F.cross_entropy(network.train()(x, edges)[task.train_mask], y[task.train_mask]).backward()
        optimizer.step()
        with torch.no_grad():
            output = network.eval()(x, edges)
        right = (output[task.val_mask].argmax(1) == y[task.val_mask]).float().mean().item()
        best, scores = (right, output.numpy()) if right > best else (best, scores)
    return scores


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = {
        problem.name: problem
        for aside in (False, True)
        for problem in gl.benchmark.problems(aside=aside)
    }
    parser.add_argument("--problem", default="reference", choices=known)
    parser.add_argument("--size", default="small", choices=gl.benchmark.SIZES)
    parser.add_argument("--graphs", type=int, default=3)
    parser.add_argument("--out", default="mine.json")
    given = parser.parse_args()
    scores = gl.benchmark.evaluate(
        trained, given.problem, size=given.size, graphs=given.graphs, name="my network"
    )
    scores.save(given.out)
    line, exact = scores.lines[0], known[scores.lines[0].problem].exact
    print(
        scores, f"best linear network {exact.linear:.3f}, best possible {exact.bayes:.3f}", sep="\n"
    )
    print(
        f"Conclusion: {exact.bayes - line.accuracy:.3f} +- {line.standard_error:.3f} of accuracy is left to gain."
    )
