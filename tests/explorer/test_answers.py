"""Many clients: each number is computed once, quick ones at once, and the latest state wins."""

import multiprocessing
import threading
import time

import numpy as np
import pytest
from helpers import wait_for

import gcnlimit as gl
from gcnlimit.explorer import answers as module
from gcnlimit.explorer.answers import Answers, Computed, TrialRun, Workers, trial
from gcnlimit.explorer.computations import COMPUTATIONS
from gcnlimit.explorer.state import State


class Here:
    """In place of another process."""

    def run(self, call, *given, unwanted):
        return None if unwanted() else call(*given)


class Counted:
    """In place of the computations: their names, and the processor seconds that each takes."""

    def __init__(self, **seconds):
        self.names = []
        self.seconds = seconds

    def __call__(self, name, state):
        self.names.append(name)
        end = time.thread_time() + self.seconds.get(name, 0.0)
        while time.thread_time() < end:
            pass
        return Computed(None, "Left out.")


@pytest.fixture
def counted(monkeypatch):
    found = Counted(residual=module._QUICK)
    monkeypatch.setattr(module, "compute", found)
    return found


def rested(served, state):
    """Pictures of a state after the controls have rested."""
    return dict(served.later(state, "me", 1, []))


def test_a_number_is_computed_once_for_all_states_that_it_does_not_depend_on(counted):
    served = Answers(Here(), Here())
    for t in (0.5, 1.0, 1.5):
        rested(served, State(t=t))
    assert [counted.names.count(name) for name in ("ceiling", "diffusion", "here")] == [1, 1, 3]


def test_what_one_page_asks_before_it_has_a_name_silences_no_other(counted):
    served = Answers(Here(), Here())
    for number in (10**9, 0):
        names = [name for name, _ in served.now(State(), "", number, ["strength-diffusion"])]
        assert names == ["strength-diffusion"]


def test_a_number_that_many_ask_for_at_once_is_computed_once(monkeypatch):
    """The first client leaves while it is computed, and the others still have it."""
    names, begun, left, goes_on = [], threading.Event(), threading.Event(), threading.Event()

    def slow(name, state):
        names.append(name)
        begun.set()
        goes_on.wait(20)
        return Computed(None, "Left out.")

    class Patient:
        def run(self, call, *given, unwanted):
            done = call(*given)
            return None if left.is_set() and unwanted() else done

    monkeypatch.setattr(module, "compute", slow)
    served = Answers(Patient(), Patient())
    key = ("ceiling", COMPUTATIONS["ceiling"].key(State()))
    found = []
    first = threading.Thread(target=lambda: served._compute_once(key, Patient(), left.is_set))
    first.start()
    assert begun.wait(20)
    others = [
        threading.Thread(
            target=lambda: found.append(served._compute_once(key, Patient(), lambda: False))
        )
        for _ in range(11)
    ]
    for one in others:
        one.start()
    wait_for(lambda: served._asking[key] == 12)
    left.set()
    goes_on.set()
    for one in (first, *others):
        one.join(20)
    assert (names, found) == (["ceiling"], [True] * 11)


def test_a_movement_computes_its_first_picture_and_others_only_while_they_are_quick(counted):
    served = Answers(Here(), Here())
    seen = ["strength-diffusion", "strength-residual", "strength-pagerank", "axis"]
    pictures = dict(served.now(State(lam=0.5, mu=3.0), "me", 1, seen))
    assert counted.names == ["ceiling", "here", "linear", "diffusion", "residual"]
    assert [name for name in seen if pictures[name].complete] == [
        "strength-diffusion",
        "strength-residual",
    ]


def test_when_the_controls_rest_nothing_is_left_waiting(counted):
    served, state = Answers(Here(), Here()), State(lam=0.5)
    assert "layers" in served.waiting(state)
    assert all(picture.complete for picture in rested(served, state).values())
    assert served.waiting(state) == []


def test_a_later_state_of_the_same_client_wins(counted):
    served = Answers(Here(), Here())
    first = served.now(State(), "me", 1, ["strength-diffusion", "axis"])
    next(first)
    list(served.now(State(lam=0.5), "me", 2, []))
    assert list(first) == []
    assert list(served.later(State(), "me", 1, [])) == []
    assert list(served.later(State(), "another", 1, []))


def test_where_curves_are_slow_a_movement_computes_its_point_alone(counted):
    state = State(reg=1.0, symmetrize=False)
    list(Answers(Here(), Here()).now(state, "me", 1, ["strength-diffusion", "axis"]))
    assert counted.names == ["ceiling", "here", "linear"]


@pytest.mark.parametrize("name", ["ceiling", "here", "diffusion", "along", "depth", "elsewhere"])
def test_a_number_depends_on_nothing_else_than_it_says(name):
    data = {"lam": 0.7, "mu": 40.0, "rho": 0.2, "classes": "3"}
    state = State(**data, t=7.0, symmetrize=False, axis="mu", nodes=300, to_lam=0.4, to_mu=30.0)
    one = COMPUTATIONS[name]
    np.testing.assert_equal(one.compute(state), one.compute(one.key(state)))


def test_an_unwanted_call_is_ended_and_the_next_one_answered():
    worker, wanted = Workers(patience=0.1), threading.Event()
    wanted.set()
    answers = []
    call = lambda: answers.append(worker.run(time.sleep, 600, unwanted=lambda: not wanted.is_set()))  # noqa: E731
    thread = threading.Thread(target=call)
    thread.start()
    assert worker.run(abs, -1, unwanted=lambda: True) is None  # whether it waits or not
    wanted.clear()
    thread.join(60)
    assert answers == [None]
    assert worker.run(abs, -1, unwanted=lambda: False) == 1
    worker.close()


def test_a_call_after_the_end_is_refused_and_starts_no_process():
    worker = Workers()
    worker.close()
    for _ in range(2):
        with pytest.raises(gl.GCNLimitError, match="the computing process died"):
            worker.run(abs, -1, unwanted=lambda: False)
    assert not multiprocessing.active_children()


def test_a_call_under_way_when_all_ends_is_refused():
    worker, said = Workers(), []

    def call():
        try:
            worker.run(time.sleep, 600, unwanted=lambda: False)
        except gl.GCNLimitError as error:
            said.append(str(error))

    thread = threading.Thread(target=call)
    thread.start()
    while not worker._all[0]._pool:
        time.sleep(0.01)
    worker.close()
    thread.join(60)
    assert len(said) == 1


FEW_NODES = State(alpha=1.0, mu=1.0, rho=0.3, family="residual", depth=1, reg=1.0, nodes=500)


@pytest.fixture(scope="module")
def run():
    return TrialRun(FEW_NODES, [trial(FEW_NODES, seed) for seed in range(16)])


@pytest.mark.slow
def test_dots_lie_on_the_curve_within_four_standard_errors(run):
    dots = run.curves(FEW_NODES)["strength-residual"]
    expected = gl.predict(FEW_NODES.data, FEW_NODES.gcn_of("residual", dots.x))
    assert np.all(np.abs(dots.y - expected.test_accuracy) < 4 * dots.error)


def test_graphs_of_other_data_are_not_drawn(run):
    assert run.curves(FEW_NODES.replaced(c=2.0))
    assert run.curves(FEW_NODES.replaced(lam=0.5)) == {}
