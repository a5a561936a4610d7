"""Time and memory of `GraphClassifier` on a large graph of five classes: ``python -m benchmarks.real_size --nodes 100000``.

Ten edges and a hundred features a node, a twentieth of the nodes labelled. Leave-one-out beside the accuracy on the other nodes
shows that no label leaks into its own prediction.
"""

import argparse
import resource
import time

import numpy as np
from scipy import sparse

import gcnlimit as gl

CLASSES, FEATURES = 5, 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100_000)
    nodes = parser.parse_args().nodes
    X, y, graph = drawn(nodes, np.random.default_rng(0))
    seen = np.arange(nodes) < nodes // 20
    start, used = time.perf_counter(), time.process_time()
    model = gl.GraphClassifier().fit(X, np.where(seen, y, -1), graph=graph)
    wall, cpu = time.perf_counter() - start, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    right = model.score(y=np.where(seen, -1, y))
    print(
        f"{nodes} nodes, {graph.nnz // 2} edges, {seen.sum()} labels: {wall:.0f} s ({cpu:.0f} s of the processor), {peak:.1f} GiB"
    )
    print(f"leave-one-out {model.loo_score_:.3f} +- {model.loo_score_error_:.3f}, other nodes {right:.3f}")


def drawn(nodes: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, sparse.csr_array]:
    """Features, classes and a graph in which edges within a class are about seven times as likely."""
    y = rng.integers(CLASSES, size=nodes)
    ends = rng.integers(nodes, size=(2, 20 * nodes))
    kept = rng.random(ends.shape[1]) < np.where(y[ends[0]] == y[ends[1]], 0.8, 0.12)
    row, column = ends[:, kept][:, : 5 * nodes]
    A = sparse.coo_array((np.ones(row.size), (row, column)), shape=(nodes, nodes)).tocsr()
    A.data[:] = 1.0
    X = rng.standard_normal((nodes, FEATURES)) + 0.25 * rng.standard_normal((CLASSES, FEATURES))[y]
    return X, y, A.maximum(A.T).tocsr()


if __name__ == "__main__":
    main()
