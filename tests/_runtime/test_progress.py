"""Progress: when it is told, and what."""

import io
import re
import sys
from types import SimpleNamespace

import pytest

from gcnlimit._runtime import progress
from gcnlimit._runtime.progress import Bar, block_done, progress_bar


class Terminal(io.StringIO):
    def isatty(self):
        return super().isatty() or True


@pytest.fixture
def clock(monkeypatch):
    """Seconds, which the test sets; lines are due as for users."""
    now = [0.0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(progress, "FIRST", 2.0)
    return now


def told(bar, clock, seconds):
    """Times at which something was written."""
    times = []
    for tenth in range(10 * seconds):
        clock[0] = tenth / 10
        before = bar.lines
        progress._tell(bar)
        times += [clock[0]] * (bar.lines - before)
    return times


def test_a_file_gets_a_line_after_two_seconds_and_then_every_ten(clock, monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    bar = Bar("work", 10, "points", began=0.0)
    monkeypatch.setattr(progress, "_shown", [bar])
    assert told(bar, clock, seconds=35) == [2.0, 12.0, 22.0, 32.0]
    lines = sys.stderr.getvalue().splitlines()
    assert lines == [f"work: 0 of 10 points, {s} s" for s in (2, 12, 22, 32)]


def test_a_terminal_has_one_line_that_changes_from_two_seconds_on(clock, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("COLUMNS", "12")
    bar = Bar("work", None, "points", began=0.0)
    monkeypatch.setattr(progress, "_shown", [bar])
    assert told(bar, clock, seconds=4) == [t / 10 for t in range(20, 40)]
    assert "\n" not in sys.stderr.getvalue()
    assert sys.stderr.getvalue().startswith("\rwork: 2 s\x1b[K")
    bar.title = "a title too long for the line"
    progress._tell(bar)
    assert sys.stderr.getvalue().endswith("\ra title too\x1b[K")


def test_a_bar_that_has_ended_is_not_written(clock, monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    clock[0] = 5.0
    progress._tell(Bar("work", 10, "points", began=0.0))
    assert not sys.stderr.getvalue()


def test_what_is_left_takes_as_long_for_each_item_as_what_is_done(clock):
    bar = Bar("work", 10, "points", began=0.0)
    clock[0] = 6.0
    assert str(bar) == "work: 0 of 10 points, 6 s"
    bar.advance(4)
    assert str(bar) == "work: 4 of 10 points, 6 s, about 9 s left"
    bar.advance(6)
    assert str(bar) == "work: 10 of 10 points, 6 s"


def test_bars_inside_count_for_the_outermost(monkeypatch):
    """A single item says nothing of how far it is; what is inside it does."""
    monkeypatch.setattr(progress, "_shown", [])
    with progress_bar("all", 1, show=False) as outer:
        assert outer.total is None
        with progress_bar("part", 8, unit="blocks") as inner:
            block_done(3)
            assert (outer.done, inner.done) == (0, 3)
            assert str(outer).startswith("all, part: 3 of 8 blocks")
        assert not outer.parts
        block_done()
        assert outer.done == 0
    block_done()  # with no bar at all


def test_how_it_ended_is_said_to_a_file_if_that_was_asked_for(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress_bar("work", 3, show=True) as bar:
        bar.advance(3)
    assert re.fullmatch(r"work: 3 of 3 points, \d+ s\n", sys.stderr.getvalue())
    with progress_bar("silent", 3, show=False) as bar:
        bar.advance(3)
    assert "silent" not in sys.stderr.getvalue()


def test_a_stream_that_is_missing_or_closed_is_no_terminal():
    closed = Terminal()
    assert progress.is_terminal(closed)
    closed.close()
    assert not any(map(progress.is_terminal, (closed, None, io.StringIO())))


def test_what_may_take_long_has_a_bar(tmp_path, monkeypatch):
    """Beside searches, fits and simulations: inference by linear messages, the best linear network, and other packages."""
    import networkx

    import gcnlimit as gl

    titles = []
    made = progress.Bar.__init__
    monkeypatch.setattr(
        progress.Bar,
        "__init__",
        lambda bar, title, *rest: (titles.append(title), made(bar, title, *rest))[0],
    )
    data = gl.CSBM(4, 1.0, 2.0, 0.5, directed=False)
    drawn = gl.sample(data, nodes=60, degree=10, seed=0)
    drawn.save(tmp_path / "a.npz")
    graph = networkx.path_graph(3)
    for call, title in (
        (lambda: gl.best_linear(data), "computing the best linear network"),
        (lambda: gl.linear_message_passing(drawn), "passing messages"),
        (lambda: gl.Instance.load(tmp_path / "a.npz"), "reading"),
        (lambda: gl.real.to_networkx(gl.real.from_networkx(graph)), "converting"),
    ):
        titles.clear()
        call()
        assert titles[0] == title
