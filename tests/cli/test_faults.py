"""Bad input, extreme values, full disks and interruptions: a sentence or a right answer, never a traceback or a NaN."""

import importlib.util
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from problems import OPTIONS
from scipy import stats

import gcnlimit as gl
from gcnlimit.cli.app import app, spoken
from gcnlimit.cli.simulate import _beside
from gcnlimit.simulation import simulate as simulation

PROGRAM = [sys.executable, "-m", "gcnlimit"]


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)))


@pytest.mark.parametrize("size", ["1e-300", "1e-200", "1e-20", "1e20", "1e155", "1e200", "1e300"])
@pytest.mark.parametrize(
    "verb, name",
    [*(("predict", n) for n in ("alpha", "lam", "mu", "t", "reg")), *(("bayes", n) for n in ("alpha", "lam", "mu"))],
)
def test_extreme_values_give_a_sentence_or_numbers(verb, name, size):
    words = {"alpha": "4", "lam": "1", "mu": "2", "rho": "0.5"} | (
        {"t": "1", "reg": "inf"} if verb == "predict" else {}
    )
    words[name] = size
    done = run(verb, *(w for pair in words.items() for w in (f"--{pair[0]}", pair[1])), "--json")
    assert done.exception is None or isinstance(done.exception, SystemExit)
    if done.exit_code == 0:
        (row,) = json.loads(done.stdout)
        assert 0.0 <= row["test_accuracy"] <= 1.0
    else:
        assert done.exit_code == 2
        assert re.fullmatch(r"Error: .*\n", done.stderr)


def test_one_bad_point_does_not_lose_the_others():
    done = run("predict", *OPTIONS, "--theta", "0.1:0.6:6", "--json")
    assert done.exit_code == 0
    rows = json.loads(done.stdout)
    good = [row for row in rows if row["status"] == "explicit"]
    assert 0 < len(good) < 6
    for row in good:
        expected = gl.predict(gl.CSBM(4, 1, 2, 0.1), gl.GCN(gl.PageRank(row["theta"]))).test_accuracy
        assert row["test_accuracy"] == pytest.approx(expected, rel=1e-13)
    bad = [row for row in rows if row["status"] == "failed"]
    assert len(good) + len(bad) == 6
    assert all(row["test_accuracy"] is None and "diverges" in row["error"] for row in bad)
    assert f"{len(bad)} of 6 points failed" in done.stderr
    assert "theta = 0.6: " in done.stderr
    table = run("predict", *OPTIONS, "--theta", "0.1:0.6:6").stdout
    assert table.count("failed") == len(bad)


def test_if_every_point_fails_the_status_says_so():
    done = run("predict", *OPTIONS, "--theta", "0.7,0.8")
    assert done.exit_code == 2
    assert "all 2 points failed" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    "words",
    [
        ("predict", *OPTIONS, "--t", "1", "--reg", "0"),
        ("predict", *OPTIONS, "--t", "1", "--loss", "l1"),
        ("predict", *OPTIONS, "--t", "1e9"),
        ("predict", *OPTIONS, "--t", "1", "--tol", "2"),
        ("predict", *OPTIONS, "--t", "1", "--max-iterations", "0"),
        ("predict", *OPTIONS, "--t", ""),
        ("tune", *OPTIONS, "--free", "t=5:5"),
        ("tune", *OPTIONS, "--free", "reg=-1:1", "--t", "1"),
        ("simulate", *OPTIONS, "--t", "1", "--nodes", "1"),
        ("simulate", *OPTIONS, "--t", "1", "--degree", "1e9"),
        ("simulate", *OPTIONS, "--t", "1", "--workers", "0"),
        ("compare", *OPTIONS, "--order", "1000"),
    ],
    ids=lambda words: "-".join((words[0], *words[-2:])),
)
def test_advice_names_options_and_nothing_of_python(words):
    done = run(*words)
    said = " ".join(done.stderr.split("Error: ")[-1].split())
    assert not re.search(r"math\.|throw|gcnlimit\.|\bgl\.|\w=[\[({]|\bpass\b|max_iterations", said), said


def test_what_only_python_has_is_said_as_an_option():
    said = spoken(
        "it did not converge; raise max_iterations or tol, or pass throw=False and look at the status of each point"
    )
    assert said == "it did not converge; raise --max-iterations or --tol"


@pytest.mark.parametrize("word, verb", [("predct", "predict"), ("simulte", "simulate"), ("bays", "bayes")])
def test_a_misspelt_verb_is_answered_with_the_nearest(word, verb):
    done = run(word)
    assert done.exit_code == 2
    assert f"Did you mean '{verb}'?" in done.stderr


@pytest.fixture
def forbidden(monkeypatch):
    """Nothing may be computed."""

    def refuse(*_, **__):
        raise AssertionError("it was computed")

    for home in ("theory.predict.predict", "theory.bayes.bayes_optimal", "choose.tune.tune", "choose.compare.compare"):
        monkeypatch.setattr(f"gcnlimit.{home}", refuse)
    monkeypatch.setattr("gcnlimit.simulation.data.sample.sample", refuse)
    monkeypatch.setattr("gcnlimit.figures.produce.produce", refuse)
    monkeypatch.setattr("gcnlimit.benchmark.evaluate", refuse)
    monkeypatch.setattr("gcnlimit.real.read", refuse)


