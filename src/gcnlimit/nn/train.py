"""Training of the numbers: each of several random halves of the labelled nodes is hidden and predicted from the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from gcnlimit.nn.network import MessagePassing
from gcnlimit.nn.operators import SymmetricOperator

_STARTS = (1.0, -1.0)  # signs of the graph's gain
_FIRST = 10  # iterations from each start


def train(
    network: MessagePassing,
    x: Any,
    S: SymmetricOperator | None,
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
    network
        The network; its numbers are replaced.
    x, S
        Features and operator, None without a graph.
    labels
        Class of each node, -1 where it is unknown.
    maskings
        How often the labelled nodes are halved.
    iterations
        Of the optimizer, after ten from each start.
    seed
        Of the halves.
    """
    known, hidden = _halves(labels, network.classes, maskings, seed)
    known, target = known.to(x.dtype), labels[:, None].expand(-1, maskings)[hidden]
    if network.sizes:
        _set_sizes(network, labels)
    start = [p.detach().clone() for p in network.parameters()]
    weight = 0.5 / max(int((labels >= 0).sum()), 1)

    def objective(sign: float) -> Any:
        loss = torch.nn.functional.cross_entropy(network.evidence(x, S, known)[hidden], target)
        prior = [((p - _signed(s, sign)) ** 2).sum() for p, s in zip(network.parameters(), start, strict=True)]
        return loss + weight * sum(prior)

    found = []
    for sign in _STARTS:
        _set(network, [_signed(s, sign) for s in start])
        value = _descend(network, lambda sign=sign: objective(sign), _FIRST)
        found.append((value, sign, [p.detach().clone() for p in network.parameters()]))
    _, sign, best = min(found, key=lambda one: one[0] if np.isfinite(one[0]) else np.inf)
    _set(network, best)
    return _descend(network, lambda: objective(sign), iterations)


def _set_sizes(network: MessagePassing, labels: Any) -> None:
    """Start from the sizes of the classes among the labelled nodes, one more in each."""
    counts = torch.bincount(labels[labels >= 0], minlength=network.classes) + 1.0
    with torch.no_grad():
        network.bias.copy_(torch.log(counts / counts.sum()))


def _halves(labels: Any, classes: int, maskings: int, seed: int) -> tuple[Any, Any]:
    """Indicators of the shown classes (nodes, maskings, classes), and which nodes are labelled and hidden."""
    rng, labelled = np.random.default_rng(seed), np.flatnonzero(labels.cpu().numpy() >= 0)
    shown = np.zeros((len(labels), maskings), bool)
    for column in shown.T:
        column[rng.choice(labelled, labelled.size // 2, replace=False)] = True
    shown_here = torch.from_numpy(shown).to(labels.device)
    one_hot = torch.nn.functional.one_hot(labels.clamp(min=0), classes)
    return one_hot[:, None] * shown_here[:, :, None], (labels >= 0)[:, None] & ~shown_here


def _descend(network: MessagePassing, objective: Any, iterations: int) -> float:
    """Descend, and keep the best numbers that were met."""
    free = [p for p in network.parameters() if p.requires_grad]
    optimizer = torch.optim.LBFGS(free, max_iter=iterations, line_search_fn="strong_wolfe")
    best: list[Any] = [np.inf, [p.detach().clone() for p in free]]

    def closure() -> Any:
        optimizer.zero_grad()
        value = objective()
        value.backward()
        if value.item() < best[0]:
            best[:] = [value.item(), [p.detach().clone() for p in free]]
        return value

    optimizer.step(closure)
    with torch.no_grad():
        for p, value in zip(free, best[1], strict=True):
            p.copy_(value)
    return float(best[0])


def _signed(start: Any, sign: float) -> Any:
    """Start with that sign of the graph's gain, the first column of the numbers."""
    if start.ndim < 2:
        return start
    return start * torch.tensor([sign, 1.0, 1.0, 1.0, 1.0], dtype=start.dtype, device=start.device)


def _set(network: MessagePassing, values: list[Any]) -> None:
    with torch.no_grad():
        for p, value in zip(network.parameters(), values, strict=True):
            p.copy_(value)
