"""The data: the contextual stochastic block model, and the law of the operator that a network applies."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from gcnlimit._validation import as_real, broadcast, flag, number, whole
from gcnlimit._values import Array, Parameter, Value, brief
from gcnlimit.classes import Classes
from gcnlimit.degrees import DegreeLaw, as_degrees
from gcnlimit.errors import ParameterError
from gcnlimit.spectrum import Spectrum, as_spectrum

SIGNALS = ("alpha", "lam", "mu", "rho")  # real parameters of the data


class SpikedOperator(NamedTuple):
    r"""Law of the operator :math:`a = \frac{\lambda_e}N yy^T + \xi`: its `signal` :math:`\lambda_e`, and whether it is symmetric.

    >>> SpikedOperator(np.array([0.5, -2.0]), symmetric=True).spike
    array([ 0. , -2.5])
    """

    signal: Array
    symmetric: bool

    @property
    def edge(self) -> float:
        """Radius of the bulk of the spectrum, an interval or a disc (Eq. 1.3)."""
        return 2.0 if self.symmetric else 1.0

    @property
    def radius(self) -> Array:
        r"""Spectral radius, spike included: :math:`|\lambda_e| + 1/|\lambda_e|` or 2, :math:`|\lambda_e|` or 1 if directed."""
        size = np.maximum(np.abs(self.signal), 1.0)
        return np.asarray(size + 1.0 / size if self.symmetric else size)

    @property
    def spike(self) -> Array:
        r"""Eigenvalue outside the bulk, :math:`\lambda_e + \lambda_e^{-1}`, or :math:`\lambda_e` if directed; 0 if none."""
        return np.where(np.abs(self.signal) > 1.0, np.sign(self.signal) * self.radius, 0.0)


@dataclass(frozen=True, eq=False, init=False)
class CSBM(Value):
    r"""Contextual stochastic block model in the large-size limit.

    :math:`N` nodes carry labels :math:`y_i = \pm 1` (for more classes see `classes`). The graph is, up to centring and
    scaling, the spiked matrix :math:`\frac{\lambda}{\sqrt N} y y^T + \Xi`; the features are
    :math:`X = \sqrt{\mu/N}\, y u^T + W` with :math:`M = N/\alpha` columns; the labels of a fraction :math:`\rho` of the
    nodes are revealed. Every parameter may be an array; arrays broadcast as in NumPy.

    Parameters
    ----------
    alpha
        Aspect ratio :math:`\alpha = N/M > 0`.
    lam
        Signal of the graph; negative for a heterophilic graph.
    mu
        Signal of the features, :math:`\mu \ge 0`.
    rho
        Fraction of labelled nodes, in :math:`[0, 1]`.
    directed
        Whether :math:`A_{ij}` and :math:`A_{ji}` are independent, as in the paper, or the graph is drawn symmetric.
    classes
        Number :math:`C` of equal classes, or the fractions of the classes, which sum to 1. Labels are codes of :math:`C - 1`
        entries (Eq. 8.1); two equal classes are :math:`y = \pm 1`.
    features
        Law of correlated features, a `Spectrum`; by default they are independent, of unit variance.
    degrees
        Law of heterogeneous degrees (Eq. 11.2): `Gamma`, `LogNormal`, `Pareto` or `Degrees`, that of a given graph.
    noise
        Probability, below 1/2, that a revealed label is wrong, independently of the others; for two equal classes. Accuracies
        on test nodes refer to the true labels, on train nodes to the revealed ones.

    Examples
    --------
    >>> data = CSBM(alpha=4, lam=[0.5, 1.0], mu=2, rho=0.1)
    >>> data.shape
    (2,)
    >>> data.snr
    array([1.5, 3. ])
    >>> CSBM(4, 1, 2, 0.1, classes=[0.2, 0.8])
    CSBM(alpha=4.0, lam=1.0, mu=2.0, rho=0.1, directed=True, classes=(0.2, 0.8))
    """

    alpha: Parameter
    lam: Parameter
    mu: Parameter
    rho: Parameter
    directed: bool
    classes: Classes
    features: Spectrum
    degrees: DegreeLaw | None
    noise: float

    def __init__(
        self,
        alpha: ArrayLike,
        lam: ArrayLike,
        mu: ArrayLike,
        rho: ArrayLike,
        directed: bool = True,
        *,
        classes: Classes | int | ArrayLike = 2,
        features: Spectrum | None = None,
        degrees: DegreeLaw | None = None,
        noise: float = 0.0,
    ) -> None:
        self.__dict__.update(
            alpha=as_real("alpha", alpha, low=0, open_low=True),
            lam=as_real("lam", lam),
            mu=as_real("mu", mu, low=0),
            rho=as_real("rho", rho, low=0, high=1),
            directed=flag("directed", directed),
            classes=Classes.of(classes),
            features=as_spectrum(features),
            degrees=as_degrees(degrees),
            noise=number("noise", noise),
        )
        if not 0.0 <= self.noise < 0.5:
            wanted = "at least 0 and below 0.5, at which labels say nothing (take rho=0 for that)"
            raise ParameterError(f"noise = {self.noise:g} is not allowed; it must be {wanted}")
        if self.noise and not self.classes.two:
            told = f"noise = {self.noise:g} has no theory for classes = {self.classes},"
            raise ParameterError(f"{told} only for two equal ones; leave out one of the two")
        self.shape  # noqa: B018 - refuses shapes that do not broadcast

    @classmethod
    def from_homophily(
        cls,
        homophily: ArrayLike,
        degree: ArrayLike,
        distance: ArrayLike,
        *,
        nodes: ArrayLike,
        features: ArrayLike,
        labelled: ArrayLike,
        directed: bool = False,
        classes: int = 2,
    ) -> CSBM:
        r"""Return the model that has the edge homophily, mean degree and class means of a graph.

        With :math:`d` the mean degree, :math:`h` the homophily, :math:`D` the distance, :math:`N` nodes, :math:`M` features and
        :math:`C` classes of equal size,

        .. math:: \lambda = \frac{Ch - 1}{C - 1} \sqrt{\frac d{1 - d/N}}, \quad \mu = \frac\alpha{2C} D^2, \; \alpha = \frac NM.

        Parameters
        ----------
        homophily
            Fraction of the edges that join two nodes of one class.
        degree
            Mean number of edges that leave a node (of neighbours, if the graph is undirected), below `nodes`.
        distance
            Distance between two class means, in units of the noise of a feature: the Mahalanobis distance.
        nodes, features, labelled
            Numbers of nodes, of features, and of nodes whose label is known.
        directed, classes
            Whether the two directions of an edge are independent, and the number of classes, all of one size.

        Examples
        --------
        >>> data = CSBM.from_homophily(0.6, degree=30, distance=1.5, nodes=2000, features=500, labelled=200)
        >>> round(data.homophily(degree=30, nodes=2000), 12), data.distance
        (0.6, 1.5)
        """
        h = as_real("homophily", homophily, low=0, high=1)
        distance = as_real("distance", distance, low=0, high=1e50)
        n = as_real("nodes", nodes, low=0, open_low=True)
        f = as_real("features", features, low=0, open_low=True)
        count_labelled = np.asarray(as_real("labelled", labelled, low=0))
        sizes = {"homophily": h, "distance": distance, "nodes": n, "features": f}
        sizes |= {"degree": as_real("degree", degree), "labelled": count_labelled}
        broadcast(**{name: np.shape(size) for name, size in sizes.items()})
        if np.any(count_labelled > n):
            raise ParameterError("labelled is larger than nodes; give the number of labelled nodes")
        if np.any((count_labelled > 0.0) & (count_labelled < 1.0)):
            told = f"labelled = {labelled!r} is not a number of nodes"
            raise ParameterError(f"{told}; for a rate write rate * nodes")
        count = whole("classes", classes, low=2)
        lam = (count * h - 1.0) / (count - 1) * _full_signal(degree, n)
        alpha = n / f
        mu = alpha * distance**2 / (2.0 * count)
        return cls(alpha, lam, mu, count_labelled / n, directed, classes=count)

    def homophily(self, degree: ArrayLike, nodes: ArrayLike = np.inf) -> Parameter:
        r"""Fraction :math:`\frac1C [1 + (C-1) \lambda \sqrt{(1 - d/N)/d}]` of edges within equal classes, at degree :math:`d`."""
        count = self._equal_classes()
        h = (1.0 + (count - 1) * self.lam / _full_signal(degree, nodes)) / count
        if np.any(np.abs(h - 0.5) > 0.5):
            signal = f"the signal lam = {np.max(np.abs(self.lam)):g}"
            raise ParameterError(f"no graph of that degree has {signal}; raise degree above lam**2")
        return h

    @property
    def distance(self) -> Parameter:
        r"""Distance :math:`\sqrt{2C\mu/\alpha}` of the means of two equal classes, in units of the noise of a feature."""
        return (2.0 * self._equal_classes() * self.mu / self.alpha) ** 0.5

    def _equal_classes(self) -> int:
        if not self.classes.equal:
            told = f"classes = {self.classes} have no single homophily or distance"
            raise ParameterError(f"{told}; give equal classes")
        return self.classes.count

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Common shape of the parameters."""
        return broadcast(**{name: np.shape(getattr(self, name)) for name in SIGNALS})

    def __repr__(self) -> str:
        """Parameters by name; two equal classes, white features, degrees that are alike and labels that are right left out."""
        usual = {"degrees": self.degrees is None, "noise": self.noise == 0.0}
        usual |= {"classes": self.classes.two, "features": self.features.is_white}
        shown = [f.name for f in fields(CSBM) if not usual.get(f.name, False)]
        return f"CSBM({', '.join(f'{name}={brief(getattr(self, name))}' for name in shown)})"

    def replaced(self, **parameters: Any) -> Self:
        """Return the same model with other values of some of `alpha`, `lam`, `mu`, `rho`.

        >>> CSBM(4, 1, 2, 0.1, classes=3).replaced(mu=0.0)
        CSBM(alpha=4.0, lam=1.0, mu=0.0, rho=0.1, directed=True, classes=3)
        """
        return replace(self, **parameters)

    @property
    def model(self) -> CSBM:
        """The model itself; for an estimate, the model without its errors."""
        return self

    @property
    def fractions(self) -> Array:
        """Fraction of the nodes in each class."""
        return self.classes.fractions

    def effective_signal(self, symmetrize: bool) -> Parameter:
        r"""Signal :math:`\lambda_e` of the operator: :math:`\sqrt 2 \lambda` if a directed graph is symmetrized, else `lam`."""
        if not (self.directed and flag("symmetrize", symmetrize)):
            return self.lam
        with np.errstate(over="ignore"):
            return math.sqrt(2.0) * self.lam

    def operator(self, symmetrize: bool) -> SpikedOperator:
        """Law of the operator that a network applies: its signal at each point, and whether it is symmetric."""
        signal = np.asarray(self.effective_signal(symmetrize))
        return SpikedOperator(signal, symmetrize or not self.directed)

    @property
    def snr(self) -> Parameter:
        r"""Signal-to-noise ratio :math:`\lambda_s^2 + \mu^2/\alpha` of graph and features together.

        :math:`\lambda_s` is the signal of the symmetrized graph. Without labels message passing recovers the classes better than
        by chance exactly if the ratio exceeds 1. Correlated features count :math:`\langle(\Gamma/\sigma^2)^2\rangle` times
        (Eq. 8.17); with heterogeneous degrees it is the larger eigenvalue in Eq. 11.14.

        >>> CSBM(4, 0, 2, 0, features=Spectrum([0.5, 2.0])).snr
        2.125
        >>> from gcnlimit import Gamma
        >>> round(CSBM(4, 1, 0, 0, directed=False, degrees=Gamma(0.5)).snr, 12)
        1.5
        """
        law = self.features
        with np.errstate(over="ignore", under="ignore"):
            graph = np.square(self.lam) * (2.0 if self.directed else 1.0)
            shown = np.square(self.mu) / self.alpha * law.average((law.signal / law.variance) ** 2)
            ratio = graph + shown
            if self.degrees is not None:
                hubs = graph * self.degrees.moment(2.0)
                ratio = 0.5 * (hubs + shown + np.sqrt((hubs - shown) ** 2 + 4.0 * graph * shown))
        return ratio if isinstance(ratio, np.ndarray) else float(ratio)


def _full_signal(degree: ArrayLike, nodes: ArrayLike) -> Parameter:
    r"""Signal :math:`\sqrt{d/(1 - d/N)}` of a graph all of whose edges stay within the classes."""
    d = as_real("degree", degree, low=0, open_low=True)
    n = as_real("nodes", nodes, low=0, open_low=True, infinite=True)
    broadcast(degree=np.shape(d), nodes=np.shape(n))
    if np.any(np.greater_equal(d, n)):
        raise ParameterError(f"degree = {np.max(d):g} is too large; it must be below nodes")
    return (d / (1.0 - d / n)) ** 0.5
