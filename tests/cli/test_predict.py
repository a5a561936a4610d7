"""The command line of the theory: what it prints, and how it refuses."""

import functools
import json
import re
import subprocess
import sys

import pytest
from helpers import answer, run
from problems import DATA, OPTIONS

import gcnlimit as gl
from gcnlimit.cli.app import VERBS, app
from gcnlimit.parameters import FAMILIES, layered


def test_version():
    assert run("--version").output.strip() == f"gcnlimit, version {gl.__version__}"


def test_every_verb_is_listed_and_shows_a_real_call():
    listing = run("--help").output
    for verb in VERBS:
        assert verb in listing
        page = run(verb, "--help")
        assert page.exit_code == 0
        assert f"gcnlimit {verb}" in page.output.split("Options:")[0].replace("Usage: app", "")


def test_predict_as_json_is_the_librarys_answer():
    result = run("predict", *OPTIONS, "--t", "1.488", "--symmetrize", "--json")
    (answer,) = json.loads(result.output)
    data = gl.CSBM(alpha=4, lam=1, mu=2, rho=0.1)
    expected = gl.predict(data, gl.GCN(gl.Diffusion(1.488), symmetrize=True))
    assert answer["test_accuracy"] == expected.test_accuracy
    assert answer["log_test_error"] == expected.log_test_error
    assert answer["bayes_optimal"] == gl.bayes_optimal(data).test_accuracy


def test_lists_and_ranges_make_a_grid():
    result = run(
        "predict",
        "--alpha",
        "4",
        "--lam",
        "0:2:3",
        "--mu",
        "1,2",
        "--rho",
        "0.1",
        "--c",
        "0.5,1",
        "--depth",
        "2",
        "--no-symmetrize",
        "--json",
    )
    rows = json.loads(result.output)
    assert len(rows) == 12
    row = rows[-2]
    assert (row["lam"], row["mu"], row["c"]) == (2.0, 2.0, 0.5)
    data = gl.CSBM(alpha=4, lam=2, mu=2, rho=0.1)
    assert row["test_accuracy"] == pytest.approx(
        gl.predict(data, gl.GCN(gl.Residual([0.5, 0.5]), symmetrize=False)).test_accuracy, abs=1e-14
    )


def test_layers_of_unequal_strength():
    (answer,) = json.loads(
        run(
            "predict",
            *OPTIONS,
            "--c",
            "0.5,1.5",
            "--reg",
            "2",
            "--loss",
            "logistic",
            "--no-symmetrize",
            "--json",
        ).output
    )
    expected = gl.predict(
        gl.CSBM(alpha=4, lam=1, mu=2, rho=0.1),
        gl.GCN(gl.Residual([0.5, 1.5]), "logistic", 2.0, symmetrize=False),
    )
    assert answer["test_accuracy"] == pytest.approx(expected.test_accuracy, abs=1e-12)


def test_tables_are_readable():
    table = run("bayes", "--alpha", "4", "--lam", "0,1", "--mu", "2", "--rho", "0.1").output
    assert "test accuracy" in table
    assert "0.912727" in table


def test_infinite_values_are_valid_json():
    text = run("predict", *OPTIONS, "--t", "1", "--reg", "1,inf", "--json").output
    assert [row["reg"] for row in json.loads(text)] == [1.0, "inf"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["--alpha", "-1", "--lam", "1", "--mu", "2", "--rho", "0.1", "--t", "1"],
            "alpha = -1 is not allowed",
        ),
        ([*OPTIONS[:-1], "0", "--t", "1"], "rho = 0 is not allowed here"),
        ([*OPTIONS, "--t", "1", "--theta", "0.1"], "choose one filter"),
        ([*OPTIONS], "choose one filter"),
        ([*OPTIONS, "--t", "1", "--depth", "3"], "--depth goes with --c alone"),
        ([*OPTIONS, "--c", "1", "--depth", "-2"], "depth = -2"),
        ([*OPTIONS, "--theta", "0.9", "--symmetrize"], "the PageRank series diverges"),
        ([*OPTIONS, "--t", "1", "--loss", "l1"], "loss = 'l1' is unknown"),
        ([*OPTIONS, "--t", "1", "--reg", "0"], "reg = 0 is not allowed"),
        ([*OPTIONS, "--t", "1:2"], "is not a number, a list a,b,c or a range"),
        ([*OPTIONS[2:], "--t", "1"], "Missing option '--alpha'"),
    ],
)
def test_bad_input_is_one_sentence_and_status_2(arguments, says):
    result = run("predict", *arguments)
    assert result.exit_code == 2
    assert says in result.output
    assert "Traceback" not in result.output


def test_as_a_program():
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from gcnlimit.cli import main; main()",
            "bayes",
            *OPTIONS[:-1],
            "7",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.strip() == "Error: rho = 7 is not allowed; it must be in [0, 1]"


