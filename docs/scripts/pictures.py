"""The pictures of the reference: whatever has a method that draws, by the call that a user writes.

python docs/scripts/pictures.py docs/images/api
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import gcnlimit as gl

TEXAS = Path(__file__).parents[2] / "examples" / "data" / "texas.npz"


def accuracies() -> Any:
    """Draw the accuracy of a network, exact and simulated, below the best possible."""
    data = gl.CSBM(alpha=4, lam=np.linspace(0.2, 2.0, 19), mu=2.0, rho=0.1)
    gcn = gl.GCN(gl.Diffusion(t=1.5), loss="logistic", reg=0.1)
    axes = gl.bayes_optimal(data).plot()
    gl.best_linear(data).plot(axes=axes)
    gl.predict(data, gcn).plot(axes=axes)
    some = data.replaced(lam=[0.4, 1.0, 1.6])
    gl.simulate(some, gcn, nodes=1500, trials=4, seed=0).plot(axes=axes)
    axes.legend(["Bayes-optimal", "best linear network", "predicted", "simulated"], frameon=False)
    return axes


def tuned() -> Any:
    """Draw the accuracies of the best filter and of a tuned diffusion."""
    data = gl.CSBM(alpha=4, lam=np.linspace(0.2, 2.0, 19), mu=2.0, rho=0.1)
    axes = gl.best_filter(data).plot()
    gl.tune(data, gl.GCN(gl.Diffusion(t=1.0)), {"t": (0, 10)}).plot(axes=axes)
    axes.legend(["best filter", "tuned diffusion"], frameon=False)
    return axes


def networks() -> Any:
    """Draw networks side by side, with the best possible accuracy."""
    data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    return gl.compare(data, depth=2, reg=np.inf).plot()


def gaps() -> Any:
    """Draw the gap of a tuned network to the best possible accuracy."""
    lam, mu = np.linspace(0.1, 2.0, 20)[:, None], np.linspace(0.1, 4.0, 20)
    data = gl.CSBM(alpha=4, lam=lam, mu=mu, rho=0.1)
    return gl.gap_map(data, gl.GCN(gl.Diffusion(1.0)), {"t": (0, 10)}).plot("gap")


def another_graph() -> Any:
    """Draw the accuracy on another graph against its strength."""
    trained = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    tested = trained.replaced(lam=np.linspace(0.2, 2.0, 19))
    axes = gl.bayes_optimal(trained, to=tested).plot()
    gl.best_linear(trained, to=tested).plot(axes=axes)
    gl.transfer(trained, gl.GCN(gl.Diffusion(t=1.5)), tested).plot(axes=axes)
    axes.legend(["Bayes-optimal", "best linear network", "network as trained"], frameon=False)
    return axes


def reliability() -> Any:
    """Draw the accuracy of a network among nodes of equal confidence, against that confidence."""
    data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
    gcn = gl.GCN(gl.Diffusion(t=1.5), loss="logistic", reg=0.1)
    return gl.predict(data, gcn).calibration.plot_reliability()


def spectrum() -> Any:
    """Draw the spectrum of a graph, and the semicircle that the model has."""
    texas = gl.real.read(TEXAS)
    return gl.describe(texas.X, texas.training(), texas.graph).plot()


def members() -> Any:
    """Draw the members of a fitted average, their weights and accuracies, and the accuracy to expect."""
    texas = gl.real.read(TEXAS)
    return gl.GraphClassifier().fit(texas.X, texas.training(), graph=texas.graph).plot()


PICTURES: dict[str, Callable[[], Any]] = {
    **dict.fromkeys(["predict", "simulate", "bayes_optimal", "best_linear"], accuracies),
    **dict.fromkeys(["results.Prediction", "results.Measurement"], accuracies),
    **dict.fromkeys(["results.BayesPrediction", "results.Performance"], accuracies),
    **dict.fromkeys(["results.Result"], accuracies),
    **dict.fromkeys(["tune", "results.Tuned", "best_filter", "results.BestFilter"], tuned),
    **dict.fromkeys(["compare", "results.Comparison"], networks),
    **dict.fromkeys(["gap_map", "results.GapMap"], gaps),
    **dict.fromkeys(["transfer", "theory.bayes.BayesTransfer"], another_graph),
    "theory.linear.LinearTransfer": another_graph,
    "results.Calibration": reliability,
    **dict.fromkeys(["describe", "real.Description"], spectrum),
    **dict.fromkeys(["recommend", "real.Recommendation", "GraphClassifier"], members),
}
"""The picture on the page of each public name."""


def draw(folder: str) -> None:
    """Draw each picture once."""
    mpl.use("agg")
    Path(folder).mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"figure.figsize": (7, 4.2), "figure.constrained_layout.use": True}):
        for picture in dict.fromkeys(PICTURES.values()):
            picture().figure.savefig(Path(folder) / f"{picture.__name__}.png", dpi=80)


if __name__ == "__main__":
    draw(sys.argv[1])
