"""Exact limits of graph convolutional networks on the contextual stochastic block model.

>>> import gcnlimit as gl
>>> data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
>>> gcn = gl.GCN(gl.Diffusion(t=1.488), symmetrize=True)
>>> round(gl.predict(data, gcn).test_accuracy, 4), round(gl.bayes_optimal(data).test_accuracy, 4)
(0.8809, 0.9127)

Each name is imported when it is first used.
"""

from gcnlimit._runtime.extras import on_first_use

with on_first_use(globals()):
    from gcnlimit import benchmark as benchmark
    from gcnlimit import depth as depth
    from gcnlimit import real as real
    from gcnlimit import results as results
    from gcnlimit import theory as theory
    from gcnlimit._version import __version__ as __version__
    from gcnlimit.checks import check_filter as check_filter
    from gcnlimit.checks import check_loss as check_loss
    from gcnlimit.choose.best_filter import best_filter as best_filter
    from gcnlimit.choose.compare import compare as compare
    from gcnlimit.choose.gap_map import gap_map as gap_map
    from gcnlimit.choose.tune import tune as tune
    from gcnlimit.csbm import CSBM as CSBM
    from gcnlimit.degrees import Degrees as Degrees
    from gcnlimit.degrees import Gamma as Gamma
    from gcnlimit.degrees import LogNormal as LogNormal
    from gcnlimit.degrees import Pareto as Pareto
    from gcnlimit.errors import ConvergenceError as ConvergenceError
    from gcnlimit.errors import GCNLimitError as GCNLimitError
    from gcnlimit.errors import ParameterError as ParameterError
    from gcnlimit.filters import Diffusion as Diffusion
    from gcnlimit.filters import Filter as Filter
    from gcnlimit.filters import PageRank as PageRank
    from gcnlimit.filters import Polynomial as Polynomial
    from gcnlimit.filters import Residual as Residual
    from gcnlimit.losses import Hinge as Hinge
    from gcnlimit.losses import Logistic as Logistic
    from gcnlimit.losses import Loss as Loss
    from gcnlimit.losses import Softmax as Softmax
    from gcnlimit.losses import Square as Square
    from gcnlimit.network import GCN as GCN
    from gcnlimit.normalization import Regularized as Regularized
    from gcnlimit.penalties import ElasticNet as ElasticNet
    from gcnlimit.penalties import Penalty as Penalty
    from gcnlimit.real.classifier import GraphClassifier as GraphClassifier
    from gcnlimit.real.describe import describe as describe
    from gcnlimit.real.estimate import estimate as estimate
    from gcnlimit.real.filter_classifier import FilterClassifier as FilterClassifier
    from gcnlimit.real.recommend import recommend as recommend
    from gcnlimit.real.scores import cross_validate as cross_validate
    from gcnlimit.real.scores import search as search
    from gcnlimit.results.performance import Status as Status
    from gcnlimit.simulation.data.instance import Instance as Instance
    from gcnlimit.simulation.data.sample import sample as sample
    from gcnlimit.simulation.fit import fit as fit
    from gcnlimit.simulation.infer.amp import amp as amp
    from gcnlimit.simulation.infer.belief_propagation import (
        belief_propagation as belief_propagation,
    )
    from gcnlimit.simulation.infer.linear import linear_message_passing as linear_message_passing
    from gcnlimit.simulation.simulate import simulate as simulate
    from gcnlimit.spectrum import Spectrum as Spectrum
    from gcnlimit.sweeps.run import sweep as sweep
    from gcnlimit.theory import limits as limits
    from gcnlimit.theory.bayes import bayes_optimal as bayes_optimal
    from gcnlimit.theory.linear import best_linear as best_linear
    from gcnlimit.theory.predict import predict as predict
    from gcnlimit.theory.transfer import transfer as transfer
    from gcnlimit.training import GradientDescent as GradientDescent
    from gcnlimit.training import GradientFlow as GradientFlow
