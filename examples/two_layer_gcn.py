"""A plain graph convolutional network of two layers, in NumPy alone, on the benchmark.

Comments explain each step. The table shows the accuracy of the network between rows of exact accuracies.

    python examples/two_layer_gcn.py --graphs 2
"""

import argparse

import numpy as np
from scipy import sparse

import gcnlimit as gl


def two_layer_gcn(
    task: gl.benchmark.Task, width: int = 16, epochs: int = 200, rate: float = 0.01
) -> np.ndarray:
    """Scores of the classes: softmax(S relu(S X W1) W2), trained on the labelled nodes."""
    rng = np.random.default_rng(task.seed)
    # the graph: edges in both directions, a loop at each node, divided by the roots of both degrees (Kipf and Welling)
    A = task.adjacency + task.adjacency.T + sparse.eye_array(task.labels.size)
    root = sparse.diags_array(1 / np.sqrt(A.sum(axis=1)))
    S = (root @ A @ root).tocsr()
    # a mean over 60 neighbours is small: features of variance 1 again, so that steps of the usual size move the weights
    X = S @ task.features
    X = (X - X.mean(axis=0)) / X.std()
    # weights as in Glorot and Bengio, and the two moving averages of Adam for each
    sizes = ((X.shape[1], width), (width, task.classes))
    weights = [rng.standard_normal(size) * np.sqrt(2 / sum(size)) for size in sizes]
    first, second = ([np.zeros(size) for size in sizes] for _ in range(2))
    train, val = task.train_mask, task.val_mask
    best, kept = -1.0, np.zeros((task.labels.size, task.classes))
    for epoch in range(1, epochs + 1):
        # forwards: two layers, then probabilities of the classes
        H = np.maximum(X @ weights[0], 0)
        scores = S @ H @ weights[1]
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        # the scores that are right on most validation nodes are kept: early stopping
        right = np.mean(scores[val].argmax(1) == task.labels[val])
        if right > best:
            best, kept = right, scores
        # backwards: the error of the cross-entropy on training nodes, sent through S, which is symmetric, and the relu
        error = np.where(train[:, None], p - np.eye(task.classes)[task.labels], 0) / train.sum()
        back = S @ error
        gradients = [X.T @ (back @ weights[1].T * (H > 0)), H.T @ back]
        # a step of Adam with weight decay
        for k, gradient in enumerate(gradients):
            first[k] += 0.1 * (gradient + 5e-4 * weights[k] - first[k])
            second[k] += 0.001 * (gradient**2 - second[k])
            weights[k] -= (
                rate
                * first[k]
                / (1 - 0.9**epoch)
                / (np.sqrt(second[k] / (1 - 0.999**epoch)) + 1e-8)
            )
    return kept


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--graphs", type=int, default=2)
    graphs = parser.parse_args().graphs
    print(
        gl.benchmark.evaluate(two_layer_gcn, ["reference", "shallow"], size="small", graphs=graphs)
    )
