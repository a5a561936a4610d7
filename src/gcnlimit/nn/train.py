"""Training of the numbers, by hiding random halves of the labelled nodes; and a trained network on one graph or two."""

from __future__ import annotations

import copy
import math
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.functional import cross_entropy

from gcnlimit._validation import whole
from gcnlimit.graphs.verdict import class_sizes
from gcnlimit.nn.network import MessagePassing, indicators
from gcnlimit.nn.operators import SymmetricOperator, TwoGraphs, from_graph
from gcnlimit.theory.transfer import label_free_signals

Placed = tuple[Any, SymmetricOperator]  # features and operator of a graph, on a device

_STARTS = (1.0, -1.0)  # signs of the graph's gain
_FIRST = 10  # iterations from each start
_REFINEMENTS = 4  # of the signal of a new graph


def train(
    network: MessagePassing,
    x: Any,
    S: SymmetricOperator,
    labels: Any,
    *,
    maskings: int = 4,
    iterations: int = 20,
    seed: int = 0,
) -> float:
    r"""Train the numbers of a network on labelled nodes, and return the cross-entropy on the hidden halves.

    The objective is fixed by the halves drawn, and the numbers are few: a quasi-Newton method (L-BFGS) from both signs of the
    graph's gain, the better continued. A Gaussian prior of variance 1 around the start counts as one more label would.

    Parameters
    ----------
    network, x, S, labels
        The network, whose numbers are replaced, features, operator, and the class of each node, -1 where it is unknown.
    maskings, iterations, seed
        How often the labelled nodes are halved, iterations after ten from each start, and the seed of the halves.
    """
    whole("iterations", iterations, low=1)
    shown, hidden = _halves(labels, whole("maskings", maskings, low=1), seed)
    known = indicators(labels, network.classes, x.dtype)[:, None] * shown[:, :, None]
    target = labels[:, None].expand(-1, maskings)[hidden]
    counts = torch.bincount(labels[labels >= 0], minlength=network.classes)
    if network.sizes:
        with torch.no_grad():
            network.bias.copy_(torch.log((counts + 1.0) / (counts + 1.0).sum()))
    weight = 0.5 / max(int(counts.sum()), 1)

    def objective(start: Any) -> Any:
        loss = cross_entropy(network.passed(x, S, known)[0][hidden], target)
        apart = (((p - start[name]) ** 2).sum() for name, p in network.named_parameters())
        return loss + weight * sum(apart)

    usual = copy.deepcopy(network.state_dict())
    found = []
    for sign in _STARTS:
        start = copy.deepcopy(usual)
        start["numbers"][:, 0] *= sign  # the graph's gain
        network.load_state_dict(start)
        value = _descend(network, partial(objective, start), _FIRST)
        found.append((value, start, copy.deepcopy(network.state_dict())))
    _, start, best = min(found, key=itemgetter(0))
    network.load_state_dict(best)
    return _descend(network, partial(objective, start), iterations)


