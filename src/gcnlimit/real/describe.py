"""What a given graph looks like, and whether the model holds for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gcnlimit._runtime.progress import progress_bar
from gcnlimit._values import Array, measured, printable
from gcnlimit.graphs.blocks import homophily
from gcnlimit.graphs.check import counted
from gcnlimit.graphs.standard import StandardizedGraph
from gcnlimit.numerics.lanczos import quadrature, top_eigenvalues
from gcnlimit.real.estimate import Estimate, best_method, estimate_standard
from gcnlimit.results.markup import Printed
from gcnlimit.results.pictures import ready_axes

VECTORS = 8
STEPS = 80
OUTLIERS = 12


@dataclass(frozen=True, eq=False, repr=False)
class Description(Printed):
    r"""Size, degrees, homophily, spectrum and signals of a graph.

    Parameters
    ----------
    nodes, edges, directed, isolated, features
        Counts; edges of an undirected graph once.
    degree, degree_spread, largest_degree
        Mean, standard deviation and maximum of the degrees, in and out together if directed.
    classes, labelled
        Labelled nodes of each class by name, and all of them.
    homophily, adjusted_homophily
        Fraction of the edges between labelled nodes that join equal classes; the same adjusted for the degrees: 0 if edges
        ignore the classes, 1 if they stay inside them. NaN if no edge joins labelled nodes.
    noise_level, outliers, spectrum
        Mean square :math:`\mathrm{tr}\,a_0^2/N` of the operator with its degrees divided out, 1 in the model; eigenvalues of
        the symmetrized operator beyond the semicircle, :math:`|x| > 2.2`, up to twelve, largest first (with the degrees divided
        out if these vary); eigenvalues and weights that stand for the whole spectrum.
    estimate, likelihood
        Signals from labels, and by likelihood for two classes of equal size (else None).
    """

    nodes: int
    edges: int
    directed: bool
    isolated: int
    features: int
    degree: float
    degree_spread: float
    largest_degree: float
    classes: dict[str, int]
    labelled: int
    homophily: float
    adjusted_homophily: float
    noise_level: float
    outliers: Array
    spectrum: tuple[Array, Array]
    estimate: Estimate
    likelihood: Estimate | None

    @property
    def doubts(self) -> tuple[str, ...]:
        """Reasons to doubt the model, one sentence each: those of the likelihood, where it applies."""
        return (self.likelihood or self.estimate).warnings

    @property
    def holds(self) -> bool:
        """Whether there is no reason to doubt the model."""
        return not self.doubts

    def as_dict(self) -> dict[str, Any]:
        """Numbers of the description by name, for a table or a file."""
        plain = {name: v for name, v in vars(self).items() if isinstance(v, int | float)}
        plain |= {n: getattr(self.estimate, n) for n in ("lam", "lam_error", "mu", "mu_error")}
        return plain | {"top_eigenvalue": float(self.outliers[0]) if self.outliers.size else 2.0}

    def plot(self, axes: Any = None) -> Any:
        """Draw the spectrum together with the semicircle, outliers marked (needs matplotlib); returns the axes."""
        axes = ready_axes(axes)
        values, weights = self.spectrum
        edge = max(2.5, 1.1 * float(np.max(np.abs(values))))
        bins = np.arange(-edge, edge + 0.2, 0.2)
        axes.hist(values, bins, weights=weights, density=True, color="0.75", label="this graph")
        x = np.linspace(-2.0, 2.0, 201)
        axes.plot(x, np.sqrt(4.0 - x**2) / (2.0 * np.pi), color="C0", label="semicircle")
        if (x := self.outliers).size:
            axes.plot(x, 0.0 * x, "v", color="C3", clip_on=False, label="outliers")
        axes.set(xlabel="eigenvalue of the centred graph", ylabel="density")
        axes.legend(frameon=False)
        return axes

    def __str__(self) -> str:
        edges = f"{counted(self.edges, 'edge')} ({'directed' if self.directed else 'undirected'})"
        size = f"{self.nodes} nodes, {edges}, {counted(self.features, 'feature')}"
        spread = f"standard deviation {self.degree_spread:.1f}, largest {self.largest_degree:g}"
        classes = ", ".join(f"{name} {count}" for name, count in self.classes.items())
        both = (self.homophily, self.adjusted_homophily)
        same, adjusted = (f"{h:.2f}".replace("nan", "not defined by the labels") for h in both)
        lines = [
            f"{size}, {counted(self.isolated, 'isolated node')}",
            f"degree {self.degree:.1f} on average, {spread}",
            f"{self.labelled} labelled: {printable(classes)}",
            f"homophily {same}, adjusted for degrees {adjusted}",
        ]
        for estimate, how in ((self.estimate, "from labels"), (self.likelihood, "by likelihood")):
            if estimate is not None:
                lam = measured(estimate.lam, estimate.lam_error, ".2f", ".2f")
                mu = measured(estimate.mu, estimate.mu_error, ".2f", ".2f")
                lines.append(f"lam {lam}, mu {mu} ({how})")
        if self.holds:
            snr = f"signal-to-noise ratio {float((self.likelihood or self.estimate).data.snr):.2g}"
            lines.append(f"{snr}: above 1 the classes show even without labels")
        vary = "as at random" if self.estimate.degrees is None else "more than at random"
        noise = f"the noise without them is {self.noise_level:.2f} (model: 1)"
        lines.append(f"degrees vary {vary}; {noise}")
        if self.outliers.size:
            outside = ", ".join(f"{value:.2f}" for value in self.outliers)
            lines.append(f"eigenvalues outside of the semicircle: {outside}")
        holds = "does not hold:" if self.doubts else "holds as far as can be seen"
        return "\n".join([*lines, f"the model {holds}", *self.doubts])


@progress_bar("describing")
def describe(X: Any, y: Any, graph: Any) -> Description:
    """Describe a graph: degrees, homophily, spectrum, signals with errors, and whether the model holds.

    `X` (or None), `y` and `graph` are as for `GraphClassifier`.

    >>> import gcnlimit as gl
    >>> i = gl.sample(gl.CSBM(alpha=2, lam=1.5, mu=2.0, rho=0.3, directed=False), nodes=1000, degree=30, seed=0)
    >>> found = gl.describe(i.features, np.where(i.train_mask, i.labels > 0, -1), i.adjacency)
    >>> found.holds, bool(abs(found.outliers[0] - (1.5 + 1 / 1.5)) < 0.2)
    (True, True)
    """
    standard = StandardizedGraph.of(X, y, graph)
    degree, labels = standard.degrees, standard.labels
    same, adjusted = homophily(standard.operator.matrix, labels)
    S = standard.spectral()
    tops = top_eigenvalues(S, min(OUTLIERS, standard.nodes - 1))
    rng = np.random.default_rng(0)
    rules = [quadrature(S, rng.standard_normal(standard.nodes), STEPS) for _ in range(VECTORS)]
    values, shares = (np.concatenate(part) for part in zip(*rules, strict=True))
    likely = best_method(standard) == "likelihood"
    return Description(
        nodes=standard.nodes,
        edges=standard.operator.matrix.nnz // (1 if standard.directed else 2),
        directed=standard.directed,
        isolated=int(np.sum(degree == 0)),
        features=0 if X is None else int(np.shape(X)[1]),
        degree=float(degree.mean()),
        degree_spread=float(degree.std()),
        largest_degree=float(degree.max()),
        classes=dict(zip(map(str, labels.classes.tolist()), labels.counts.tolist(), strict=True)),
        labelled=labels.labelled.size,
        homophily=same,
        adjusted_homophily=adjusted,
        noise_level=float(standard.noise_level),
        outliers=tops[np.abs(tops) > 2.2],
        spectrum=(values, shares / VECTORS),
        estimate=estimate_standard(standard),
        likelihood=estimate_standard(standard, "likelihood") if likely else None,
    )
