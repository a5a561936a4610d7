"""Training of the numbers, by hiding random halves of the labelled nodes."""

from __future__ import annotations

import copy
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from gcnlimit._validation import whole
from gcnlimit.nn.network import MessagePassing, indicators
from gcnlimit.nn.operators import SymmetricOperator

_STARTS = (1.0, -1.0)  # signs of the graph's gain
_FIRST = 10  # iterations from each start


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
    onehot = indicators(labels, network.classes, x.dtype)[:, None] * shown[:, :, None]
    target = labels[:, None].expand(-1, maskings)[hidden]
    counts = torch.bincount(labels[labels >= 0], minlength=network.classes)
    if network.sizes:
        with torch.no_grad():
            network.log_sizes.copy_(torch.log((counts + 1.0) / (counts + 1.0).sum()))
    weight = 0.5 / max(int(counts.sum()), 1)

    def objective(start: Any) -> Any:
        loss = cross_entropy(network.passed(x, S, onehot)[0][hidden], target)
        apart = (((p - start[name]) ** 2).sum() for name, p in network.named_parameters())
        return loss + weight * sum(apart)

    usual = copy.deepcopy(network.state_dict())
    ends = []
    for sign in _STARTS:
        start = copy.deepcopy(usual)
        start["graph_gain"] *= sign
        network.load_state_dict(start)
        value = _descend(network, partial(objective, start), _FIRST)
        ends.append((value, start, copy.deepcopy(network.state_dict())))
    _, start, best = min(ends, key=itemgetter(0))
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
