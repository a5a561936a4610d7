"""The state of the page: links hold it whole, and impossible ones are a sentence."""

import math
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import DATA

import gcnlimit as gl
from gcnlimit.explorer.start import PRESETS
from gcnlimit.explorer.state import CHOICES, LIMITS, SWITCHES, State


def _values(name):
    limit = LIMITS[name]
    return st.integers(limit.low, limit.high) if limit.whole else st.floats(limit.low, limit.high)


@given(
    st.fixed_dictionaries(
        {name: _values(name) for name in LIMITS}
        | {name: st.sampled_from(CHOICES[name]) for name in ("family", "axis")}
        | {
            "degrees_variance": st.floats(0.001, 20.0),
            "directed": st.booleans(),
            "symmetrize": st.booleans(),
            "classes": st.sampled_from(["2", "7"]),
        }
    )
)
def test_a_link_leads_back_to_its_state(values):
    state = State.of(values)
    assert State.of_query(state.query()) == state


EXAMPLES = {name: state for group in PRESETS.values() for name, state in group.items()}


@pytest.mark.parametrize("state", EXAMPLES.values(), ids=EXAMPLES.keys())
def test_presets_are_states_that_the_library_answers(state):
    assert State.of_query(state.query()) == state
    p = gl.predict(state.data, state.gcn)
    assert 0.0 < p.test_accuracy <= gl.bayes_optimal(state.data).test_accuracy + 1e-9


@pytest.mark.parametrize(
    "query, word",
    [
        ("?rho=7", "rho"),
        ("?rho=", "rho is empty"),
        ("?alpha=0", "alpha = 0 is out of range; choose a number from 0.001 to 100000"),
        ("?lam=nan", "lam"),
        ("?lam=1e400", "lam"),
        ("?reg=-1", "reg"),
        ("?depth=2.5", "depth"),
        ("?depth=1000000", "depth"),
        ("?classes=1", "classes"),
        ("?classes=0.2,0.9", "classes"),
        ("?classes=" + ",".join(["0.01"] * 100), "classes"),
        ("?coefficients=1;2", "coefficients"),
        ("?coefficients=" + ",".join(["1"] * 50), "coefficients"),
        ("?coefficients=1" + 1000 * "+", "coefficients"),
        ("?family=transformer", "family"),
        ("?directed=perhaps", "directed"),
        ("?loss=<script>", "loss"),
        ("?nodes=1e9", "nodes"),
        ("?lamda=1", "lamda"),
        ("?degrees_variance=0.5&classes=0.2,0.8", "equal classes only"),
        ("?degrees_variance=0.5&normalization=none", "normalization = 'none'"),
        ("?degrees_variance=1.5&normalization=random-walk", "normalization = 'random-walk'"),
    ],
)
def test_an_impossible_link_is_one_sentence_that_names_the_control(query, word):
    with pytest.raises(gl.ParameterError, match=word) as refused:
        State.of_query(query)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


def test_infinite_regularization_travels_in_a_link():
    assert State.of_query("?reg=inf").reg == math.inf
    assert State.of_query(State(reg=2.5).query()).reg == 2.5


def test_every_field_is_a_control():
    assert {f.name for f in fields(State)} == {
        *LIMITS,
        *CHOICES,
        *SWITCHES,
        "classes",
        "coefficients",
    }


def test_every_example_has_a_name_of_its_own():
    assert len(EXAMPLES) == sum(map(len, PRESETS.values()))


def test_the_page_opens_at_the_problem_of_the_documentation():
    state = State()
    assert state.data == DATA
    assert state.gcn == gl.GCN(gl.Diffusion(1.0), symmetrize=True)


@pytest.mark.parametrize("name", LIMITS)
def test_a_control_holds_its_default_and_its_slider_and_treats_signs_alike(name):
    limit, default = LIMITS[name], getattr(State(), name)
    assert limit.low <= limit.slider[0] < limit.slider[1] <= limit.high
    assert default == math.inf or limit.slider[0] <= default <= limit.slider[1]
    if limit.low < 0.0:
        assert (limit.low, limit.slider[0]) == (-limit.high, -limit.slider[1])
    assert not limit.log or limit.low > 0.0
