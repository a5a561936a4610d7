"""One dictionary of flat names: what is built from it is the value, and a new filter is added to it."""

import numpy as np
import pytest
from problems import PARAMETERS

import gcnlimit as gl
from gcnlimit import parameters
from gcnlimit.cli.sweep import read_file
from gcnlimit.sweeps.plan import Plan
from gcnlimit.sweeps.producers import as_producer

FILTERS = [gl.Diffusion(0.7), gl.PageRank(0.2), gl.Polynomial([1.0, 0.5]), gl.Residual([0.3, 0.9])]


@pytest.mark.parametrize("filter", FILTERS, ids=lambda f: f.parameter)
def test_a_filter_is_that_of_its_parameter(filter):
    value = getattr(filter, filter.parameter)
    given = value.tolist() if isinstance(value, np.ndarray) else value
    assert parameters.build_filter({filter.parameter: given}) == filter
    assert parameters.FAMILIES[filter.parameter] is type(filter)


def test_one_strength_and_a_depth_are_a_constant_network():
    assert parameters.build_filter({"c": 0.5, "depth": 3}) == gl.Residual.constant(0.5, 3)


def keys(**arguments):
    producer = as_producer(arguments.pop("what", "predict"))
    given = {"data": None, "gcn": None, "fixed": {}} | arguments
    return [block.key for block in Plan(producer, **given).blocks()]


@pytest.mark.parametrize("given", [[[1.0], [1.0, 2.0]], ["a"]])
def test_layers_that_are_no_numbers_are_refused(given):
    with pytest.raises(gl.ParameterError, match="c must be"):
        parameters.build_filter({"c": given})
    with pytest.raises(gl.ParameterError, match=r"free\['c'\] must be"):
        parameters.starts({"c": given}, ())


def test_a_name_that_is_not_known_is_told_those_that_are():
    for allowed, told in ((("theta", "t"), "allowed: theta, t"), ((), "allowed: none")):
        with pytest.raises(gl.ParameterError, match=f"^'x' is not a number; {told}$"):
            parameters.check_names(["x"], allowed, "a number")


def test_the_key_of_a_point_says_its_defaults():
    """A default written out, by name or in a value, is the same point; another value is not."""
    axes = {"t": [0.5, 1.0]}
    short = keys(axes=axes, fixed=PARAMETERS)
    usual = {
        "directed": True,
        "loss": "square",
        "reg": np.inf,
        "symmetrize": True,
        "tol": 1e-10,
        "max_iterations": 5000,
    }
    assert keys(axes=axes, fixed=PARAMETERS | usual) == short
    assert keys(axes=axes, data=gl.CSBM(**PARAMETERS), gcn=gl.GCN(gl.Diffusion(3.0))) == short
    for other in (
        {"directed": False},
        {"loss": "hinge"},
        {"reg": 2.0},
        {"symmetrize": False},
        {"tol": 1e-8},
    ):
        assert keys(axes=axes, fixed=PARAMETERS | other) != short


def test_a_changed_default_does_not_reuse_old_numbers(monkeypatch):
    before = keys(axes={"t": [0.5]}, fixed=PARAMETERS)
    monkeypatch.setattr(gl.GCN.__init__, "__defaults__", ("square", None, False, False))
    assert keys(axes={"t": [0.5]}, fixed=PARAMETERS) != before


class Twice(gl.Diffusion):
    """A filter that somebody has just written."""

    parameter = "twice"

    def __init__(self, twice):
        self._store(twice)

    @property
    def t(self):
        return 2.0 * self.twice


@pytest.fixture(autouse=True)
def twice(monkeypatch):
    monkeypatch.setitem(parameters.FAMILIES, "twice", Twice)


def test_a_new_filter_is_swept_by_the_name_of_its_parameter():
    ds = gl.sweep("predict", fixed=PARAMETERS, axes={"twice": [0.2, 0.5]})
    expected = gl.predict(gl.CSBM(**PARAMETERS), gl.GCN(gl.Diffusion([0.4, 1.0]))).test_accuracy
    assert np.allclose(ds.test_accuracy, expected, rtol=1e-14, atol=0)


def test_a_new_filter_can_be_written_in_a_file(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text('what = "predict"\n[axes]\nfilter = [{twice = 0.5}]\ntwice = [0.5]')
    assert list(read_file(path)["axes"]["filter"].values()) == [Twice(0.5)]
