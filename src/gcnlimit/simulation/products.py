r"""Training by products alone, for features that are not stored or lie on a device.

With the rows :math:`F = R\, g(a) X/\sqrt N` and dual variables :math:`\beta`, the weights are :math:`w = F^T \beta` and the
outputs on the labelled nodes :math:`h = K\beta` with :math:`K = FF^T`. A product with :math:`K` takes one pass over the features,
for the columns of several networks at once, and nothing larger than a few vectors is held. At infinite regularization
:math:`\beta` are the codes of the labels, and the one pass that makes weights and outputs is all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.errors import ConvergenceError
from gcnlimit.filters import Filter
from gcnlimit.losses import Loss
from gcnlimit.simulation.backend import Backend, Device, backend_of
from gcnlimit.simulation.features import StreamedFeatures, one_pass
from gcnlimit.simulation.krylov import KrylovSpace
from gcnlimit.simulation.observation import Mask, Observation
from gcnlimit.simulation.operator import Operator
from gcnlimit.simulation.smooth import SmoothDescent

__all__ = ["Products", "Trained", "train_by_products"]

Block = npt.NDArray[Any]
PASSES = 500  # of one training, at most
FINEST = {4: 2e-6, 8: 1e-13}  # relative error of a product, by the bytes of a number


class Trained(NamedTuple):
    r"""Weights, points times :math:`M` times codes; outputs on all nodes, points times :math:`N` times codes; duality gaps."""

    weights: Block
    outputs: Block
    gap: Array


class _Problem(Protocol):
    """A training that asks for one product with :math:`K` after the other."""

    @property
    def here(self) -> Array: ...

    @property
    def done(self) -> bool: ...

    def take(self, product: Array) -> None: ...


@dataclass(frozen=True, eq=False)
class Products:
    """Operator and features on a device, and which nodes are labelled."""

    operator: Operator
    features: Any
    train_mask: Mask
    backend: Backend
    dtype: np.dtype[Any]

    @staticmethod
    def of(observation: Observation, operator: Operator, device: Device) -> Products:
        """Products of an observation, whose features are placed on the device if they are stored."""
        X, backend = observation.features, backend_of(device)
        here: Any = X if isinstance(X, StreamedFeatures) else backend.place(X)
        return Products(operator, here, observation.train_mask, backend, X.dtype)

    def gram(self, block: Array, filters: Filter) -> Array:
        r"""Product :math:`K B`, each column with the filter of its own."""
        _, outputs, _ = self.forward(self.spread(block, filters), filters)
        return np.asarray(outputs[self.train_mask], np.float64)

    def spread(self, block: Array, filters: Filter) -> Any:
        r"""Labelled nodes propagated backwards, :math:`g(a)^T R^T B`, each column with the filter of its own."""
        return filters.apply_each(self.operator.T, self._all_nodes(block), radius=self.operator.radius)

    def spread_alike(self, block: Array, filters: Filter) -> Any:
        """The same for filters that all act on one block, which share the products with the graph; filter after filter."""
        parts = filters.apply(self.operator.T, self._all_nodes(block), radius=self.operator.radius)
        return self.backend.join(list(parts), 1)

    def forward(self, spread: Any, filters: Filter) -> tuple[Block, Block, Block]:
        r"""Weights :math:`w = X^T B/\sqrt N`, outputs :math:`g(a) X w/\sqrt N`, and :math:`Xw/\sqrt N`: one pass."""
        unit = 1.0 / math.sqrt(len(self.train_mask))
        weights, signal = one_pass(self.features, spread * unit)
        signal = signal * unit
        outputs = filters.apply_each(self.operator, signal, radius=self.operator.radius)
        return self.backend.host(weights), self.backend.host(outputs), self.backend.host(signal)

    def _all_nodes(self, block: Array) -> Any:
        whole = np.zeros((len(self.train_mask), block.shape[1]), self.dtype)
        whole[self.train_mask] = block
        return self.backend.place(whole)


def train_by_products(  # noqa: PLR0917
    products: Products, filters: Filter, loss: Loss, reg: Array, codes: Array, tol: float
) -> tuple[Trained, Block]:
    r"""Networks at each pair of a filter and a `reg`, trained on the `codes` of the labelled nodes; and :math:`Xw/\sqrt N`.

    The square loss solves :math:`(K + r)\beta = Y` in the Krylov space that all `reg` share; the logistic loss descends, from
    the strongest `reg` to the weakest, each from where the last ended. All filters share the passes.
    """
    tol = max(tol, FINEST[products.dtype.itemsize])
    points, count = reg.size, codes.shape[1]
    explicit = np.isinf(reg)
    duals, gap = np.zeros((points, *codes.shape)), np.zeros(points)
    solve = _ridge if loss.training == "ridge" else _descend
    groups = _groups(filters, np.flatnonzero(~explicit))
    solve(products, filters, groups, loss, reg, codes, tol, duals, gap)
    order = np.concatenate([np.flatnonzero(explicit), np.flatnonzero(~explicit)])
    each = filters[np.repeat(order, count)]
    parts = [products.spread_alike(codes, filters[explicit])] if explicit.any() else []
    if not explicit.all():
        columns = np.concatenate(list(duals[~explicit] * reg[~explicit, None, None]), axis=1)
        parts.append(products.spread(columns, filters[np.repeat(np.flatnonzero(~explicit), count)]))
    weights, outputs, signal = products.forward(products.backend.join(parts, 1), each)
    scale = np.where(np.isinf(reg), 1.0, 1.0 / reg)[order]
    weights, outputs, signal = (_by_point(block, order, count, scale) for block in (weights, outputs, signal))
    if loss.training == "ridge":
        _check_residual(duals, outputs[:, products.train_mask], reg, codes, tol)
    return Trained(weights, outputs, gap), signal


def _by_point(block: Block, order: npt.NDArray[np.intp], count: int, scale: Array) -> Block:
    """Columns as points times rows times codes, in the order of the points."""
    parts = np.moveaxis(block.reshape(len(block), order.size, count), 0, 1) * scale[:, None, None].astype(block.dtype)
    return np.asarray(parts[np.argsort(order)])


def _groups(filters: Filter, points: npt.NDArray[np.intp]) -> list[npt.NDArray[np.intp]]:
    """Points that have the same filter."""
    if not points.size:
        return []
    values = filters.values[points].reshape(points.size, -1)
    _, which = np.unique(values, axis=0, return_inverse=True)
    which = which.reshape(-1)
    return [points[which == k] for k in range(which.max() + 1)]


def _ridge(  # noqa: PLR0917
    products: Products,
    filters: Filter,
    groups: Sequence[npt.NDArray[np.intp]],
    loss: Loss,
    reg: Array,
    codes: Array,
    tol: float,
    duals: Array,
    gap: Array,
) -> None:
    """Fill in the dual variables of the square loss."""
    spaces = [[KrylovSpace(column, reg[group], tol) for column in codes.T] for group in groups]
    _together(
        products, filters, [(space, group[0]) for group, row in zip(groups, spaces, strict=True) for space in row]
    )
    for group, row in zip(groups, spaces, strict=True):
        duals[group] = np.stack([space.solutions() for space in row], axis=-1)


def _descend(  # noqa: PLR0917
    products: Products,
    filters: Filter,
    groups: Sequence[npt.NDArray[np.intp]],
    loss: Loss,
    reg: Array,
    codes: Array,
    tol: float,
    duals: Array,
    gap: Array,
) -> None:
    """Fill in the dual variables and the gaps of a smooth loss of the margin, all filters together."""
    y = codes[:, :1]
    last: dict[int, SmoothDescent] = {}
    paths = [group[np.argsort(-reg[group])] for group in groups]
    for step in range(max(map(len, paths), default=0)):
        running = [(k, path[step]) for k, path in enumerate(paths) if step < len(path)]
        for k, point in running:
            last[k] = SmoothDescent(_pull(loss, y), float(reg[point]), y.shape, tol, last.get(k))
        _together(products, filters, [(last[k], point) for k, point in running])
        for k, point in running:
            duals[point], gap[point] = last[k].beta, last[k].gap(float(np.sum(loss.value(y * last[k].outputs))))


def _pull(loss: Loss, y: Array) -> Callable[[Array], Array]:
    """Pull of the loss on the outputs."""
    return lambda h: np.asarray(-y * loss.derivatives(y * h)[0])


def _together(products: Products, filters: Filter, problems: Sequence[tuple[_Problem, int]]) -> None:
    """Give the problems, each with the place of its filter, their products, until all are done."""
    for _ in range(PASSES):
        active = [(problem, place) for problem, place in problems if not problem.done]
        if not active:
            return
        wanted = [problem.here.reshape(len(problem.here), -1) for problem, _ in active]
        places = np.repeat([place for _, place in active], [block.shape[1] for block in wanted])
        sizes = np.concatenate([np.linalg.norm(block, axis=0) for block in wanted])
        sizes[sizes == 0.0] = 1.0
        found = products.gram(np.concatenate(wanted, axis=1) / sizes, filters[places]) * sizes
        ends = np.cumsum([block.shape[1] for block in wanted])[:-1]
        for (problem, _), product in zip(active, np.split(found, ends, axis=1), strict=True):
            problem.take(product.reshape(problem.here.shape))
    raise ConvergenceError(f"the training did not converge in {PASSES} passes over the features; raise reg")


def _check_residual(duals: Array, outputs: Block, reg: Array, codes: Array, tol: float) -> None:
    r"""Refuse dual variables with :math:`|K\beta + r\beta - Y|` above `tol` times :math:`|Y|`; the last pass gave the product."""
    for beta, h, r in zip(duals, outputs, reg, strict=True):
        left = 0.0 if np.isinf(r) else np.linalg.norm(h + r * beta - codes) / np.linalg.norm(codes)
        if not left <= 10.0 * tol:
            raise ConvergenceError(f"the training at reg = {r:g} stopped at a residual of {left:.1e}; raise reg")
