"""``gcnlimit tune`` and ``gcnlimit compare``."""

import json

import pytest
from helpers import run
from problems import DATA, OPTIONS

import gcnlimit as gl


def test_tune_gives_the_best_time():
    result = run("tune", *OPTIONS, "--symmetrize", "--free", "t=0:10", "--json")
    (answer,) = json.loads(result.output)
    assert answer["t"] == pytest.approx(1.488, abs=1e-3)
    assert answer["status"] == "interior"
    assert answer["test_accuracy"] < answer["bayes_optimal"]


def test_tune_over_a_range_and_layer_by_layer():
    result = run(
        "tune",
        *OPTIONS[:2],
        "--lam",
        "0.5:1:3",
        *OPTIONS[4:],
        "--no-symmetrize",
        "--free",
        "c=-9:9",
        "--depth",
        "2",
        "--per-layer",
    )
    assert result.exit_code == 0, result.output
    assert "c 2" in result.output


@pytest.mark.parametrize(
    "extra, words",
    [
        (["--free", "t"], "NAME=LOW:HIGH"),
        (["--free", "t=2:1"], "lower bound must come first"),
        (["--free", "t=0:1", "--per-layer"], "--per-layer"),
        (["--free", "speed=0:1"], "'speed' is not a parameter to tune"),
        (["--free", "thta=0:1"], "did you mean 'theta'"),
        (["--free", "t=0:10", "--t", "1,2"], "--t is free and has several values"),
        (["--free", "coefficients=-1:1"], "needs --coefficients, from which the search starts"),
        (["--free", "theta=0:1", "--t", "1"], "choose one filter"),
        ([], "--free"),
    ],
)
def test_tune_refuses_in_a_sentence(extra, words):
    result = run("tune", *OPTIONS, *extra)
    assert result.exit_code == 2
    assert words in result.output


def test_compare_lists_every_method_over_a_range_and_draws(tmp_path):
    picture = tmp_path / "compare.png"
    size = ["--lam", "0.5,1", "--order", "3", "--depth", "1"]
    rows = json.loads(run("compare", *OPTIONS, *size, "--json", "--plot", str(picture)).output)
    assert len(rows) == 24
    assert [row["lam"] for row in rows[:3]] == [0.5, 1.0, 0.5]
    assert [(row["method"], row["gap"]) for row in rows[-2:]] == [("Bayes-optimal", 0.0)] * 2
    chosen = [row for row in rows if row["method"] == "diffusion"]
    t, reg, accuracy = ([row[name] for row in chosen] for name in ("t", "reg", "test_accuracy"))
    again = gl.predict(
        gl.CSBM(alpha=4, lam=[0.5, 1.0], mu=2, rho=0.1), gl.GCN(gl.Diffusion(t), reg=reg)
    )
    assert accuracy == pytest.approx(again.test_accuracy, abs=1e-12)  # every digit
    assert picture.stat().st_size > 1000


def test_compare_refuses_in_a_sentence():
    result = run("compare", *OPTIONS, "--order", "99")
    assert result.exit_code == 2
    assert "order = 99" in result.output


@pytest.mark.slow
def test_the_depth_and_the_constant_of_a_normalization_are_tuned():
    (row,) = json.loads(run("tune", *OPTIONS, "--c", "1", "--free", "depth=1:8", "--json").output)
    assert (row["depth"], row["status"]) == (4, "interior")
    hubs = ["--undirected", "--degrees-variance", "0.5", "--normalization", "regularized"]
    free = ["--free", "tau=0:inf", "--free", "theta=-1:1"]
    (row,) = json.loads(run("tune", *OPTIONS, *hubs, *free, "--json").output)
    assert row["tau"] == pytest.approx(1.0, abs=0.2)  # 1 / lam**2


def test_the_best_stopping_time_and_number_of_steps_are_the_librarys():
    (row,) = json.loads(
        run("tune", *OPTIONS, "--t", "1", "--free", "time=0.01:100", "--json").output
    )
    best = gl.tune(
        DATA, gl.GCN(gl.Diffusion(1.0), training=gl.GradientFlow(1.0)), {"time": (0.01, 100)}
    )
    assert row["time"] == best.parameters["time"]
    assert row["test_accuracy"] == best.prediction.test_accuracy
    (row,) = json.loads(
        run("tune", *OPTIONS, "--t", "1", "--rate", "0.1", "--free", "steps=1:9", "--json").output
    )
    assert row["steps"] == 2


@pytest.mark.parametrize("start", [["--t", "0.3"], ["--t", "4"], []])
def test_one_value_of_what_is_free_is_where_the_search_starts(start):
    """Several are refused; one changes nothing but the way to the best."""
    result = run("tune", *OPTIONS, "--symmetrize", "--free", "t=0:10", *start, "--json")
    (answer,) = json.loads(result.output)
    assert answer["t"] == pytest.approx(1.488, abs=1e-3)


def test_values_of_the_layers_are_one_start_unless_a_depth_makes_them_several():
    free = ["--no-symmetrize", "--free", "c=-9:9", "--c", "1,2"]
    (answer,) = json.loads(run("tune", *OPTIONS, *free, "--json").output)
    assert answer["status"] == "interior"
    assert "--c is free and has several values" in run("tune", *OPTIONS, *free, "--depth", 2).output
