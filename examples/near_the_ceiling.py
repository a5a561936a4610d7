"""Is my own GNN near the ceiling on this graph?

Replace `my_network` by yours: it sees the graph, the features and the known labels, and returns a score for each node. It is
measured beside approximate message passing, which reaches the best possible, on the same graph.

    python examples/near_the_ceiling.py --nodes 5000
"""

import argparse

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import lsqr

import gcnlimit as gl


def my_network(
    adjacency: csr_array, features: np.ndarray, train_mask: np.ndarray, known: np.ndarray
) -> np.ndarray:
    """Score each node: two rounds of averaging over neighbours, then ridge regression. `known` is 0 where the label is hidden."""
    both = adjacency + adjacency.T
    mean = both.multiply(1 / np.maximum(both.sum(axis=1), 1)[:, None]).tocsr()
    hidden = features + mean @ features + mean @ (mean @ features)
    weights = lsqr(hidden[train_mask], known[train_mask], damp=50.0)[0]
    return hidden @ weights


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()

    data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    graph = gl.sample(data, nodes=given.nodes, degree=30, seed=given.seed)
    seen = graph.observation
    scores = my_network(seen.adjacency, seen.features, seen.train_mask, seen.train_labels)
    test = ~graph.train_mask
    mine = np.mean(np.sign(scores[test]) == graph.labels[test])
    noise = np.sqrt(mine * (1 - mine) / test.sum())
    best = gl.amp(graph).performance.test_accuracy

    print(f"my network                    {mine:.4f} +- {noise:.4f}")
    print(f"best one filter, in theory    {gl.best_filter(data).prediction.test_accuracy:.4f}")
    print(f"best possible, in theory      {gl.bayes_optimal(data).test_accuracy:.4f}")
    print(f"best possible, on this graph  {best:.4f}")
    if best - mine < 3 * noise:
        print("Conclusion: the network is at the ceiling; only better data can help.")
    else:
        print(
            f"Conclusion: the network leaves {100 * (best - mine):.1f} points of accuracy to gain."
        )


if __name__ == "__main__":
    main()
