import inspect
import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from problems import GRAPHS, LOSSES

import gcnlimit as gl
from gcnlimit._runtime.processes import run
from gcnlimit.simulation import simulate as module
from gcnlimit.simulation.train.solvers import TOLERANCE

REFERENCE = json.loads((Path(__file__).parents[2] / "validation" / "predictions.json").read_text())[
    "predictions"
]


def deviations(measured, expected, floors):
    """Differences in standard errors, those of the trials; but at least `floors`, and at least the tolerance of the training.

    Trials in which a rare event never happened, such as a labelled node that violates its margin, all agree, and know
    nothing of its frequency.
    """
    for name, floor in floors.items():
        error = np.maximum(np.maximum(getattr(measured.standard_error, name), floor), TOLERANCE)
        yield np.max(np.abs(getattr(measured, name) - np.asarray(expected[name])) / error)


def errors_of_independent_nodes(prediction, gcn, test, train):
    """Standard errors of the four fields for so many nodes, whose outputs are those of the theory and independent.

    The output of a test node is Gaussian, and its proximal point is that of a labelled one.
    """
    output = prediction.order_parameters.output
    mean, deviation, v = (
        np.asarray(x)[..., None] for x in (output.mean, np.sqrt(output.variance), output.v)
    )
    z = np.linspace(-9.0, 9.0, 40_001)
    weight = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum()
    omega = mean + deviation * z
    for kind, nodes, margin in (("test", test, omega), ("train", train, gcn.loss.prox(omega, v))):
        for what, values in (
            ("accuracy", (margin > 0).astype(float)),
            ("loss", gcn.loss.value(margin)),
        ):
            centre = values @ weight
            assert np.allclose(centre, getattr(prediction, f"{kind}_{what}"), atol=1e-3)
            yield f"{kind}_{what}", np.sqrt((values - centre[..., None]) ** 2 @ weight / nodes)


FILTERS = [
    gl.Diffusion([0.3, 1.2]),
    gl.PageRank([0.15, 0.35]),
    gl.Residual([[0.5, 1.0], [0.0, 2.0]]),
    gl.Polynomial([[1.0, 0.5, 0.3], [0.2, 1.0, 0.0]]),
]


@pytest.mark.slow
@pytest.mark.parametrize("graph", ["directed", "symmetrized", "symmetric", "gaussian"])
@pytest.mark.parametrize("filter", FILTERS, ids=lambda f: type(f).__name__)
def test_infinite_regularization_as_predicted(filter, graph):
    data = gl.CSBM(alpha=4, lam=1.1, mu=2.0, rho=0.1, directed=graph != "symmetric")
    gcn = gl.GCN(filter, symmetrize=graph == "symmetrized")
    nodes, degree = (500, None) if graph == "gaussian" else (1000, 60)
    measured = gl.simulate(data, gcn, nodes=nodes, degree=degree, trials=10, seed=11, workers=1)
    expected = gl.predict(data, gcn).as_dict()
    share = {"test_accuracy": 0.9, "train_accuracy": 0.1}
    floors = {f: np.sqrt(expected[f] * (1 - expected[f]) / (share[f] * nodes * 10)) for f in share}
    assert max(deviations(measured, expected, floors)) < 4


def network(point):
    kinds = {
        "residual": gl.Residual,
        "diffusion": gl.Diffusion,
        "pagerank": gl.PageRank,
        "polynomial": gl.Polynomial,
    }
    kind, parameter = (point["filter"][k] for k in point["filter"])
    return gl.GCN(
        kinds[kind](parameter), loss=point["loss"], reg=point["reg"], symmetrize=point["symmetrize"]
    )


FINITE = [p for p in REFERENCE if p["reg"] != "inf"]
SOME = FINITE[
    :: len(FINITE) // 6
]  # data other than those of the grid below; `predict` meets all references by itself
REFERENCE_SIZE, GRID_SIZE = (500, 60, 20), (300, 60, 20)  # nodes, degree, trials


