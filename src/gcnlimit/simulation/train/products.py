r"""Training by products alone, for features that are not stored or lie on a device.

With the rows :math:`F = R\, g(a) X/\sqrt N` and dual variables :math:`\beta`, the weights are :math:`w = F^T \beta` and the
outputs on the labelled nodes :math:`h = K\beta` with :math:`K = FF^T`. A product with :math:`K` takes one pass over the features,
for the columns of several networks at once, and nothing larger than a few vectors is held. At infinite regularization
:math:`\beta` are the codes of the labels, and the one pass that makes weights and outputs is all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._values import Array
from gcnlimit.errors import ConvergenceError
from gcnlimit.filters import Filter
from gcnlimit.simulation.backend import Backend, Device, backend_of
from gcnlimit.simulation.data.features import StreamedFeatures, one_pass
from gcnlimit.simulation.data.observation import Mask, Observation
from gcnlimit.simulation.data.operator import Operator
from gcnlimit.simulation.train.rows import groups_by_filter
from gcnlimit.simulation.train.smooth import Slopes, SmoothDescent
from gcnlimit.simulation.train.solvers import KrylovSpace

Block = npt.NDArray[Any]
PASSES = 500  # of one training, at most
MAX_PASSES = 5000  # the same where there are as many labelled nodes, whose Krylov space is then whole
FINEST = {4: 2e-6, 8: 1e-13}  # relative error of a product, by the bytes of a number
ROUNDING = 1e-5  # residual that it may leave where the gain of a filter is large


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
        sizes = np.linalg.norm(block, axis=0)  # so that nothing underflows in single precision
        sizes[sizes == 0.0] = 1.0
        _, outputs, _ = self.forward(self.spread(block / sizes, filters), filters)
        return np.asarray(outputs[self.train_mask] * sizes, np.float64)

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


@dataclass(frozen=True, eq=False)
class _Points:
    """Networks to be trained: a filter, and a `reg`, at each point; `codes` of the labelled nodes; dual variables to be found.

    With a free bias these sum to 0. The Krylov spaces of the square loss are then those of the outputs less their mean; the pulls
    of a smooth loss sum to 0 by themselves.
    """

    products: Products
    filters: Filter
    slopes: Slopes | None
    reg: Array
    codes: Array
    tol: float
    biased: bool

    def solve(self) -> tuple[Array, Array]:
        """Dual variables, points times labelled nodes times codes, and duality gaps, of the points of finite `reg`."""
        duals, gap = np.zeros((self.reg.size, *self.codes.shape)), np.zeros(self.reg.size)
        if self.slopes is None:
            self._ridge(duals)
        else:
            self._descend(duals, gap, self.slopes)
        return duals, gap

    def _groups(self) -> list[npt.NDArray[np.intp]]:
        """Points of finite `reg` that have the same filter, from the strongest to the weakest."""
        groups = groups_by_filter(self.filters, np.flatnonzero(np.isfinite(self.reg)))
        return [group[np.argsort(-self.reg[group])] for group in groups]

    def _ridge(self, duals: Array) -> None:
        """Fill in the dual variables of the square loss: one Krylov space for each filter and code."""
        groups = self._groups()
        spaces = [[KrylovSpace(column, self.reg[group], self.tol) for column in self.codes.T] for group in groups]
        self._together([(space, group[0]) for group, row in zip(groups, spaces, strict=True) for space in row])
        for group, row in zip(groups, spaces, strict=True):
            duals[group] = np.stack([space.solutions() for space in row], axis=-1)

    def _descend(self, duals: Array, gap: Array, slopes: Slopes) -> None:
        """Fill in the dual variables and the gaps of a smooth loss, each `reg` from where the last ended."""
        groups, shape = self._groups(), self.codes.shape
        last: dict[int, SmoothDescent] = {}
        for step in range(max(map(len, groups), default=0)):
            running = [(k, group[step]) for k, group in enumerate(groups) if step < len(group)]
            for k, point in running:
                last[k] = SmoothDescent(slopes.pull, float(self.reg[point]), shape, self.tol, last.get(k))
            self._together([(last[k], point) for k, point in running])
            for k, point in running:
                duals[point], gap[point] = last[k].beta, last[k].gap(slopes.value(last[k].outputs))

    def _together(self, problems: Sequence[tuple[KrylovSpace | SmoothDescent, int]]) -> None:
        """Give the problems, each with the place of its filter, their products, until all are done."""
        passes = max(PASSES, min(len(self.codes), MAX_PASSES))
        for _ in range(passes + 1):
            active = [(problem, place) for problem, place in problems if not problem.done]
            if not active:
                return
            wanted = [problem.here.reshape(len(problem.here), -1) for problem, _ in active]
            widths = [block.shape[1] for block in wanted]
            filters = self.filters[np.repeat([place for _, place in active], widths)]
            found = self._centred(self.products.gram(np.concatenate(wanted, axis=1), filters))
            for (problem, _), product in zip(active, np.split(found, np.cumsum(widths)[:-1], axis=1), strict=True):
                problem.take(product.reshape(problem.here.shape))
        raise ConvergenceError(f"the training did not converge in {passes} passes over the features; raise reg")

    def _centred(self, outputs: Array) -> Array:
        return outputs - outputs.mean(axis=0) if self.biased and self.slopes is None else outputs

    def check_residual(self, duals: Array, outputs: Block) -> None:
        r"""Refuse :math:`|K\beta + r\beta - Y|` that rounding left too large for :math:`|Y|`; the outputs are :math:`K\beta`."""
        for k in np.flatnonzero(np.isfinite(self.reg)):
            residual = self._centred(outputs[k]) + self.reg[k] * duals[k] - self.codes
            left = np.linalg.norm(residual) / np.linalg.norm(self.codes)
            if not left <= max(10.0 * self.tol, ROUNDING):
                other = ", or use dtype = 'float64'" if self.products.dtype.itemsize == 4 else ""
                raise ConvergenceError(
                    f"the training at reg = {self.reg[k]:g} stopped at a residual of {left:.1e}; raise reg{other}"
                )


def train_by_products(  # noqa: PLR0917
    products: Products, filters: Filter, slopes: Slopes | None, reg: Array, codes: Array, tol: float, *, biased: bool
) -> tuple[Block, Block, Block, Array]:
    r"""Networks at each pair of a filter and a `reg`, trained on the `codes` of the labelled nodes.

    Weights, points times :math:`M` times codes; outputs and :math:`Xw/\sqrt N` on all nodes; duality gaps.

    Without `slopes` the loss is the square loss, which solves :math:`(K + r)\beta = Y` in the Krylov space that all `reg` share;
    a smooth loss descends, from the strongest `reg` to the weakest, each from where the last ended. All filters share the
    passes. If `biased`, there is a free bias: the codes have mean 0, and `slopes` are at the best bias for each output.
    """
    points = _Points(products, filters, slopes, reg, codes, max(tol, FINEST[products.dtype.itemsize]), biased)
    duals, gap = points.solve()
    explicit, rest = (np.flatnonzero(where) for where in (np.isinf(reg), np.isfinite(reg)))
    order, count = np.concatenate([explicit, rest]), codes.shape[1]
    parts = [products.spread_alike(codes, filters[explicit])] if explicit.size else []
    if rest.size:
        columns = np.concatenate(list(duals[rest] * reg[rest, None, None]), axis=1)
        parts.append(products.spread(columns, filters[np.repeat(rest, count)]))
    blocks = products.forward(products.backend.join(parts, 1), filters[np.repeat(order, count)])
    scale = np.where(np.isinf(reg), 1.0, 1.0 / reg)[order]
    weights, outputs, signal = (_by_point(block, order, count, scale) for block in blocks)
    if slopes is None:
        points.check_residual(duals, outputs[:, products.train_mask])
    return weights, outputs, signal, gap


def _by_point(block: Block, order: npt.NDArray[np.intp], count: int, scale: Array) -> Block:
    """Columns as points times rows times codes, in the order of the points."""
    parts = np.moveaxis(block.reshape(len(block), order.size, count), 0, 1) * scale[:, None, None].astype(block.dtype)
    return np.asarray(parts[np.argsort(order)])
