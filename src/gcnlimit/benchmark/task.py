"""What a model is given, without the hidden labels, and the hidden labels that measure it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import plain_array
from gcnlimit._values import Array, Brief, Integers, Mask
from gcnlimit.errors import ParameterError

if TYPE_CHECKING:  # listing the suite takes half a second without them
    from gcnlimit.simulation.data.instance import Instance
    from gcnlimit.simulation.data.observation import Observation


@dataclass(frozen=True, eq=False)
class Task(Brief):
    """Input of a model: a graph, features, and the classes of the labelled nodes. No hidden label can be reached from it.

    An inductive task has two graphs without an edge between them: the nodes of the training graph come first, and
    those of the new graph, none of them labelled, are the test nodes.

    Parameters
    ----------
    problem
        Name of the problem.
    observation
        Graph, features, labelled nodes and the parameters of the model, as `amp` takes them.
    new
        The observation of the new graph of an inductive task, else None.
    classes
        Number of classes.
    labels
        Class 0, 1, ... of each labelled node, those of validation included; -1 on the others.
    train_mask, val_mask
        The labelled nodes in two parts. The exact numbers of a problem count both: a model may use them as it likes.
    seed
        For the random choices of the model.
    """

    problem: str
    observation: Observation
    new: Observation | None
    classes: int
    labels: Integers
    train_mask: Mask
    val_mask: Mask
    seed: int

    @cached_property
    def adjacency(self) -> Any:
        """Adjacency matrix (SciPy CSR)."""
        if self.new is None:
            return self.observation.adjacency
        from scipy import sparse

        blocks = [self.observation.adjacency, self.new.adjacency]
        return sparse.csr_array(sparse.block_diag(blocks, format="csr"))

    @cached_property
    def features(self) -> npt.NDArray[Any]:
        """Features of the nodes, a row each."""
        X = np.asarray(self.observation.features)
        return X if self.new is None else np.concatenate([X, np.asarray(self.new.features)])

    @property
    def edge_index(self) -> Integers:
        """Edges as PyTorch Geometric and DGL take them: a row of sources and one of targets."""
        return np.asarray(self.adjacency.nonzero(), np.int64)

    @property
    def new_mask(self) -> Mask:
        """Which nodes are of the new graph of an inductive task."""
        return np.arange(self.labels.size) >= self.observation.nodes

    @property
    def labelled_mask(self) -> Mask:
        """Which nodes are labelled: those of training and of validation."""
        return self.train_mask | self.val_mask

    @property
    def test_mask(self) -> Mask:
        """Which nodes are scored: those not labelled, and of an inductive task those of the new graph."""
        return ~self.labelled_mask if self.new is None else self.new_mask

    @property
    def targets(self) -> Array:
        """One column for each class: the indicator of the labelled nodes of the class, minus the mean of their row.

        Rows of nodes without a label are 0.
        """
        one_hot = (self.labels[:, None] == np.arange(self.classes)).astype(self.features.dtype)
        return np.asarray(one_hot - one_hot.mean(axis=1, keepdims=True))


def split(instance: Instance, problem: str, root: list[int], new: Instance | None) -> Task:
    """Task of an instance: a quarter of its labelled nodes, drawn at random, are those of validation."""
    labelled = instance.train_mask
    rng = np.random.default_rng([*root, 1])
    labels = np.where(labelled, instance.data.classes.index_of(instance.labels), -1)
    if new is not None:
        more = (0, new.observation.nodes)
        labelled = np.pad(labelled, more)
        labels = np.pad(labels, more, constant_values=-1)
    nodes = np.flatnonzero(labelled)
    chosen = np.zeros(labelled.size, bool)
    chosen[rng.choice(nodes, nodes.size // 4, replace=False)] = True
    return Task(
        problem=problem,
        observation=instance.observation,
        new=None if new is None else new.observation,
        classes=len(instance.data.fractions),
        labels=labels,
        train_mask=labelled & ~chosen,
        val_mask=chosen,
        seed=int(rng.integers(2**31)),
    )


def score_table(scores: npt.ArrayLike, nodes: int, classes: int) -> Array:
    """Scores of a model as an array of floats, a row for each node and a column for each class, or a refusal.

    For two classes one number for each node, alone or as a column, is enough: positive for the second.

    >>> score_table([1, -2], nodes=2, classes=2).tolist()
    [[-1.0, 1.0], [2.0, -2.0]]
    """
    table = plain_array("the scores of the model", scores)
    if table.dtype.kind not in "biuf":
        wrong = f"{type(scores).__name__} of dtype {table.dtype}"
        raise ParameterError(f"the model returned {wrong}; return real numbers")
    lone = table.ndim == 1 or (classes == 2 and table.shape == (nodes, 1))
    if lone and table.size and table.min() >= 0:
        if table.dtype.kind in "biu":
            use = f"which are classes; return scores, such as numpy.eye({classes})[answer]"
            raise ParameterError(f"the model returned whole numbers from 0, {use}")
        if classes == 2 and 0 < table.max() <= 1:
            use = "if these are probabilities, return them minus 1/2, positive for the second class"
            raise ParameterError(f"the model returned a number from 0 to 1 for each node; {use}")
    table = np.array(table, float, subok=False)
    if lone and classes == 2:
        table = np.stack([-table.ravel(), table.ravel()], axis=1)
    if table.shape != (nodes, classes):
        got = f"the model returned scores of shape {tuple(np.shape(scores))}"
        each = f"a row for each of the {nodes} nodes and a column for each of the {classes} classes"
        raise ParameterError(f"{got}; return {each}")
    if not np.isfinite(table).all():
        raise ParameterError("the model returned NaN or infinite scores; return finite numbers")
    return table


def accuracy(table: Array, truth: Integers, test: Mask) -> float:
    """Fraction of the test nodes whose class has the largest score; a tie counts in proportion.

    >>> accuracy(score_table([1.0, -1.0, 0.0], 3, 2), np.array([1, 1, 0]), np.ones(3, bool))
    0.5
    """
    table, truth = table[test], truth[test]
    best = table == table.max(axis=1, keepdims=True)
    return float(np.mean(best[np.arange(truth.size), truth] / best.sum(axis=1)))


def checksum(task: Task) -> str:
    """Hash of a task: edges, known classes, split, and the signs of the features, which no last digit changes."""
    graph = task.adjacency
    digest = hashlib.blake2b(digest_size=8)
    for part in (graph.indptr, graph.indices, task.labels, task.train_mask, task.val_mask):
        digest.update(np.ascontiguousarray(part, "<i8").tobytes())
    digest.update(np.packbits(task.features > 0).tobytes())
    return digest.hexdigest()
