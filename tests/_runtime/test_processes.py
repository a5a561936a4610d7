"""Workers end with their parent, however it ends, and an interruption keeps what is finished."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers import alive, wait_for

import gcnlimit as gl
from gcnlimit._runtime.processes import run

SCRIPT = """
import gcnlimit as gl
data, gcn = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), gl.GCN(gl.Diffusion(1.0))
print(gl.simulate(data, gcn, nodes=1000, trials=3000, workers=2).trials)
"""


def children(pid):
    """Processes whose parent is `pid`."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text().rsplit(")", 1)[1].split()[:2]
        except OSError:
            continue
        if int(parent) == pid and state != "Z":
            found.append(int(folder.name))
    return found


def seconds(pid):
    """Processor time used by a process."""
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11]) / os.sysconf(
        "SC_CLK_TCK"
    )


@pytest.fixture
def simulation():
    """A long simulation in two workers, and their numbers once all have started."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_for(
        lambda: len(children(process.pid)) >= 3
    )  # two workers and the tracker of their resources
    time.sleep(1.0)
    yield process, children(process.pid)
    process.kill()
    process.communicate()


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc")
@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_their_parent(simulation, kind):
    process, workers = simulation
    process.send_signal(kind)
    assert process.wait(10) == -kind
    wait_for(lambda: not any(map(alive, workers)), 10.0)


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc")
def test_an_interruption_ends_the_workers_and_returns_what_is_done(simulation):
    process, workers = simulation
    wait_for(
        lambda: sum(map(seconds, workers)) > 4.0, 60.0
    )  # the workers have started and finished some trials
    process.send_signal(signal.SIGINT)
    trials = int(process.communicate(timeout=20)[0])
    assert 0 < trials < 3000
    wait_for(lambda: not any(map(alive, workers)), 10.0)


class Dying:
    """A task that kills its process."""

    def __call__(self):
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_dies_is_reported_in_a_sentence():
    with pytest.raises(gl.GCNLimitError, match="a worker process died"):
        run([Dying(), Dying()], workers=2)


class Interrupted:
    """A task during which Ctrl-C is pressed."""

    def __call__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1.0)


def test_an_interruption_keeps_the_finished_tasks():
    assert run([list, Interrupted(), list], workers=1) == [[], None, None]
