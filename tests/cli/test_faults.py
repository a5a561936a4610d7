"""Bad input, extreme values and interruptions: a sentence or a right answer, never a traceback or a NaN."""

import importlib.util
import json
import math
import sys
import warnings

import numpy as np
import pytest
from helpers import run
from problems import OPTIONS, PARAMETERS
from scipy import stats

import gcnlimit as gl
from gcnlimit.cli.simulate import _beside
from gcnlimit.simulation import simulate as simulation

SMALL = ["--t", "1", "--nodes", "100", "--degree", "20"]


def answers_or_refuses(*words):
    """Rows of numbers between 0 and 1 where they are accuracies, or one sentence and exit status 2."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = run(*words, "--json")
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    if done.exit_code == 0:
        for row in json.loads(done.stdout):
            accuracy = row.get("test_accuracy")
            assert accuracy is None or 0.0 <= accuracy <= 1.0
    else:
        assert done.exit_code == 2
        assert done.stderr.splitlines()[-1].startswith("Error: ")
    return done


VERBS = {
    "predict": ["--t", "1"],
    "bayes": [],
    "tune": ["--free", "t=0:3"],
    "simulate": ["--t", "1", "--nodes", "40", "--trials", "2", "--degree", "6"],
    "sample": ["--nodes", "40", "--degree", "6", "--out", "graph.npz"],
    "compare": ["--depth", "1", "--order", "1"],
}
REFUSED = ("1e200", "inf", "nan", "x", "")
EXTREMES = dict.fromkeys(VERBS, ("1e-300", "1e155", "-1", "0", *REFUSED)) | {"compare": REFUSED}
"""Comparing takes seconds where it answers."""


@pytest.mark.parametrize("verb", VERBS)
def test_an_extreme_option_gives_numbers_or_one_sentence(verb, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in PARAMETERS:
        for value in EXTREMES[verb]:
            given = PARAMETERS | {name: value}
            words = [word for pair in given.items() for word in (f"--{pair[0]}", pair[1])]
            answers_or_refuses(verb, *words, *VERBS[verb])


@pytest.mark.parametrize("option", ["--t", "--reg"])
def test_an_extreme_network_gives_numbers_or_one_sentence(option):
    for value in ("1e-300", "1e-20", "1e20", "1e155", "1e300", "0", "-1", "nan"):
        network = {"--t": "1", "--reg": "1"} | {option: value}
        answers_or_refuses(
            "predict", *OPTIONS, *(word for pair in network.items() for word in pair)
        )


@pytest.mark.parametrize(
    "words",
    [
        ("figure", "train-error", "--nodes", "9" * 12),
        ("figure", "train-error", "--trials", "-1"),
        ("figure", "train-error", "--data", "missing.nc"),
        ("benchmark", "--run", "features", "--problem", "reference", "--graphs", "9" * 20),
        ("predict", *OPTIONS, "--c", "1", "--depth", "9" * 11),
    ],
    ids=lambda words: f"{words[0]}{words[-2]}",
)
def test_a_count_out_of_range_is_one_sentence(words):
    done = run(*words)
    assert done.exit_code == 2
    assert "Error: " in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("value", ["1e-300", "1e200", "inf", "nan", "-1", '"x"', "[[1]]"])
def test_an_extreme_value_in_a_file_gives_numbers_or_one_sentence(value, tmp_path):
    for name in PARAMETERS:
        file = tmp_path / "sweep.toml"
        data = "".join(f"{key} = {usual}\n" for key, usual in (PARAMETERS | {name: value}).items())
        file.write_text(f'what = "predict"\n[data]\n{data}[axes]\nt = [0.5, 1.0]\n')
        done = run("sweep", file, "--store", tmp_path / f"{name}.sqlite")
        assert done.exit_code in (0, 2), (name, done.output)


@pytest.mark.parametrize("verb", ["describe", "classify"])
@pytest.mark.parametrize("scale", [0.0, 1e-300, 1e200, math.nan])
def test_extreme_features_in_a_file_give_numbers_or_one_sentence(verb, scale, tmp_path):
    it = gl.sample(gl.CSBM(**PARAMETERS), nodes=40, degree=6.0, seed=0)
    y = np.where(it.train_mask, it.labels > 0, -1)
    fields = {"indptr": it.adjacency.indptr, "indices": it.adjacency.indices, "labels": y}
    np.savez(tmp_path / "graph.npz", x_dense=it.features * scale, **fields)
    answers_or_refuses(verb, tmp_path / "graph.npz")


def test_one_bad_point_does_not_lose_the_others():
    done = run("predict", *OPTIONS, "--theta", "0.1:0.6:6", "--json")
    assert done.exit_code == 0
    rows = json.loads(done.stdout)
    good = [row for row in rows if row["status"] == "explicit"]
    bad = [row for row in rows if row["status"] == "refused"]
    assert 0 < len(good) == 6 - len(bad) < 6
    for row in good:
        expected = gl.predict(
            gl.CSBM(4, 1, 2, 0.1), gl.GCN(gl.PageRank(row["theta"]))
        ).test_accuracy
        assert row["test_accuracy"] == pytest.approx(expected, rel=1e-13)
    for row in bad:
        assert row["test_accuracy"] is None
        assert f"theta = {row['theta']:g} is not allowed" in row["error"]
    assert f"{len(bad)} of 6 points failed" in done.stderr
    assert "theta = 0.6: " in done.stderr
    assert run("predict", *OPTIONS, "--theta", "0.1:0.6:6").stdout.count("refused") == len(bad)


def test_if_every_point_fails_the_status_says_so():
    done = run("predict", *OPTIONS, "--theta", "0.7,0.8")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "all 2 points failed" in done.stderr


def test_a_fault_of_our_own_is_not_taken_for_bad_input(monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("gcnlimit.theory.bayes.bayes_optimal", broken)
    assert isinstance(run("bayes", *OPTIONS).exception, ZeroDivisionError)


def test_a_misspelt_verb_is_answered_with_the_nearest():
    done = run("predct")
    assert done.exit_code == 2
    assert "Did you mean 'predict'?" in done.stderr


@pytest.fixture
def forbidden(monkeypatch):
    """Nothing may be computed."""

    def refuse(*_, **__):
        raise AssertionError("it was computed")

    for home in (
        "theory.predict.predict",
        "theory.bayes.bayes_optimal",
        "choose.tune.tune",
        "choose.compare.compare",
    ):
        monkeypatch.setattr(f"gcnlimit.{home}", refuse)
    monkeypatch.setattr("gcnlimit.simulation.data.sample.sample", refuse)
    monkeypatch.setattr("gcnlimit.figures.registry.produce", refuse)
    monkeypatch.setattr("gcnlimit.benchmark.evaluate", refuse)
    monkeypatch.setattr("gcnlimit.real.read", refuse)


PLANE = ["--alpha", "1,2", "--lam", "1,2", "--mu", "1", "--rho", "0.1"]


@pytest.mark.parametrize(
    "words",
    [
        ("predict", *OPTIONS, "--t", "1,2", "--plot", "no/folder.png"),
        ("predict", *OPTIONS, "--t", "1,2", "--plot", "picture.nonsense"),
        ("predict", *OPTIONS, "--t", "1", "--plot", "picture.png"),
        ("predict", *PLANE, "--t", "1,2", "--plot", "picture.png"),
        ("tune", *OPTIONS, "--free", "t=0:1", "--plot", "no/folder.png"),
        ("compare", *PLANE, "--plot", "picture.png"),
        ("sample", *OPTIONS, "--out", "no/graph.npz"),
        ("figure", "depth", "--out", "/dev/null/figures"),
        ("reproduce", "--out", "/dev/null/figures"),
        ("benchmark", "--run", "amp", "--out", "no/scores.json"),
        ("benchmark", "--run", "amp", "--out", "scores.xyz"),
        ("classify", __file__, "--out", "no/classes.csv"),
    ],
    ids=lambda words: f"{words[0]}-{words[-1]}",
)
def test_an_output_that_cannot_be_written_is_refused_before_anything_is_computed(
    words, forbidden, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    done = run(*words)
    assert done.exit_code == 2, done.exception
    assert done.stderr.startswith("Error: ")


@pytest.mark.parametrize(
    "words", [("figure", "depth"), ("reproduce",), ("compare", *OPTIONS, "--plot", "x.png")]
)
def test_a_missing_package_is_named_before_anything_is_computed(
    words, forbidden, tmp_path, monkeypatch
):
    found = importlib.util.find_spec
    hidden = {"matplotlib": None}
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: hidden.get(name, found(name, *rest))
    )
    monkeypatch.chdir(tmp_path)
    done = run(*words)
    assert done.exit_code == 2
    assert "needs matplotlib; install it with pip install 'gcnlimit[figures]'" in done.stderr


def test_a_reader_that_stops_early_is_no_error():
    """As in ``gcnlimit bayes ... | head -1``."""
    import subprocess

    program = f"{sys.executable} -m gcnlimit bayes {' '.join(OPTIONS)} --mu 0:3:2000"
    done = subprocess.run(
        f"{program} | head -1", shell=True, capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("Bayes-optimal performance")
    assert done.stderr == ""


def test_ctrl_c_shows_the_trials_done_and_ends_with_130(monkeypatch):
    calls, trial = [], simulation._Trial.__call__

    def interrupted(self):
        calls.append(self)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return trial(self)

    monkeypatch.setattr(simulation._Trial, "__call__", interrupted)
    done = run("simulate", *OPTIONS, *SMALL, "--trials", "9", "--workers", "1", "--json")
    assert done.exit_code == 130
    assert json.loads(done.stdout)[0]["trials"] == 3
    assert done.stderr == "interrupted: 3 of 9 trials were done, and are shown\n"


def test_ctrl_c_without_anything_done_ends_with_130(monkeypatch):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(simulation._Trial, "__call__", interrupted)
    done = run("simulate", *OPTIONS, *SMALL, "--workers", "1")
    assert (done.exit_code, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_z_is_missing_where_trials_differ_by_rounding_alone():
    mean, error = (0.9, 0.8, 1.0, 5.7e-16, -2.3), (0.01, 0.02, 0.1, 6.8e-17, 0.1)
    others = 0.9, 0.9, 0.95
    errors = gl.results.Performance(*error, *others)
    measured = gl.results.Measurement(*mean, *others, standard_error=errors, trials=5)
    exact = gl.results.Performance(0.9, 0.8, 1.2, 0.0, -2.3, *others)
    fields = _beside(measured, exact, 1)
    assert math.isnan(fields["train_loss"]["_z"][0])
    assert stats.norm.cdf(fields["test_loss"]["_z"][0]) == pytest.approx(stats.t.cdf(-2.0, df=4))
