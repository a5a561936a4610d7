"""The numbers behind the pictures: what takes long is what has no closed form."""

import math

import numpy as np
import pytest

from gcnlimit.explorer.curves import Cost, bounds, strength_range
from gcnlimit.explorer.state import LIMITS, State

SLOW = {
    "a directed graph": ({"symmetrize": False}, {"curve"}),
    "a graph that is symmetric": ({"symmetrize": False, "directed": False}, set()),
    "softmax of two classes": ({"loss": "softmax"}, set()),
    "softmax of three": ({"loss": "softmax", "classes": "3"}, {"curve", "average"}),
    "two unequal classes": ({"classes": "0.3, 0.7"}, set()),
    "of another loss": ({"classes": "0.3, 0.7", "loss": "logistic"}, {"curve"}),
    "three unequal classes": ({"classes": "0.2, 0.3, 0.5"}, {"ceiling"}),
    "hubs": ({"degrees_variance": 0.5}, set()),
    "hubs, normalized": ({"degrees_variance": 0.5, "normalization": "none"}, {"layers"}),
    "no hubs, normalized": ({"normalization": "none"}, set()),
}


@pytest.mark.parametrize("changes, slow", SLOW.values(), ids=SLOW)
def test_a_state_is_slow_for_what_has_no_closed_form(changes, slow):
    """At infinite regularization curves are explicit; ceilings and hubs cost what they cost."""
    cost = Cost.of(State(reg=1.0, **changes))
    assert {name for name in Cost._fields[1:] if getattr(cost, name)} == slow
    explicit = Cost.of(State(**changes))
    assert {name for name in Cost._fields[1:] if getattr(explicit, name)} == slow - {
        "curve",
        "average",
    }
    assert cost.points < explicit.points
    assert (cost.points < Cost.of(State(reg=1.0)).points) == cost.average


def test_strengths_that_are_drawn_grow_with_the_layers_and_hold_the_best():
    deep, flat = State(depth=12), State(depth=2)
    assert strength_range("residual", flat) == LIMITS["c"].slider
    low, high = strength_range("residual", deep)
    assert low == -high < LIMITS["c"].slider[0]
    assert strength_range("diffusion", deep) == LIMITS["t"].slider
    assert bounds("pagerank") == {"theta": (-1.0, 1.0)}
    assert bounds("diffusion") == {"t": (-20.0, 20.0)}
    assert bounds("residual") == {"c": (-math.inf, math.inf)}


@pytest.mark.parametrize("name, value", [("c", 37.0), ("c", -37.0), ("alpha", 2e-3), ("mu", 9e3)])
def test_a_value_beyond_its_slider_widens_it_by_as_many_halvings_or_doublings_as_it_takes(
    name, value
):
    (low, high), usual = State(**{name: value}).span(name), LIMITS[name].slider
    assert low <= min(value, usual[0])
    assert high >= max(value, usual[1])
    if value > 0 and value > usual[1]:
        assert high == min(usual[1] * 2 ** np.ceil(np.log2(value / usual[1])), LIMITS[name].high)
        assert low == usual[0]