@pytest.mark.parametrize("classes", ["0.2,0.8", "0.5,0.3,0.2"])
def test_unequal_classes_are_predicted_below_their_ceiling(classes):
    answer = run("predict", *OPTIONS, "--t", "1", "--classes", classes, "--json")
    assert answer.exit_code == 0, answer.output
    (row,) = json.loads(answer.output)
    (alone,) = json.loads(run("bayes", *OPTIONS, "--classes", classes, "--json").output)
    assert row["test_accuracy"] < row["bayes_optimal"] == alone["test_accuracy"]


def test_the_best_linear_network_is_that_of_the_library():
    answer = run("bayes", *OPTIONS, "--linear", "--json")
    assert answer.exit_code == 0, answer.output
    (row,), (best,) = (
        json.loads(run("bayes", *OPTIONS, *how, "--json").output) for how in (["--linear"], [])
    )
    data = gl.CSBM(**{name: row[name] for name in ("alpha", "lam", "mu", "rho")})
    assert row["test_accuracy"] == gl.best_linear(data).test_accuracy < best["test_accuracy"]


def test_bayes_at_finite_degree_is_that_of_the_library_with_its_standard_errors(monkeypatch):
    quick = functools.partial(gl.bayes_optimal, population=200, sweeps=8)
    monkeypatch.setattr("gcnlimit.theory.bayes.bayes_optimal", quick)
    data = ("--alpha", "4", "--lam", "0.5", "--mu", "2", "--rho", "0.1")
    (row,) = json.loads(run("bayes", *data, "--degree", "1", "--json").stdout)
    exact = quick(gl.CSBM(4, 0.5, 2, 0.1), degree=1.0)
    assert row["test_accuracy"] == exact.test_accuracy
    assert row["test_accuracy_standard_error"] == exact.standard_error.test_accuracy > 0


def test_another_graph_and_another_filter():
    options = [
        "predict",
        *OPTIONS,
        "--theta",
        "0.3",
        "--to-lam",
        "-1,1",
        "--test-theta",
        "-0.3",
        "--json",
    ]
    rows = json.loads(answer(*options))
    gcn = gl.GCN(gl.PageRank(0.3), test_filter=gl.PageRank(-0.3))
    exact = gl.transfer(DATA, gcn, DATA.replaced(lam=[-1.0, 1.0])).test_accuracy
    assert [row["test_accuracy"] for row in rows] == pytest.approx(exact.tolist(), rel=1e-12)
    refused = run("predict", *OPTIONS, "--t", "1", "--test-t", "1", "--test-theta", "0.1")
    assert refused.exit_code == 2
    assert "choose one filter at test (got --test-t and --test-theta)" in refused.output


def test_a_training_that_stops_and_its_calibration_are_the_librarys_answer():
    rows = json.loads(
        run("predict", *OPTIONS, "--t", "1", "--time", "0.5,2", "--calibration", "--json").output
    )
    expected = gl.predict(DATA, gl.GCN(gl.Diffusion(1.0), training=gl.GradientFlow([0.5, 2.0])))
    assert [row["time"] for row in rows] == [0.5, 2.0]
    assert [row["reg"] for row in rows] == [0.0, 0.0]
    assert [row["test_accuracy"] for row in rows] == expected.test_accuracy.tolist()
    assert [row["slope"] for row in rows] == expected.calibration.slope.tolist()
    assert [row["expected_error"] for row in rows] == expected.calibration.expected_error.tolist()


@pytest.mark.parametrize(
    "options, words",
    [
        (["--momentum", "0.5"], "needs time, or steps and rate"),
        (["--steps", "5"], "needs time, or steps and rate"),
        (["--time", "1", "--reg", "inf"], "leaves nothing to train"),
        (["--time", "1", "--loss", "logistic"], "no theory for"),
        (["--steps", "1.5", "--rate", "1"], "whole numbers"),
        (["--steps", "500", "--rate", "5"], "rate = 5, whose largest stable value is 0.34"),
    ],
)
def test_a_training_that_cannot_be_is_refused_in_a_sentence(options, words):
    result = run("predict", *OPTIONS, "--t", "1", *options)
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())
    assert "throw=" not in result.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_says_in_a_sentence_what_it_is(verb):
    command = app.get_command(None, verb)
    for option in command.params:
        if option.param_type_name == "option":
            assert re.fullmatch(r"[A-Za-z].+\.(  \[default: .*\])?", option.help or ""), option.name


def test_the_help_of_a_filter_names_its_family_and_how_layers_are_given():
    told = {option.name: option.help for option in app.get_command(None, "predict").params}
    for name, family in FAMILIES.items():
        assert told[name].startswith(f"{family.__name__} filter: ")
        assert ("--depth" in told[name]) == layered(family)
        assert ("1," in told[name]) == family.deep
