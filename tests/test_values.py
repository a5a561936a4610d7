"""The values: validated once, frozen, equal by content, broadcast as in NumPy."""

import ast
import copy
import dataclasses
import math
import pathlib
import pickle

import numpy as np
import pytest
from problems import PARAMETERS

import gcnlimit as gl
from gcnlimit._validation import tolerance, whole
from gcnlimit._values import shown
from gcnlimit.normalization import as_normalization


class Tensor:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("it tracks its gradient")


class Compared(float):
    def __lt__(self, other):
        raise RuntimeError("it has no order")

    __gt__ = __lt__


def within_itself():
    around = []
    around.append(around)
    return around


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"alpha": -1.0}, "alpha = -1 is not allowed; it must be > 0"),
        ({"alpha": 0.0}, "alpha = 0"),
        ({"alpha": math.inf}, "alpha = inf"),
        ({"mu": -0.1}, "mu = -0.1"),
        ({"rho": 1.2}, r"rho = 1.2 is not allowed; it must be in \[0, 1\]"),
        ({"rho": -0.2}, "rho = -0.2"),
        ({"rho": 1.0000001}, "rho = 1.0000001 is not allowed"),
        ({"lam": Tensor()}, "lam cannot be read as an array of numbers: it tracks its gradient"),
        ({"rho": [0.1, 1.5]}, r"rho = 1.5 \(at index 1\)"),
        ({"lam": math.nan}, "lam contains NaN"),
        ({"lam": "strong"}, "lam must be real numbers, got 'strong'"),
        ({"lam": 1j}, "lam must be real numbers"),
        ({"lam": None}, "lam must be real numbers"),
        ({"lam": []}, "lam is empty"),
        ({"lam": [[1.0], [1.0, 2.0]]}, "lam must be a rectangular array"),
        (
            {"lam": [1, 2, 3], "mu": [1, 2]},
            r"shapes do not broadcast together: lam \(3,\), mu \(2,\)",
        ),
        ({"directed": "yes"}, "directed must be True or False"),
        ({"lam": np.ma.masked_array([4.0, 99.0], [False, True])}, "lam has masked entries"),
        ({"lam": [np.ma.masked_array([4.0, 99.0], [False, True])]}, "lam has masked entries"),
        ({"lam": [1.0, np.ma.masked]}, "lam has masked entries"),
        ({"lam": np.longdouble(10) ** 400}, "lam = inf"),
        ({"lam": 10**400}, "lam = inf"),
        ({"alpha": [2, -1, 10**400]}, r"alpha = -1 \(at index 1\)"),
        ({"lam": np.array([0.5, np.nan], object)}, "lam contains NaN"),
        ({"lam": np.ones((1,) * 40)}, "lam has more than 32 axes"),
        ({"lam": within_itself()}, "lam cannot be read as an array"),
        ({"classes": 10**400}, "classes = 1000"),
    ],
)
def test_data_refuses(bad, says):
    with pytest.raises(gl.ParameterError, match=says):
        gl.CSBM(**PARAMETERS | bad)


def test_large_whole_numbers_and_arrays_of_objects_are_numbers():
    assert gl.CSBM(**PARAMETERS | {"mu": Compared(2.0)}).mu == 2.0
    assert gl.CSBM(**PARAMETERS | {"mu": 10**20}).mu == 1e20
    assert gl.GCN(gl.Diffusion(1.0), reg=np.array([1, 0.5], object)).reg.tolist() == [1.0, 0.5]
    assert gl.CSBM(**PARAMETERS | {"lam": [-(2**70), 1]}).lam.tolist() == [-(2.0**70), 1.0]


@pytest.mark.parametrize("dtype", ["U3", "S3", "M8[D]", object, complex, bool])
@pytest.mark.parametrize("size", [1, 11, 300])
def test_an_array_of_anything_and_any_length_is_refused_in_a_sentence(dtype, size):
    array = np.full(size, None, object) if dtype is object else np.zeros(size, dtype)
    for make in (
        lambda: gl.CSBM(**PARAMETERS | {"alpha": array}),
        lambda: gl.Gamma(array),
        lambda: gl.Degrees([array]),
    ):
        with pytest.raises(gl.ParameterError):
            make()


@pytest.mark.parametrize(
    "value",
    [10**5000, [10**5000], range(10**9), [[0.0] * 1000] * 1000, type("", (), {"__repr__": 3})()],
    ids=lambda v: type(v).__name__,
)
def test_a_value_is_told_shortly_whatever_it_is(value):
    assert len(shown(value)) <= 60


