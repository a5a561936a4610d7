"""Exact limits of graph convolutional networks on the contextual stochastic block model.

>>> import gcnlimit as gl
>>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
>>> gcn = gl.GCN(gl.Diffusion(t=1.488), symmetrize=True)
>>> round(gl.predict(data, gcn).test_accuracy, 4), round(gl.bayes_optimal(data).test_accuracy, 4)
(0.8809, 0.9127)
"""

from gcnlimit import depth, results, theory
from gcnlimit._version import __version__
from gcnlimit.checks import check_filter, check_loss
from gcnlimit.choose.best_filter import best_filter
from gcnlimit.choose.compare import compare, gap_map
from gcnlimit.choose.tune import tune
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ConvergenceError, GCNLimitError, ParameterError
from gcnlimit.filters import Diffusion, Filter, PageRank, Polynomial, Residual
from gcnlimit.losses import Hinge, Logistic, Loss, Square
from gcnlimit.network import GCN
from gcnlimit.performance import Status
from gcnlimit.simulation.amp import amp
from gcnlimit.simulation.instance import Instance
from gcnlimit.simulation.sample import sample
from gcnlimit.simulation.simulate import simulate
from gcnlimit.simulation.train import fit
from gcnlimit.sweeps import sweep
from gcnlimit.theory import limits
from gcnlimit.theory.bayes import bayes_optimal
from gcnlimit.theory.predict import predict

__all__ = [
    "CSBM",
    "GCN",
    "ConvergenceError",
    "Diffusion",
    "Filter",
    "GCNLimitError",
    "Hinge",
    "Instance",
    "Logistic",
    "Loss",
    "PageRank",
    "ParameterError",
    "Polynomial",
    "Residual",
    "Square",
    "Status",
    "__version__",
    "amp",
    "bayes_optimal",
    "best_filter",
    "check_filter",
    "check_loss",
    "compare",
    "depth",
    "fit",
    "gap_map",
    "limits",
    "predict",
    "results",
    "sample",
    "simulate",
    "sweep",
    "theory",
    "tune",
]