@pytest.mark.parametrize(
    "words",
    [
        ("predict", *OPTIONS, "--t", "1,2", "--plot", "no/folder.png"),
        ("predict", *OPTIONS, "--t", "1,2", "--plot", "picture.nonsense"),
        ("predict", *OPTIONS, "--t", "1", "--plot", "picture.png"),
        (
            "predict",
            "--alpha",
            "1,2",
            "--lam",
            "1,2",
            "--mu",
            "1,2",
            "--rho",
            "0.1",
            "--t",
            "1",
            "--plot",
            "picture.png",
        ),
        ("tune", *OPTIONS, "--free", "t=0:1", "--plot", "no/folder.png"),
        ("compare", "--alpha", "1,2", "--lam", "1,2", "--mu", "1", "--rho", "0.1", "--plot", "picture.png"),
        ("compare", *OPTIONS, "--plot", "picture.nonsense"),
        ("sample", *OPTIONS, "--out", "no/graph.npz"),
        ("figure", "depth", "--out", "/dev/null/figures"),
        ("reproduce", "--out", "/dev/null/figures"),
        ("benchmark", "--run", "amp", "--out", "no/scores.json"),
        ("benchmark", "--run", "amp", "--out", "scores.xyz"),
        ("classify", __file__, "--out", "no/classes.csv"),
        ("predict", *OPTIONS, "--c", "1", "--depth", "99999999999"),
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
    "missing, words",
    [
        *((m, w) for m in ("matplotlib", "xarray", "h5netcdf") for w in (("figure", "depth"), ("reproduce",))),
        ("matplotlib", ("compare", *OPTIONS, "--plot", "x.png")),
    ],
)
def test_a_missing_package_is_named_before_anything_is_computed(words, missing, forbidden, tmp_path, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == missing else found(name, *rest)
    )
    monkeypatch.chdir(tmp_path)
    done = run(*words)
    assert done.exit_code == 2
    assert f"needs {missing}; install it with pip install 'gcnlimit[figures]'" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device")
@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_a_full_disk_behind_the_pipe_is_one_sentence(form):
    with Path("/dev/full").open("w") as full:
        command = [*PROGRAM, "bayes", *OPTIONS, "--output", form]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "Error: cannot write the answer: No space left on device\n"


def test_a_closed_output_is_no_error(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(SystemExit) as end:
        app(["bayes", *OPTIONS])
    assert end.value.code == 0


def test_what_would_not_fit_into_memory_is_refused(monkeypatch):
    monkeypatch.setenv("GCNLIMIT_MEMORY", "0.001")
    for words in (("--lam", "0:1:100000"), ("--lam", "0:1:100", "--alpha", "1:2:100")):
        done = run("bayes", *OPTIONS, *words)
        assert done.exit_code == 2
        assert "of memory" in done.stderr
        assert "GCNLIMIT_MEMORY" in done.stderr


def test_ctrl_c_shows_the_trials_done_and_ends_with_130(monkeypatch):
    calls, trial = [], simulation._Trial.__call__

    def interrupted(self):
        calls.append(self)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return trial(self)

    monkeypatch.setattr(simulation._Trial, "__call__", interrupted)
    words = ["--t", "1", "--nodes", "100", "--degree", "20", "--trials", "9", "--workers", "1"]
    done = run("simulate", *OPTIONS, *words, "--json")
    assert done.exit_code == 130
    assert json.loads(done.stdout)[0]["trials"] == 3
    assert done.stderr == "interrupted: 3 of 9 trials were done, and are shown\n"


def test_ctrl_c_without_anything_done_ends_with_130():
    large = ["--t", "1", "--nodes", "20000", "--trials", "50"]
    process = subprocess.Popen([*PROGRAM, "simulate", *OPTIONS, *large], stdout=-1, stderr=-1, text=True)
    time.sleep(2.5)
    process.send_signal(signal.SIGINT)
    shown, said = process.communicate(timeout=30)
    assert (process.returncode, shown, said) == (130, "", "interrupted\n")


def test_z_is_missing_where_trials_differ_by_rounding_alone():
    mean, error = (0.9, 0.8, 1.0, 5.7e-16, -2.3), (0.01, 0.02, 0.1, 6.8e-17, 0.1)
    others = 0.9, 0.9, 0.95
    errors = gl.results.Performance(*error, *others)
    measured = gl.results.Measurement(*mean, *others, standard_error=errors, trials=5)
    exact = gl.results.Performance(0.9, 0.8, 1.2, 0.0, -2.3, *others)
    fields = _beside(measured, exact, 1)
    assert fields["train_loss"]["_z"][0] is None
    assert stats.norm.cdf(fields["test_loss"]["_z"][0]) == pytest.approx(stats.t.cdf(-2.0, df=4))


def test_a_single_graph_is_one_graph():
    words = ["--t", "1", "--nodes", "100", "--degree", "20", "--trials", "1"]
    assert "Measured on 1 graph of 100 nodes" in run("simulate", *OPTIONS, *words).stdout
