"""The network: a filter of the graph, one trained layer of weights, a loss and a regularization."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gcnlimit._validation import as_real, broadcast, check_types, flag
from gcnlimit._values import Array, Parameter, Value, brief
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Filter, as_filter
from gcnlimit.losses import Loss, as_loss
from gcnlimit.normalization import Normalization, as_normalization
from gcnlimit.penalties import L2, Penalty, as_penalty
from gcnlimit.training import Training, as_training


@dataclass(frozen=True, eq=False, init=False)
class GCN(Value):
    r"""Graph convolutional network :math:`h(w) = g(a) X w/\sqrt N` with trained weights :math:`w`.

    The training minimizes :math:`\sum_{i \in R} \ell(y_i h_i(w)) + r \sum_\nu \gamma(w_\nu)` over the labelled nodes :math:`R`.
    The same value describes the network on a sampled graph and its large-size limit.

    Parameters
    ----------
    filter
        The function :math:`g`: `Residual`, `Diffusion`, `PageRank`, `Polynomial`, or on symmetric graphs any function of
        NumPy arrays (see `gcnlimit.filters.Function`).
    test_filter
        Another function :math:`g'` that is applied at test time, on unlabelled nodes, to weights trained with `filter`. By
        default the same.
    loss
        ``"square"``, ``"logistic"``, ``"hinge"``, a convex function of the margin, or a `Loss` of your own.
    reg
        Regularization :math:`r > 0`; ``math.inf`` is a value like any other, and the default. With a `training` it may be 0, and
        is by default.
    symmetrize
        Whether the network applies :math:`(A + A^T)/\sqrt 2`, or :math:`A` itself, as in most of the paper; without effect if
        the graph is symmetric. The two directions of an edge are independent observations of the same labels.
    normalize
        Whether the filter is divided by its root mean square gain over the noise, :math:`\sqrt{\tau(gg^T)}`, so that `reg`
        means the same at every depth and strength.
    penalty
        The function :math:`\gamma`, strictly convex: ``"l2"``, :math:`w^2/2`; `ElasticNet`; a function of a weight; or a
        `Penalty`. Any but ``"l2"`` needs a finite `reg`.
    normalization
        By which powers of the degrees the adjacency is divided: ``"symmetric"``, ``"none"``, ``"random-walk"``,
        ``"regularized"`` (see `Regularized`), or a pair of exponents (Eq. 11.3). Without effect where all
        degrees are alike.
    training
        `GradientDescent` or `GradientFlow` from zero weights, stopped after some time, with the square loss (§13). By default
        the weights minimize the objective.

    Examples
    --------
    >>> from gcnlimit import Diffusion
    >>> GCN(Diffusion(t=1.0))
    GCN(filter=Diffusion(t=1.0), loss=Square(), reg=inf, symmetrize=True, normalize=False, penalty=L2())
    """

    filter: Filter
    loss: Loss
    reg: Parameter
    symmetrize: bool
    normalize: bool
    penalty: Penalty
    normalization: Normalization
    test_filter: Filter | None
    training: Training | None

    def __init__(
        self,
        filter: Filter | Callable[[Array], ArrayLike],
        loss: Loss | Callable[[Array], ArrayLike] | str = "square",
        reg: ArrayLike | None = None,
        symmetrize: bool = True,
        normalize: bool = False,
        *,
        penalty: Penalty | Callable[[Array], ArrayLike] | str = "l2",
        normalization: Normalization | tuple[float, float] | str = "symmetric",
        test_filter: Filter | Callable[[Array], ArrayLike] | None = None,
        training: Training | None = None,
    ) -> None:
        training = as_training(training)
        self.__dict__.update(
            filter=as_filter(filter),
            loss=as_loss(loss),
            reg=_as_reg(reg, training),
            symmetrize=flag("symmetrize", symmetrize),
            normalize=flag("normalize", normalize),
            penalty=as_penalty(penalty),
            normalization=as_normalization(normalization),
            test_filter=None if test_filter is None else as_filter(test_filter),
            training=training,
        )
        self.shape  # noqa: B018 - refuses shapes that do not broadcast
        if not isinstance(self.penalty, L2) and np.isinf(self.reg).any():
            raise ParameterError(f"reg = inf: penalty = {self.penalty!r} needs a finite reg")

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Common shape of the parameters (the depth is not an axis of it)."""
        parts = ("filter", "normalization", "test_filter", "training")
        values = {name: getattr(self, name) for name in parts}
        shapes = {name: value.shape for name, value in values.items() if value is not None}
        return broadcast(reg=np.shape(self.reg), **shapes)

    @property
    def filters(self) -> tuple[Filter, ...]:
        """Filter of the training, and that of the test if it is another."""
        return (self.filter,) if self.test_filter is None else (self.filter, self.test_filter)

    @property
    def read_filter(self) -> Filter:
        """Filter through which test nodes are read."""
        return self.test_filter or self.filter

    def __repr__(self) -> str:
        """Fields by name; the symmetric normalization, a filter at test that is the same and training to the end left out."""
        usual = {"normalization": self.normalization.plain, "test_filter": self.test_filter is None}
        usual["training"] = self.training is None
        shown = [f.name for f in fields(self) if not usual.get(f.name, False)]
        return f"GCN({', '.join(f'{name}={brief(getattr(self, name))}' for name in shown)})"

    def replaced(self, **changes: Any) -> GCN:
        """Same network with some of its fields changed.

        >>> from gcnlimit import Diffusion
        >>> GCN(Diffusion(t=1.0), "hinge", normalize=True).replaced(reg=2.0)
        GCN(filter=Diffusion(t=1.0), loss=Hinge(), reg=2.0, symmetrize=True, normalize=True, penalty=L2())
        """
        return replace(self, **changes)


def _as_reg(reg: ArrayLike | None, training: Training | None) -> Parameter:
    """Regularization that was asked for; 0 and infinity are those of a training that stops, and of one that does not."""
    if training is None:
        wanted = math.inf if reg is None else reg
        return as_real("reg", wanted, low=0, open_low=True, infinite=True)
    checked = as_real("reg", 0.0 if reg is None else reg, low=0, infinite=True)
    if np.isinf(checked).any():
        raise ParameterError(
            "reg = inf leaves nothing to train; give a finite reg with training, or leave out both"
        )
    return checked


def check_problem(function: str, data: object, gcn: object) -> None:
    """Raise `ParameterError` unless a function was given data and a network."""
    check_types(function, data=(data, CSBM), gcn=(gcn, GCN))
