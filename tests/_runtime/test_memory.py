"""Memory that there is: the least of what the kernel, a container and the machine say, and less inside a bound."""

import math
import os
from pathlib import Path

import numpy as np
import pytest

from gcnlimit import ParameterError
from gcnlimit._runtime import memory

MACHINE = float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
FILES = {
    "/proc/meminfo": "MemTotal: 9000 kB\nMemAvailable:   3000 kB\nCached: 7 kB\n",
    "/sys/fs/cgroup/memory.max": "5000000\n",
    "/sys/fs/cgroup/memory.current": "1000000\n",
}


@pytest.fixture
def machine(monkeypatch):
    """A machine that has no files of the kernel but those of the answer, and no setting."""
    files = {}

    def text(path, **how):
        if str(path) not in files:
            raise FileNotFoundError
        return files[str(path)]

    monkeypatch.setattr(Path, "read_text", text)
    monkeypatch.delenv(memory.VARIABLE, raising=False)
    return files


def test_without_files_of_the_kernel_it_is_the_size_of_the_machine(machine):
    assert memory.available() == MACHINE


def test_it_is_the_least_of_what_the_kernel_and_the_container_say(machine):
    machine.update(FILES)
    assert memory.available() == 3000 * 1024
    machine["/sys/fs/cgroup/memory.current"] = "4000000\n"
    assert memory.available() == 1_000_000
    machine["/sys/fs/cgroup/memory.current"] = "6000000\n"
    assert memory.available() == 0.0
    machine["/sys/fs/cgroup/memory.max"] = "max\n"
    assert memory.available() == 3000 * 1024


def test_a_setting_replaces_it_and_a_bound_lowers_both(machine, monkeypatch):
    machine.update(FILES)
    monkeypatch.setenv(memory.VARIABLE, " 2.5 ")
    assert memory.available() == 2.5e9
    with memory.at_most(1000.0):
        assert memory.available() == 1000.0
        with pytest.raises(ParameterError, match=r"of 1e-06 GB available; take less$"):
            memory.require("this", 1001.0, "take less")
    with memory.at_most(1e12):
        assert memory.available() == 3000 * 1024
    memory.require("this", 2.5e9, "take less")
    with pytest.raises(ParameterError, match=f"take less, or set {memory.VARIABLE} to more GB"):
        memory.require("this", math.nan, "take less")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no count of the kernel")
def test_a_bound_holds_for_what_nobody_estimated():
    with memory.at_most(1000.0), pytest.raises(MemoryError):
        np.zeros(10**9, np.int8)
    assert np.zeros(10**9, np.int8).size == 10**9


@pytest.mark.parametrize("setting", ["0", "-1", "nan", "much"])
def test_a_setting_that_is_no_size_is_refused(machine, monkeypatch, setting):
    monkeypatch.setenv(memory.VARIABLE, setting)
    with pytest.raises(ParameterError, match=f"= '{setting}' must be a number of GB above 0"):
        memory.available()
