"""The check of a filter: it passes what is right, and names what is wrong."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.filters import Chain, to_unit


@dataclass(frozen=True, eq=False)
class TwoSteps(gl.Filter):
    parameter = "s"
    s: object

    def normalized(self, x):
        return to_unit(1.0 + x + self.values[..., None] * x**2)

    def chain(self, **how):
        one = np.ones_like(self.values)
        return Chain.polynomial(np.stack([one, one, self.values], axis=-1))


RIGHT = [
    gl.Residual([0.3, -1.23, 2.1]),
    gl.Residual(np.empty(0)),
    gl.Polynomial([[0.2, 0.0, -1.5], [1.0, 1.0, 1.0]]),
    gl.Diffusion([1.7, -2.5]),
    gl.PageRank(0.3),
    TwoSteps(0.5),
    TwoSteps([0.5, 1.5]),
    np.cosh,
    lambda x: np.exp(x, out=x),
    lambda x: 1.0 / (1.0 - 0.3 * x),
]


@pytest.mark.parametrize("filter", RIGHT)
def test_what_is_right_passes(filter):
    gl.check_filter(filter)


class WrongChain(TwoSteps):
    def chain(self, **how):
        good = super().chain()
        return good._replace(g=good.g[..., ::-1])


class LongChain(TwoSteps):
    def chain(self, **how):
        good = super().chain()
        return good._replace(c=np.zeros((*self.shape, 3)))


class OneParameter(TwoSteps):
    def normalized(self, x):
        return to_unit(1.0 + x + self.values * x**2)


class Unscaled(TwoSteps):
    def normalized(self, x):
        return 1.0 + x + self.values[..., None] * x**2, np.zeros(self.shape)


class WrongScale(TwoSteps):
    def normalized(self, x):
        return super().normalized(x)[0], np.zeros(np.broadcast_shapes(self.shape, x.shape[:-1]))


class FewNodes(TwoSteps):
    def quadrature_nodes(self):
        return np.full(self.shape, 2)


class WrongLayers(TwoSteps):
    def layers(self, **how):
        return np.full(self.shape, 7)


class WrongSeries(TwoSteps):
    def series(self, operator, block, accuracy, shape):
        return super().series(operator.T, block, accuracy, shape)


class WrongAverages(gl.PageRank):
    def directed_averages(self, signal, mu):
        good = super().directed_averages(signal, mu)
        return good._replace(scattered=2.0 * good.scattered)


class WrongDirectedChain(gl.Diffusion):
    def directed_chain(self, signal, **how):
        return replace(self, t=1.1 * self.t).chain(radius=2.0)


@pytest.mark.parametrize(
    ("filter", "sentence"),
    [
        (np.abs, "not smooth"),
        (np.log, "is nan at x ="),
        (WrongChain(0.5), "chain computes .* where normalized gives"),
        (LongChain(0.5), "b and c are one shorter than g"),
        (OneParameter(0.5), r"add an axis"),
        (Unscaled(0.5), "largest magnitude is 1"),
        (WrongScale(0.5), "its second value is wrong"),
        (FewNodes(0.5), "too few to average"),
        (WrongLayers(0.5), "layers gives at most 7 where chain has 2"),
        (WrongSeries(0.5), "does not act on a matrix as the chain does"),
        (WrongAverages(0.4), "directed_averages gives scattered"),
        (WrongDirectedChain(0.4), "directed_chain gives"),
    ],
)
def test_what_is_wrong_is_named(filter, sentence):
    with pytest.raises(gl.ParameterError, match=sentence):
        gl.check_filter(filter)


@pytest.mark.parametrize(
    "wrong",
    [lambda x: np.ones(3), lambda x: np.exp(x)[..., None], lambda x: x + 1j, lambda x: "g", lambda x: 0.0 * x],
    ids=["other shape", "another axis", "complex", "a word", "zero"],
)
def test_a_function_that_is_no_filter_is_refused(wrong):
    with pytest.raises(gl.ParameterError, match=r"the filter g\(x\) (has dtype|is 0)"):
        gl.predict(gl.CSBM(4, 1, 2, 0.1), gl.GCN(wrong))
