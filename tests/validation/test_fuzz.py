"""The fuzzer: a few random problems without a finding, its counts, and a fault that it finds."""

import time
from pathlib import Path

import numpy as np
import pytest

import gcnlimit as gl
from validation import fuzz, fuzz_doors, fuzz_inputs, odd_tables


@pytest.fixture(autouse=True)
def _few_points(monkeypatch):
    monkeypatch.setattr(fuzz, "TOGETHER", {"infinite": 25, "finite": 10})
    monkeypatch.setattr(fuzz, "ONE_IN", 10)


@pytest.mark.parametrize("regime", ["infinite", "finite"])
def test_nothing_is_found_in_random_problems(regime, capsys):
    assert fuzz.main(["--points", "2", "--regime", regime, "--seed", "0"]) == 0
    assert "findings: none" in capsys.readouterr().out


def test_what_was_tried_is_counted_when_it_is_stopped(monkeypatch, capsys):
    def interrupted(task):
        if interrupted.done:
            raise KeyboardInterrupt
        interrupted.done = True
        return examine(task)

    interrupted.done, examine = False, fuzz.examine
    monkeypatch.setattr(fuzz, "examine", interrupted)
    assert fuzz.main(["--points", "100", "--regime", "infinite"]) == 0
    shown = capsys.readouterr().out
    assert "interrupted\npoints 25," in shown
    assert "graph" in shown
    assert "classes" in shown


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_a_batch_that_does_not_end_is_stopped_when_the_time_is_over(workers, monkeypatch, capsys):
    began = time.monotonic()
    if workers == "1":
        monkeypatch.setattr(gl, "predict", lambda *_, **__: time.sleep(60.0))
        assert fuzz.main(["--seconds", "0.5"]) == 0
    else:  # batches of other processes take minutes
        assert fuzz.main(["--seconds", "8", "--points", "100000", "--workers", workers]) == 0
    assert time.monotonic() - began < 20.0
    assert "the time is over\npoints " in capsys.readouterr().out


def test_a_fault_is_found_and_its_problem_can_be_made_again(monkeypatch):
    predict = gl.predict

    def jumping(data, gcn, **options):
        answer = predict(data, gcn, **options)
        if np.ndim(answer.test_accuracy):
            np.asarray(answer.test_accuracy)[0] = 2.0 * data.alpha[0] % 1e-12 * 1e12
        return answer

    monkeypatch.setattr(gl, "predict", jumping)
    _, _, wrong, lines = fuzz.examine((0, 0, "infinite"))
    assert wrong["above"] + wrong["jump"] + wrong["bounds"] > 0
    problem = fuzz.problem(0, 0, "infinite")
    assert f"{fuzz.problem(0, 0, 'infinite').at(0).data!r}" == f"{problem.at(0).data!r}"
    assert lines


# the time may be over while an object is deleted
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", fuzz_inputs.KINDS)
def test_nothing_is_found_in_some_nonsense(kind, capsys, monkeypatch):
    monkeypatch.setenv("GCNLIMIT_MEMORY", "1")
    if kind == "requests":
        pytest.importorskip("dash")
    assert fuzz_inputs.main(["--only", kind, "--seconds", "1.5", "--seed", "3"]) == 0
    assert ", 0 findings" in capsys.readouterr().out


@pytest.mark.parametrize("error", [ZeroDivisionError("a bug"), gl.ParameterError("")])
def test_an_error_that_is_no_sentence_is_found_and_tried_again_by_its_number(
    error, monkeypatch, capsys
):
    def broken(t):
        raise error

    monkeypatch.setattr(fuzz_doors, "DOORS", {"broken": (broken, {"t": 1.0})})
    monkeypatch.setenv("GCNLIMIT_MEMORY", "1")
    assert fuzz_inputs.main(["--only", "doors", "--number", "5"]) == 1
    assert "doors 5: broken(t=" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_end_of_the_time_leaves_the_folder_where_it_was(monkeypatch):
    """Whenever the clock stops a trial: also between two calls."""
    monkeypatch.setattr(fuzz_doors, "DOORS", {"quick": (lambda t: t, {"t": 1.0})})
    monkeypatch.setenv("GCNLIMIT_MEMORY", "1")
    before = Path.cwd()
    for seed in range(100):
        fuzz_inputs.fuzz("doors", seed, 0.005, 10.0)
        assert Path.cwd() == before


@pytest.mark.slow
def test_odd_tables_are_answered_or_refused(capsys):
    assert odd_tables.main(["--tables", "40", "--seed", "7"]) == 0
    assert "30 odd and 10 malformed tables, 0 findings" in capsys.readouterr().out


def test_a_fault_in_odd_tables_is_found(monkeypatch, capsys):
    """Features that are stored by columns and read by rows."""
    fit = gl.GraphClassifier.fit

    def misread(self, X, y, graph=None):
        stored = np.asarray(X).ravel(order="K").reshape(np.shape(X)) if X is not None else None
        return fit(self, stored, y, graph)

    monkeypatch.setattr(gl.GraphClassifier, "fit", misread)
    table = odd_tables.drawn(7, 6)
    monkeypatch.setattr(
        odd_tables,
        "rewritten",
        lambda rng, X, y, A: [("by columns", np.asfortranarray(X), y, A)] * 9,
    )
    rng = np.random.default_rng(0)
    usual = gl.GraphClassifier().fit(table.X, table.y, table.graph).predict_proba()
    assert any("by columns" in finding for finding in odd_tables._of_forms(table, usual, rng))