def within_four_standard_errors(data, gcn, expected, size, seed):
    """Whether all four fields, at every reg, are what is expected (by default the prediction), at a size of enough trials.

    What a finite size changes is below half a standard error here. Measured with a diffusion (t = 0.8, data of the grid):
    the train loss exceeds its limit by about 0.25/d at d = 30 and 60 (hinge, reg = 5; N = 500 to 5000) and 0.015/d
    (square, reg = 1), and at d = N/2 the test loss by about 1/N (square, reg = 0.1; N = 125 to 500); with 6000 nodes in
    all trials their standard errors are 0.013, 0.004 and 0.008.
    """
    nodes, degree, trials = size
    measured = gl.simulate(
        data, gcn, nodes=nodes, degree=degree, trials=trials, seed=seed, workers=1
    )
    prediction = gl.predict(data, gcn)
    train = round(data.rho * nodes) * trials
    floors = dict(errors_of_independent_nodes(prediction, gcn, nodes * trials - train, train))
    return max(deviations(measured, expected or prediction.as_dict(), floors)) < 4


@pytest.mark.slow
@pytest.mark.parametrize(
    "point", SOME, ids=lambda p: f"{p['filter']['kind']}-{p['loss']}-{p['reg']}"
)
def test_finite_regularization_as_in_the_reference(point):
    assert within_four_standard_errors(
        gl.CSBM(**point["data"]), network(point), point, REFERENCE_SIZE, seed=0
    )


SINGLE = [
    gl.Diffusion(0.8),
    gl.PageRank(0.3),
    gl.Residual([0.5, 1.0]),
    gl.Polynomial([1.0, 0.5, 0.3]),
]


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("filter", SINGLE, ids=lambda f: type(f).__name__)
def test_finite_regularization_as_predicted(filter, loss):
    """Every filter with every loss; the kinds of graphs take turns, so that every loss meets each of them."""
    graph = list(GRAPHS)[(SINGLE.index(filter) + LOSSES.index(loss)) % 3]
    data = gl.CSBM(alpha=2.5, lam=1.1, mu=2.0, rho=0.25, directed=graph != "symmetric")
    gcn = gl.GCN(filter, loss, reg=[0.1, 1.0, 10.0], symmetrize=graph == "symmetrized")
    assert within_four_standard_errors(data, gcn, None, GRID_SIZE, seed=7)


@pytest.mark.parametrize("wanted", [True, False])
def test_a_progress_bar_is_drawn_where_it_is_wanted(data, wanted, capsys):
    gl.simulate(
        data,
        gl.GCN(gl.Diffusion(1.0), symmetrize=False),
        nodes=100,
        degree=20,
        trials=2,
        workers=1,
        progress=wanted,
    )
    assert ("trials" in capsys.readouterr().err) == wanted


def test_a_grid_has_the_numbers_of_its_first_point_alone():
    """The graphs of a point of the data depend on the seed and on its place, not on the other points."""
    lam, t = np.array([0.5, 1.0])[:, None], np.array([0.3, 0.6, 0.9])
    data, gcn = gl.CSBM(alpha=4, lam=lam, mu=2.0, rho=0.1), gl.GCN(gl.Diffusion(t), symmetrize=True)
    grid, alone = (
        gl.simulate(one, gcn, nodes=300, degree=20, trials=3, seed=1, workers=1)
        for one in (data, data.replaced(lam=0.5))
    )
    assert np.array_equal(grid.test_accuracy[0], alone.test_accuracy)
    assert np.array_equal(grid.standard_error.test_loss[0], alone.standard_error.test_loss)
    assert np.allclose(grid.log_test_error, np.log(1 - grid.test_accuracy), rtol=0, atol=1e-12)


def test_streamed_features_are_measured_as_stored_ones(data):
    gcn, size = (
        gl.GCN(gl.Diffusion(1.0), reg=[1.0, math.inf]),
        {"nodes": 200, "degree": 20, "trials": 2, "workers": 1},
    )
    stored, streamed = (gl.simulate(data, gcn, **size, streamed=s) for s in (False, True))
    for name, values in stored.as_dict().items():
        assert np.allclose(values, getattr(streamed, name), rtol=1e-8), name


def test_standard_errors_are_those_of_the_mean(data):
    gcn = gl.GCN(gl.Diffusion(1.0), reg=1.0, symmetrize=False)
    s = gl.simulate(data, gcn, nodes=300, degree=20, trials=4, seed=1, workers=1)
    children = np.random.SeedSequence(1).spawn(1)[0].spawn(4)
    each = [
        gl.fit(gl.sample(data, 300, 20, child), gcn).performance.test_accuracy for child in children
    ]
    assert s.test_accuracy == pytest.approx(np.mean(each))
    assert s.standard_error.test_accuracy == pytest.approx(np.std(each, ddof=1) / 2)
    assert s.standard_error.log_test_error == pytest.approx(
        s.standard_error.test_accuracy / (1 - s.test_accuracy)
    )


