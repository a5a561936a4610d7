"""Models that look for hidden labels where a process could have them; each falls back to the targets."""

import gc
import sys
from pathlib import Path

import numpy as np

from gcnlimit.benchmark.problems import as_problems


def drawn_again(task):
    """Draw the graphs of the suite that everyone can draw."""
    return _best(task, [("small", graph, None) for graph in range(2)])


def from_frames(task):
    """Try every whole number in the frames that called the model, and in the objects that they refer to, as the seed."""
    numbers, frame = set(), sys._getframe()
    while frame is not None:
        numbers |= set(_numbers([*frame.f_locals.values(), *gc.get_referents(*frame.f_locals.values())]))
        frame = frame.f_back
    return _best(task, [("small", 0, number) for number in numbers if number >= 0])


def from_files(task):
    """Try the numbers written in the files of the folder, and the arguments of the process, as the seed."""
    words = [word for path in Path.cwd().glob("*.txt") for word in path.read_text(errors="replace").split()] + sys.argv
    return _best(task, [("small", 0, int(word)) for word in words if word.isdecimal()])


def every(task):
    """All three."""
    for cheat in (drawn_again, from_frames, from_files):
        found = cheat(task)
        if not np.array_equal(found, task.targets):
            return found
    return task.targets


def _numbers(things, nested=4):
    for thing in list(things):
        if isinstance(thing, dict) and nested:  # a dictionary may contain itself
            yield from _numbers(thing.values(), nested - 1)
        elif isinstance(thing, int) and not isinstance(thing, bool):
            yield thing


def _best(task, places):
    """Classes of the first graph drawn that agrees with the known ones."""
    for size, graph, seed in places:
        truth = as_problems(task.problem)[0].truth(size, graph, seed=seed)
        if truth.size == task.labels.size and np.array_equal(
            truth[task.labelled_mask], task.labels[task.labelled_mask]
        ):
            return np.eye(task.classes)[truth]
    return task.targets
