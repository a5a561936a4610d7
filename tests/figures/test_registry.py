"""Figures as they are found, computed and compared with their dots; those from outside the package too."""

import contextlib
import re
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
import xarray
from reference import ROOT
from scipy.stats import norm, t

import gcnlimit as gl
from gcnlimit import ParameterError
from gcnlimit.figures import registry, strength
from gcnlimit.figures.base import Simulation
from gcnlimit.figures.registry import (
    agreement,
    find,
    produce,
    read,
    write,
    write_agreement,
    z_scores,
)
from gcnlimit.numerics.gaussian import normal_deviate


def dots(simulated, trials=10**6):
    return xarray.Dataset(
        {
            "x_simulated": ("dot", simulated),
            "x_standard_error": ("dot", np.full(len(simulated), 0.5)),
            "x_predicted": ("dot", [1.0, 1.0, np.nan]),
        },
        attrs={"trials": trials},
    )


def test_distances_are_in_standard_errors_and_leave_out_what_has_no_prediction():
    np.testing.assert_allclose(z_scores(dots([2.0, 0.5, 9.0])), [2.0, -1.0], rtol=1e-5)
    assert z_scores(xarray.Dataset()).size == 0


def test_few_trials_weigh_less():
    np.testing.assert_allclose(
        z_scores(dots([2.0, 1.0, 1.0], trials=4)), [-norm.ppf(t.sf(2.0, 3)), 0.0], atol=1e-12
    )
    normal = normal_deviate(t.rvs(3, size=20_000, random_state=0), 3)
    assert abs(normal.std() - 1.0) < 0.02


def test_an_error_that_theory_expects_comes_before_that_of_the_trials():
    """Few trials then weigh as much as many, whatever their scatter; where theory has none, the trials give it."""
    own = dots([2.0, 0.0, 9.0], trials=3)
    expected = own.assign(x_expected_error=("dot", [0.25, np.nan, 0.25]))
    assert z_scores(expected)[0] == 4.0
    assert z_scores(expected.assign(x_standard_error=3.0 * own.x_standard_error))[0] == 4.0
    assert z_scores(expected)[1] == z_scores(own)[1]


def test_dots_come_with_the_theory_of_their_value_and_of_their_error():
    """Both are what predict and scatter say of the network of each dot; three classes have no theory of the scatter."""
    data, gcn = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), gl.GCN(gl.PageRank(0.1), reg=1.0)
    size = Simulation(nodes=200, trials=2, executor=ThreadPoolExecutor(1))
    found = size.measure(data, gcn, {"lam": [0.5, 1.0], "theta": [0.1, 0.3]}, "test_accuracy")
    for lam, theta in product([0.5, 1.0], [0.1, 0.3]):
        one = found.sel(lam=lam, theta=theta)
        network = gl.GCN(gl.PageRank(theta), reg=1.0)
        exact = gl.theory.scatter(data.replaced(lam=lam), network, nodes=200)
        assert float(one.test_accuracy_expected_error) == pytest.approx(
            exact.deviation / np.sqrt(2), rel=1e-12
        )
        assert float(one.test_accuracy_predicted) == pytest.approx(exact.accuracy, rel=1e-9)
    three = size.measure(data.replaced(classes=3), gcn, {"reg": [np.inf]}, "test_accuracy")
    assert np.isnan(three.test_accuracy_expected_error).all()
    assert np.isfinite(z_scores(three)).all()


def test_the_tables_are_written(tmp_path):
    figure = find("depth")
    write_agreement({"depth": figure.data(), "symmetry": strength.symmetry_data()}, tmp_path)
    page = (tmp_path / "agreement.md").read_text(encoding="utf-8")
    assert (page.count("| holds |"), page.count("| fails |")) == (4, 0)
    assert "| symmetry | 0 |" in page
    assert r"worst \|z\|" in page


def _never(*arguments):
    raise AssertionError(f"computed again: {arguments}")


@pytest.mark.slow
def test_simulated_dots_agree_with_the_theory_and_an_interrupted_run_resumes(tmp_path, monkeypatch):
    monkeypatch.setattr(strength, "DOTS", (1.0, 2.0))
    monkeypatch.setattr("gcnlimit.figures.registry.cores", lambda: 1)  # one process to start
    size = Simulation(nodes=400, trials=6)
    ((_, dataset),) = produce([strength.SYMMETRY], tmp_path, size)
    (row,) = agreement({"symmetry": dataset})
    assert row["dots"] == 2 * 3 * 2 * 2
    assert float(row["worst |z|"]) < 4.5
    assert 0.2 < float(row["mean |z|"]) < 2.0
    monkeypatch.setattr(
        import_module("gcnlimit.sweeps.run"), "compute", _never
    )  # nothing is computed a second time
    ((_, again),) = produce([strength.SYMMETRY], tmp_path, size)
    assert again.identical(dataset)


@pytest.mark.slow
def test_training_errors_agree_with_the_theory(monkeypatch):
    monkeypatch.setattr(strength, "DOTS", (1.0,))
    monkeypatch.setattr(strength, "DEPTHS", (2,))
    monkeypatch.setattr(strength, "STRENGTHS", np.array([0.0, 1.0, 2.0]))
    with ThreadPoolExecutor(1) as here:
        dataset = strength.TRAIN_ERROR.numbers(Simulation(nodes=400, trials=6, executor=here))
    z = z_scores(dataset)
    assert z.size == 2 * 3
    assert np.abs(z).max() < 4.5


PAGE = (ROOT / "docs" / "how-to" / "add-a-figure.md").read_text()


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "pagerank.py"
    path.write_text(re.search(r"```python\n(.*?)```", PAGE, re.DOTALL).group(1))
    return path


@pytest.mark.slow
def test_the_figure_of_the_page_is_drawn_with_its_dots(file, tmp_path, monkeypatch):
    monkeypatch.setattr("gcnlimit.figures.registry.cores", lambda: 1)  # one process to start
    figure = find(str(file))
    ((_, dataset),) = produce([figure], tmp_path, Simulation(nodes=400, trials=4))
    assert np.all(np.abs(z_scores(dataset)) < 4)
    assert dataset.test_accuracy_simulated.dims == ("lam", "dot")
    assert all(statement.holds for statement in figure.statements(dataset))
    numbers, drawing = write(figure, dataset, tmp_path)
    assert read(figure, numbers).drop_attrs().identical(dataset.drop_attrs())
    assert drawing.stat().st_size > 10_000


def test_a_file_without_a_figure_is_refused(tmp_path):
    (tmp_path / "empty.py").write_text("FIGURE = 1\n")
    with pytest.raises(ParameterError, match="defines no FIGURE"):
        find(str(tmp_path / "empty.py"))
    with pytest.raises(ParameterError, match="there is no file"):
        find(str(tmp_path / "missing.py"))


def test_the_bar_counts_curves_with_dots_and_figures_without(monkeypatch, tmp_path):
    """All that it announces is done: one step for a figure that is not simulated, whatever its curves."""
    told = []
    bar = SimpleNamespace(advance=told.append, title="")

    def shown(title, total, unit):
        told.append(-total)
        return contextlib.nullcontext(bar)

    monkeypatch.setattr(registry, "progress_bar", shown)
    figure = SimpleNamespace(name="one", curves=7, dots=print, numbers=lambda _: None)
    assert list(registry.produce([figure, figure], tmp_path, None)) == [(figure, None)] * 2
    assert told == [-2, 1, 1]