def _halves(labels: Any, maskings: int, seed: int) -> tuple[Any, Any]:
    """Which of the labelled nodes are shown, and which are hidden (nodes, maskings)."""
    rng = np.random.default_rng(whole("seed", seed, low=0))
    labelled = np.flatnonzero(labels.cpu().numpy() >= 0)
    shown = np.zeros((len(labels), maskings), bool)
    for column in shown.T:
        column[rng.choice(labelled, labelled.size // 2, replace=False)] = True
    there = torch.from_numpy(shown).to(labels.device)
    return there, (labels >= 0)[:, None] & ~there


def _descend(network: MessagePassing, objective: Any, iterations: int) -> float:
    """Descend, and keep the best numbers that were met."""
    free = [p for p in network.parameters() if p.requires_grad]
    optimizer = torch.optim.LBFGS(free, max_iter=iterations, line_search_fn="strong_wolfe")
    best: list[Any] = [np.inf, copy.deepcopy(network.state_dict())]

    def closure() -> Any:
        optimizer.zero_grad()
        value = objective()
        value.backward()
        if value.item() < best[0]:
            best[:] = [value.item(), copy.deepcopy(network.state_dict())]
        return value

    optimizer.step(closure)
    network.load_state_dict(best[1])
    return float(best[0])


def message_passing_scores(
    features: npt.NDArray[Any],
    graph: Any,
    labels: npt.NDArray[np.int64],
    *,
    layers: int = 15,
    operator: str = "auto",
    seed: int = 0,
    device: str = "cpu",
    new: tuple[npt.NDArray[Any], Any] | None = None,
    kind: type[MessagePassing] = MessagePassing,
    **options: Any,
) -> npt.NDArray[Any]:
    """Logits of all nodes from a network trained on the labelled ones; -1 marks the others. `options` are those of its `kind`.

    `new` is another graph, its features and its adjacency, of the same classes: its nodes follow in the answer. The network
    is trained on the first and passes messages on both; the signal of the new graph is measured without labels.
    """

    def placed(values: npt.NDArray[Any], adjacency: Any) -> Placed:
        x = torch.from_numpy(np.ascontiguousarray(values, np.float32)).to(device)
        return x, from_graph(adjacency, operator).to(device)

    counts = np.bincount(labels[labels >= 0])
    memory = "trained" if new is None else "matched"  # numbers that mean the same on any graph
    usual: dict[str, Any] = {"sizes": not class_sizes(counts).equal, "memory": memory}
    network = kind(counts.size, layers, **(usual | options)).to(device)
    here = placed(features, graph)
    y = torch.from_numpy(np.asarray(labels, np.int64)).to(device)
    train(network, *here, y, seed=seed)
    with torch.no_grad():
        if new is None:
            return np.asarray(network(*here, y, y >= 0).cpu().numpy())
        return np.asarray(_on_both(network, here, placed(*new), y).cpu().numpy())


def _on_both(network: MessagePassing, here: Placed, there: Placed, labels: Any) -> Any:
    """Logits on two graphs, of a network trained on the first; the signal of the second is estimated as it is used."""
    (x, S), (x_new, S_new) = here, there
    both = torch.cat([x, x_new])
    every = torch.cat([labels, labels.new_full((len(x_new),), -1)])
    known = indicators(every, network.classes, x.dtype)[:, None]
    gain = float(network.numbers[0, 0])
    centroids = network.passed(x, S, known[: len(x)])[1][:, 0]
    signal, _ = label_free_signals(S_new, x_new @ centroids, centroids)
    wider = copy.deepcopy(network)
    wider.numbers[:, 1:3] *= len(both) / len(x)  # more nodes say more of the class means
    for _ in range(_REFINEMENTS):
        logits = wider.passed(both, TwoGraphs(S, S_new, signal / gain), known)[0]
        signal = refined_signal(S_new, wider.means(logits)[len(x) :], signal)
    return wider.passed(both, TwoGraphs(S, S_new, signal / gain), known)[0][:, 0]


def refined_signal(S: SymmetricOperator, means: Any, signal: float) -> float:
    r"""Signal of a graph from posterior means that were found with about this signal, and of its sign.

    Their field :math:`h = S\hat y - \lambda (1 - q)\hat y` is :math:`\lambda q y` and noise of variance :math:`q`.
    """
    theta = torch.ones_like(means[:, :, :1]) if S.theta is None else S.theta[:, None, None]
    square = (means**2).sum(dim=2, keepdim=True) / (means.shape[2] - 1)
    q = float((theta * square).mean())
    h = (S @ means[:, 0])[:, None] - signal * S.reaction(1.0 - square) * means
    excess = float((h**2).sum()) / len(h) / (means.shape[2] - 1) - q
    size = math.sqrt(max(excess, 0.0) / float((theta**2).mean())) / max(q, 1e-9)
    return math.copysign(size, signal)