def estimate(lam_error=0.1, counts=None):
    return gl.real.EstimatedCSBM(**PARAMETERS, lam_error=lam_error, mu_error=0.1, counts=counts)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: gl.Residual(1.0), r"c = 1.0 has no axis of layers; write c=\[1.0\]"),
        (lambda: estimate(counts=3), r"counts = \(3,\) must be 2 numbers"),
        (lambda: estimate(lam_error=[0.1, 0.2]), r"parameters have shape \(2,\)"),
        (lambda: estimate(lam_error=[[0.1], [0.1, 0.2]]), "lam_error must be a rectangular array"),
        (lambda: estimate(lam_error=np), "lam_error must be real numbers"),
        (lambda: estimate(counts=[[1], [1, 2]]), "counts must be a rectangular array"),
        (lambda: estimate(counts=["a", "b"]), "counts must be real numbers"),
        (lambda: estimate(counts=[3.0, -1.0]), "counts = -1"),
        (lambda: gl.Residual.constant(1.0, depth={1, 2}), "depth must be real numbers"),
        (lambda: gl.compare(gl.CSBM(**PARAMETERS), depth=10**5000), "depth = <int> is not"),
        (lambda: gl.Residual([math.inf]), "c = inf"),
        (lambda: gl.Residual.constant(1.0, depth=-1), "depth = -1"),
        (lambda: gl.Residual.constant(1.0, depth=1.5), "depth = 1.5"),
        (lambda: gl.Residual(np.empty((0, 3))), "c is empty"),
        (lambda: gl.Polynomial([]), "coefficients is empty"),
        (lambda: gl.Polynomial([0.0, 0.0]), "all zero"),
        (lambda: gl.Polynomial([[1.0], [0.0]]), "all zero"),
        (lambda: gl.Diffusion(math.nan), "t contains NaN"),
        (lambda: gl.PageRank(1.0), "theta = 1 is not allowed: the PageRank series diverges"),
        (lambda: gl.GCN(1.0, symmetrize=False), "filter = 1.0 is not a filter"),
        (
            lambda: gl.GCN(gl.Diffusion(1.0), loss="absolute", symmetrize=False),
            "loss = 'absolute' is unknown; choose one of square",
        ),
        (lambda: gl.GCN(gl.Diffusion(1.0), loss=gl.Square, symmetrize=False), "is not a loss"),
        (
            lambda: gl.GCN(gl.Diffusion(1.0), reg=0.0, symmetrize=False),
            r"reg = 0 is not allowed; it must be > 0 \(math.inf is allowed\)",
        ),
        (lambda: gl.GCN(gl.Diffusion(1.0), reg=-math.inf, symmetrize=False), "reg = -inf"),
        (
            lambda: gl.GCN(gl.Diffusion([1.0, 2.0]), reg=[1.0, 2.0, 3.0], symmetrize=False),
            "do not broadcast",
        ),
        (lambda: gl.GCN(gl.Diffusion(1.0), symmetrize=1), "symmetrize must be True or False"),
    ],
)
def test_network_refuses(make, says):
    with pytest.raises(gl.ParameterError, match=says):
        make()


def test_values_are_frozen_and_equal_by_content():
    a, b = (
        gl.GCN(gl.Residual([1.0, 2.0]), reg=[1.0, math.inf], symmetrize=False) for _ in range(2)
    )
    assert a == b
    assert hash(a) == hash(b)
    assert a != gl.GCN(gl.Residual([1.0, 3.0]), reg=[1.0, math.inf], symmetrize=False)
    with pytest.raises(dataclasses.FrozenInstanceError):
        a.reg = 1.0
    with pytest.raises(ValueError, match="read-only"):
        a.reg[0] = 2.0


def test_an_array_given_is_not_shared():
    lam = np.array([1.0, 2.0])
    data = gl.CSBM(**PARAMETERS | {"lam": lam})
    lam[0] = 5.0
    assert data.lam[0] == 1.0


def test_shapes_leave_the_depth_out():
    assert gl.Residual(np.ones((5, 1, 3))).shape == (5, 1)
    assert gl.GCN(gl.Residual(np.ones((5, 1, 3))), reg=np.ones(4), symmetrize=False).shape == (5, 4)
    assert gl.Residual(np.empty((7, 0))).shape == (7,)


def test_snr_is_one_at_the_threshold_of_recovery():
    """Without labels the Bayes-optimal accuracy leaves 1/2 exactly where the snr passes 1, on both kinds of graph."""
    for directed in (True, False):
        lam = np.sqrt(0.5 / (2.0 if directed else 1.0)) * np.array([0.99, 1.01])
        data = gl.CSBM(alpha=2.0, lam=lam, mu=1.0, rho=0.0, directed=directed)
        below, above = gl.bayes_optimal(data).test_accuracy
        assert data.snr[0] < 1 < data.snr[1]
        assert below == 0.5
        assert above > 0.51


