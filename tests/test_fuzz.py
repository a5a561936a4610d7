"""The fuzzer: a few random problems without a finding, and a fault that it finds."""

import numpy as np
import pytest

import gcnlimit as gl
from validation import fuzz


@pytest.mark.parametrize("regime", ["infinite", "finite"])
def test_nothing_is_found_in_random_problems(regime, capsys):
    assert fuzz.main(["--points", "2", "--regime", regime, "--seed", "0"]) == 0
    assert capsys.readouterr().out.startswith("points")


def test_a_fault_is_found_and_its_problem_can_be_made_again(monkeypatch):
    predict = gl.predict

    def jumping(data, gcn, **options):
        answer = predict(data, gcn, **options)
        if np.ndim(answer.test_accuracy):
            np.asarray(answer.test_accuracy)[0] = 2.0 * data.alpha[0] % 1e-12 * 1e12
        return answer

    monkeypatch.setattr(gl, "predict", jumping)
    counts, lines = fuzz.examine((0, 0, "infinite"))
    assert counts["above"] + counts["jump"] + counts["bounds"] > 0
    problem = fuzz.problem(0, 0, "infinite")
    assert f"{fuzz.problem(0, 0, 'infinite').at(0).data!r}" == f"{problem.at(0).data!r}"
    assert lines