def test_one_trial_has_no_standard_error(data):
    s = gl.simulate(
        data, gl.GCN(gl.Diffusion(1.0), symmetrize=False), nodes=300, degree=20, trials=1
    )
    assert math.isinf(s.standard_error.test_accuracy)


def test_no_error_at_all_gives_a_bound():
    data = gl.CSBM(alpha=1, lam=4.0, mu=20.0, rho=0.5)
    s = gl.simulate(
        data, gl.GCN(gl.Diffusion(1.0), symmetrize=True), nodes=200, degree=60, trials=2
    )
    assert s.test_accuracy == 1.0
    assert s.log_test_error == pytest.approx(math.log(0.5 / 400))
    assert s.standard_error.log_test_error == 1.0


def test_an_interruption_returns_what_is_done(data, monkeypatch):
    calls = []

    def interrupted(self, original=module._Trial.__call__):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return original(self)

    monkeypatch.setattr(module._Trial, "__call__", interrupted)
    s = gl.simulate(
        data, gl.GCN(gl.Diffusion(1.0), symmetrize=False), nodes=300, degree=20, trials=6, workers=1
    )
    assert s.trials == 3
    calls[:] = [1] * 3
    with pytest.raises(KeyboardInterrupt):
        gl.simulate(
            data,
            gl.GCN(gl.Diffusion(1.0), symmetrize=False),
            nodes=300,
            degree=20,
            trials=6,
            workers=1,
        )


@pytest.mark.slow
def test_a_script_without_a_main_guard_has_the_same_numbers_in_processes(data, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import gcnlimit as gl\n"
        "s = gl.simulate(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), gl.GCN(gl.Diffusion([0.5, 1.0]), reg=[1.0, 1e999]),"
        " nodes=300, degree=20, trials=3, seed=1, workers=2)\n"
        "print(*s.test_loss.tolist(), *s.standard_error.test_accuracy.tolist())\n"
    )
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=120, check=True
    )
    gcn = gl.GCN(gl.Diffusion([0.5, 1.0]), reg=[1.0, math.inf])
    one = gl.simulate(data, gcn, nodes=300, degree=20, trials=3, seed=1, workers=1)
    assert done.stdout.split() == [
        repr(x) for x in (*one.test_loss.tolist(), *one.standard_error.test_accuracy.tolist())
    ]


def test_workers_share_the_memory(monkeypatch):
    """A bound that holds one trial gives the same numbers with fewer workers."""
    problem = gl.CSBM(alpha=1.0, lam=1.0, mu=2.0, rho=0.1), gl.GCN(gl.Diffusion(1.0))
    size = {"nodes": 1000, "degree": 10, "trials": 4}
    expected = gl.simulate(*problem, **size, workers=1)
    monkeypatch.setenv("GCNLIMIT_MEMORY", "0.02")
    assert gl.simulate(*problem, **size) == expected


@pytest.mark.parametrize("name", ["trials", "workers"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "x", [], 10**30])
def test_counts_are_whole_numbers(name, value):
    with pytest.raises(gl.ParameterError, match=f"{name} = .* whole number from 1"):
        gl.simulate(
            gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1),
            gl.GCN(gl.Diffusion(1.0)),
            nodes=60,
            **{name: value},
        )


def test_a_simulation_draws_the_graphs_of_sample_by_default():
    names = ("nodes", "degree", "seed", "streamed", "dtype", "device")
    drawn, simulated = (inspect.signature(door).parameters for door in (gl.sample, gl.simulate))
    assert [drawn[name].default for name in names] == [simulated[name].default for name in names]


@pytest.mark.parametrize("trials, workers", [(3, 1), (4, 3), (40, 3)])
def test_small_work_stays_in_this_process(monkeypatch, trials, workers):
    """By the nodes of all trials together; else all processors have a part."""
    used = []

    def spy(tasks, workers, done):
        used.append(workers)
        return run(tasks[:1], 1, done=done) * len(tasks)

    monkeypatch.setattr(module, "run", spy)
    monkeypatch.setattr(module, "SMALL", 400)
    monkeypatch.setattr(module, "cores", lambda: 3)
    problem = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), gl.GCN(gl.Diffusion(1.0))
    gl.simulate(*problem, nodes=100, degree=10, trials=trials)
    assert used == [workers]
