"""Many clients: the latest state wins, and each answer is computed once."""

import threading

from gcnlimit.explorer import answers as module
from gcnlimit.explorer.answers import Answers
from gcnlimit.explorer.picture import Picture
from gcnlimit.explorer.state import State


def _no_pool():
    raise AssertionError("no other process is needed")


def test_a_state_that_waits_is_dropped_when_a_later_one_comes(monkeypatch):
    begun, go = threading.Event(), threading.Event()
    computed = []

    def slow(name, state):
        computed.append(state.lam)
        begun.set()
        go.wait(10)
        return Picture("", "", str(state.lam), "")

    monkeypatch.setattr(module, "compute", slow)
    served, found = Answers(_no_pool), {}
    threads = []
    for number, lam in enumerate((0.1, 0.2, 0.3), start=1):
        ask = lambda n=number, v=lam: found.update({v: served.picture("axis", State(lam=v), "me", n)})  # noqa: E731
        threads.append(threading.Thread(target=ask))
        threads[-1].start()
        begun.wait(10)
    while served._latest.get(("me", "axis")) != 3:
        pass
    go.set()
    for thread in threads:
        thread.join(10)
    assert found[0.2] is None
    assert found[0.3].sentence == "0.3"
    assert 0.2 not in computed


def test_other_clients_are_not_stale(monkeypatch):
    monkeypatch.setattr(module, "compute", lambda name, state: Picture("", "", str(state.lam), ""))
    served = Answers(_no_pool)
    assert served.picture("axis", State(lam=0.5), "one", 9).sentence == "0.5"
    assert served.picture("axis", State(lam=0.6), "two", 1).sentence == "0.6"


def test_an_answer_is_computed_once(monkeypatch):
    calls = []
    monkeypatch.setattr(module, "compute", lambda name, state: calls.append(name) or Picture("", "", "", ""))
    served = Answers(_no_pool)
    for number in range(3):
        served.picture("axis", State(), "me", number)
    assert calls == ["axis"]