def test_a_masked_array_that_hides_nothing_is_an_array():
    assert np.array_equal(
        gl.CSBM(**PARAMETERS | {"lam": np.ma.masked_array([1.0, 2.0])}).lam, [1.0, 2.0]
    )


@pytest.mark.parametrize("size", [1e-300, 1e155, 1e200, 1e308])
def test_extreme_data_have_signals_without_a_warning(size):
    """A signal beyond the floating-point numbers is infinite, and never a NaN."""
    for name in ("alpha", "lam", "mu"):
        for value in (size, [size, PARAMETERS[name]]):
            data = gl.CSBM(**PARAMETERS | {name: value})
            assert not np.isnan(data.snr).any()
            assert not np.isnan(data.effective_signal(symmetrize=True)).any()
            usual = gl.CSBM(**PARAMETERS)
            assert np.ravel(data.snr)[-1] == usual.snr or isinstance(value, float)


@pytest.mark.parametrize("value", [0.0, -1.0, 0.2, math.inf, math.nan, None, "x", True, [1e-3], 1j])
def test_a_tolerance_is_a_small_positive_number(value):
    with pytest.raises(gl.ParameterError, match="tol "):
        tolerance("tol", value)


@pytest.mark.parametrize("value", [0, 8, 2.0, True, None, [], "3", math.nan])
def test_a_whole_number_lies_in_its_range(value):
    with pytest.raises(
        gl.ParameterError, match=r"workers = .* it must be a whole number from 1 to 7"
    ):
        whole("workers", value, low=1, high=7)


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))],
    ids=["deepcopy", "pickle"],
)
def test_a_copy_is_equal_and_as_frozen(copied):
    data = gl.CSBM([1.0, 2.0], 1.0, 2.0, 0.1, features=gl.Spectrum([0.5, 1.5]))
    twin = copied(data)
    assert (twin, hash(twin)) == (data, hash(data))
    assert not any(array.flags.writeable for array in (twin.alpha, twin.features.variance))


def test_leaves_are_named_where_dividing_by_their_degree_is_not_reliable():
    law = gl.Degrees([1, 9])
    said = as_normalization("random-walk").leaves(law, degree=2.0)
    assert "not reliable at degree 2: one node in a hundred has about 0.4 edges or less" in said
    assert gl.Regularized().leaves(law, degree=2.0) is None
    assert as_normalization("random-walk").leaves(law, degree=50.0) is None


def test_predictions_and_refused_simulations_name_the_leaves():
    data = gl.CSBM(4, 1, 2, 0.1, directed=False, degrees=gl.Gamma(1.0))
    gcn = gl.GCN(gl.PageRank(0.4))
    with pytest.warns(UserWarning, match="not reliable at degree 60"):
        assert gl.predict(data, gcn, degree=60).test_accuracy == gl.predict(data, gcn).test_accuracy
    gl.predict(data, gl.GCN(gl.PageRank(0.4), normalization=gl.Regularized()), degree=0.6)
    # said once: in the refusal, and no warning before it
    with pytest.raises(
        gl.ParameterError, match=r"diverges .* take normalization='regularized' \(Reg"
    ):
        gl.simulate(data, gcn, nodes=2000, degree=60, trials=1, seed=0)


def classes_of_the_library():
    for file in pathlib.Path(gl.__file__).parent.rglob("*.py"):
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef):
                yield node.name, node


def test_records_do_not_change_and_arrays_are_not_compared_by_what_dataclass_writes():
    """Which fails on arrays: records of arrays are equal by content, as values are, or only to themselves."""
    classes = dict(classes_of_the_library())

    def lineage(name):
        bases = [base.id for base in classes[name].bases if isinstance(base, ast.Name)]
        return {name}.union(*(lineage(base) for base in bases if base in classes))

    for name, node in classes.items():
        for decorator in map(ast.unparse, node.decorator_list):
            if not decorator.startswith("dataclass"):
                continue
            family = lineage(name)
            every = [part for base in family for part in classes[base].body]
            typed = [ast.unparse(n.annotation) for n in every if isinstance(n, ast.AnnAssign)]
            methods = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
            assert "frozen=True" in decorator or name in {"Bar", "TrialRun", "Ensemble"}, name
            if "Result" in family:
                assert ("repr=False" in decorator) != ("__repr__" in methods), name
            elif name not in {"FilterCeiling", "Entry", "TrialRun"}:
                bare = "Value" not in family and not any("Array" in kind for kind in typed)
                assert bare or "eq=False" in decorator, name


def test_an_estimate_is_written_with_its_errors():
    data = gl.real.EstimatedCSBM(4, 1.0, 2.0, 0.1, lam_error=0.12345, mu_error=0.2)
    assert repr(data) == f"Estimated{repr(data.model)[:-1]}, lam_error=0.123, mu_error=0.2)"
