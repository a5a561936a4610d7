"""What the numbers say, in words: curves made by hand, whose sentence is known."""

import re

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.explorer.curves import LAYERS, TIMES, Layers, Scan, TrainingCurves
from gcnlimit.explorer.sentences import (
    ends_sentence,
    gain_answer,
    layers_sentence,
    strength_sentence,
    training_sentence,
)
from gcnlimit.explorer.state import State

RISING = np.linspace(0.80, 0.91, LAYERS.size)


def layers(best, kept=RISING, **state):
    return layers_sentence(State(**state), Layers(np.array(best), np.array(kept), 0.9))


def until(depth, values=RISING):
    """The same curve up to a depth, and flat from there."""
    return np.minimum(values, values[depth - 1])


def test_layers_are_worth_a_tenth_of_a_percentage_point():
    assert "every layer up to 12 still adds" in layers(RISING)
    assert layers(until(5)) == "at the best c of each depth, layers beyond 5 add nothing."
    assert layers(until(5), reg=1.0).startswith("at the best c and reg of each depth, layers bey")
    little = until(5) + 0.0009 * (LAYERS == 12)
    assert "layers beyond 5 add at most 0.09 percentage points" in layers(little)
    more = until(5) + 0.0015 * (LAYERS == 12)
    assert "every layer up to 12 still adds" in layers(more)
    assert layers(np.full(12, np.nan)) == "they cannot be computed here."
    some = np.where(LAYERS == 2, np.nan, until(5))  # a depth that fails hides no other
    assert layers(some) == layers(until(5))


@pytest.mark.parametrize("top, words", [(1, "1 layer "), (4, "4 layers ")])
def test_oversmoothing_is_said_where_the_accuracy_falls(top, words):
    falling = RISING - 0.1 * np.maximum(LAYERS - top, 0.0)
    told = f"; with c fixed at 1, accuracy falls beyond {words}(oversmoothing)."
    assert layers(RISING, falling).endswith(told)
    late = 0.7 + 0.1 * np.isin(LAYERS, (top, 11))  # falls at the last layer alone
    assert layers(RISING, late).endswith(told)
    for kept in (RISING, until(top), np.full(12, np.nan)):
        assert "oversmoothing" not in layers(RISING, kept)


@pytest.mark.parametrize("top", [20, 40, 60])
def test_the_time_to_stop_is_said_in_epochs_at_the_usual_learning_rate(top):
    """As many epochs of the mean loss of the labelled nodes take as long, to half an epoch."""
    stopped = 0.9 - 1e-3 * np.abs(np.arange(TIMES.size) - top)
    state = State(rho=0.2)
    words = training_sentence(state, TrainingCurves(stopped, stopped - 0.05, 0.87))
    told = re.search(r"t = (\S+), which is (\d+) epochs at learning rate (\d\.\d+)", words)
    t, epochs, rate = map(float, told.groups())
    assert t == pytest.approx(TIMES[top], rel=5e-3)
    descent = gl.GradientDescent.from_epochs(epochs, rate, state.rho)
    assert abs(descent.steps * descent.rate - TIMES[top]) <= 0.5 * descent.rate + 1e-9
    assert "highest, 0.9000, at" in words
    assert "The best ridge regression reaches 0.8500. Training to the end costs 3.0 p" in words
    for end, told in (
        (0.9 + 1e-5, "changes nothing."),
        (0.91, "gains 1.0 percentage points."),
        (np.nan, "takes for ever, since some eigenvalues are all but 0."),
    ):
        assert training_sentence(state, TrainingCurves(stopped, stopped, end)).endswith(told)
    falling = TrainingCurves(stopped[top:], stopped, 0.87)
    assert "after a single step" in training_sentence(state, falling)


def test_the_best_strength_is_named_with_what_lies_beside_it():
    x = np.linspace(-5.0, 5.0, 11)

    def told(top, family="diffusion", y=0.9 - 0.01 * x**2):
        return strength_sentence(family, State(), Scan(x, y, top, 0.9))

    assert told(1.5).endswith("t = 1.5, accuracy 0.9000. A larger t oversmooths.")
    assert "the end of the picture; further values may be better." in told(5.0)
    assert "the end of the picture" not in told(4.999)
    assert told(0.0).endswith("The graph does not help.")
    assert told(1.0, y=np.full(11, 0.9)) == "Diffusion: every strength gives the accuracy 0.9000."
    assert told(2.0, "residual").endswith(
        "A smaller c oversmooths; a larger c ignores the neighbours."
    )
    assert told(-2.0, "residual").endswith(
        "A larger c oversmooths; a smaller c ignores the neighbours."
    )


def test_a_curve_ends_where_its_numbers_do():
    x, gap = np.arange(5.0), np.array([0.6, np.nan, 0.7, 0.7, 0.7])
    assert ends_sentence("lam", x, np.full(5, 0.6), "never") == ""
    assert ends_sentence("lam", x, np.full(5, np.nan), "why.") == "No curve is drawn: why."
    assert ends_sentence("lam", x, gap, "why") == "The curve has a gap between lam = 0 and 2: why."
    both = "The curve ends at lam = 3 and has a gap between lam = 0 and 2: why."
    assert ends_sentence("lam", x, np.append(gap[:-1], np.nan), "why") == both
    one_side = "The curve ends at lam = 2: it is steep."
    ends = np.where(x > 2, np.nan, 0.6)
    assert ends_sentence("lam", x, ends, "t = 9 is not allowed: it is steep") == one_side


def test_what_is_left_to_gain_is_in_percentage_points_below_the_limit():
    words = gain_answer(State(), {"ceiling": 0.9, "here": 0.87, "linear": 0.885})
    assert "exceeds 0.9000" in words
    assert "This network is at 0.8700, 3.0 percentage points below the limit; the best" in words
    assert "all linear networks is at 0.8850, 1.5 below." in words
    assert gain_answer(State(), {}) == ""
