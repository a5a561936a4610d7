"""Exact limits of graph convolutional networks on the contextual stochastic block model.

>>> import gcnlimit as gl
>>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
>>> gcn = gl.GCN(gl.Diffusion(t=1.488), symmetrize=True)
>>> round(gl.predict(data, gcn).test_accuracy, 4), round(gl.bayes_optimal(data).test_accuracy, 4)
(0.8809, 0.9127)
"""

from gcnlimit._version import __version__
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ConvergenceError, GCNLimitError, ParameterError
from gcnlimit.filters import Diffusion, Filter, PageRank, Polynomial, Residual
from gcnlimit.losses import Hinge, Logistic, Loss, Square
from gcnlimit.network import GCN
from gcnlimit.results import Measurement, OrderFunctions, Performance, Prediction, Status
from gcnlimit.simulation.amp import Inference, amp
from gcnlimit.simulation.instance import Instance, Observation
from gcnlimit.simulation.sample import sample
from gcnlimit.simulation.simulate import simulate
from gcnlimit.simulation.train import Fit, fit
from gcnlimit.sweep import sweep
from gcnlimit.theory import limits, resolvents
from gcnlimit.theory.bayes import bayes_optimal
from gcnlimit.theory.best_filter import BestFilter, FilterCeiling, best_filter, filter_ceiling
from gcnlimit.theory.compare import Comparison, GapMap, compare, gap_map
from gcnlimit.theory.depth import order_functions
from gcnlimit.theory.expansion import large_reg_expansion
from gcnlimit.theory.free_entropy import free_entropy
from gcnlimit.theory.integral_equations import integral_residuals
from gcnlimit.theory.order_parameters import OrderParameters
from gcnlimit.theory.oversmoothing import Oversmoothing, oversmoothing, pca_rate
from gcnlimit.theory.predict import predict
from gcnlimit.theory.rates import learning_rate, one_layer_rate
from gcnlimit.theory.tune import Tuned, TuneStatus, tune, tune_losses

__all__ = [
    "CSBM",
    "GCN",
    "BestFilter",
    "Comparison",
    "ConvergenceError",
    "Diffusion",
    "Filter",
    "FilterCeiling",
    "Fit",
    "GCNLimitError",
    "GapMap",
    "Hinge",
    "Inference",
    "Instance",
    "Logistic",
    "Loss",
    "Measurement",
    "Observation",
    "OrderFunctions",
    "OrderParameters",
    "Oversmoothing",
    "PageRank",
    "ParameterError",
    "Performance",
    "Polynomial",
    "Prediction",
    "Residual",
    "Square",
    "Status",
    "TuneStatus",
    "Tuned",
    "__version__",
    "amp",
    "bayes_optimal",
    "best_filter",
    "compare",
    "filter_ceiling",
    "fit",
    "free_entropy",
    "gap_map",
    "integral_residuals",
    "large_reg_expansion",
    "learning_rate",
    "limits",
    "one_layer_rate",
    "order_functions",
    "oversmoothing",
    "pca_rate",
    "predict",
    "resolvents",
    "sample",
    "simulate",
    "sweep",
    "tune",
    "tune_losses",
]
