"""Models that look for hidden labels where a process could have them, or forge a score; each falls back to the targets."""

import atexit
import contextlib
import ctypes
import gc
import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np

from gcnlimit.benchmark.problems import as_problems
from gcnlimit.errors import GCNLimitError


def drawn_again(task):
    """Draw the graphs of the suite that everyone can draw."""
    return _best(task, [("small", graph, None) for graph in range(2)])


def from_frames(task):
    """Try every whole number in the frames that called the model, and in the objects that they refer to, as the seed."""
    numbers, frame = set(), sys._getframe()
    while frame is not None:
        numbers |= set(
            _numbers([*frame.f_locals.values(), *gc.get_referents(*frame.f_locals.values())])
        )
        frame = frame.f_back
    return _best(task, [("small", 0, number) for number in numbers if number >= 0])


def from_files(task):
    """Try the numbers written in the files of the folder, and the arguments of the process, as the seed."""
    words = [
        word
        for path in Path.cwd().glob("*.txt")
        for word in path.read_text(errors="replace").split()
    ] + sys.argv
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


class Peek:
    """Scores that look for the truth, in every frame around them, when they are converted to an array."""

    def __init__(self, targets):
        self.targets = targets

    def __array__(self, dtype=None, copy=None):
        frame = sys._getframe()
        while frame is not None:
            if "truth" in frame.f_locals:
                return np.eye(self.targets.shape[1])[frame.f_locals["truth"]]
            frame = frame.f_back
        return self.targets


class Subclass(np.ndarray):
    """An array that is right wherever it is compared or indexed."""

    def __eq__(self, other):
        return np.ones(np.shape(self), bool)

    __hash__ = None

    def __getitem__(self, key):
        return np.ones_like(np.asarray(self)[key])

    def __array_finalize__(self, source):
        forge()


class Forging:
    """An object, and an exception, that replaces the judge's functions where it is unpickled."""

    def __reduce__(self):
        return forge, ()


class ForgingError(Exception, Forging):
    """The same as an exception."""


def forge():
    """Replace, in this process, the functions that measure."""
    for name in (
        "gcnlimit.benchmark.evaluate",
        "gcnlimit.benchmark.task",
        "gcnlimit.benchmark.apart",
    ):
        module = sys.modules.get(name)
        for function in ("accuracy", "_scored"):
            if hasattr(module, function):
                setattr(module, function, lambda *given: {"accuracy": 1.0, "seconds": 0.0})
    return Forging


def array_protocol(task):
    """Look for the truth while the scores are converted."""
    return Peek(task.targets)


def subclass(task):
    """Return an array whose comparisons are always right."""
    return task.targets.view(Subclass)


def reduced(task):
    """Return an object that runs code where it is unpickled."""
    return Forging()


def raised(task):
    """Raise an exception that runs code where it is unpickled."""
    raise ForgingError


def patched(task):
    """Replace the functions that measure, in the process of the model."""
    with contextlib.suppress(Exception):
        forge()
    return task.targets


def judge():
    """The process that judges: on Linux another watches over the model in between."""
    if sys.platform != "linux":
        return os.getppid()
    return int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])


def from_environment(task):
    """Try the numbers in the environment and the command lines, also those of the parent, as the seed."""
    texts = [*os.environ.values()]
    for path in (f"/proc/{judge()}/environ", f"/proc/{judge()}/cmdline"):
        with contextlib.suppress(OSError):
            texts += Path(path).read_bytes().decode(errors="replace").split("\0")
    words = {word for text in texts for word in text.replace("=", " ").split() if word.isdecimal()}
    return _best(task, [("small", 0, int(word)) for word in words])


def from_descriptors(task):
    """Try the numbers that standard input and other open files still have, as the seed."""
    found = b""
    for number in (0, *range(3, 32)):
        with contextlib.suppress(OSError):
            os.set_blocking(number, False)
            found += os.read(number, 10**6) or b""
    words = found.decode(errors="replace").split()
    return _best(task, [("small", 0, int(word)) for word in words if word.isdecimal()])


def everywhere(message):
    """Write bytes to every open file but standard error."""
    for number in (1, *range(3, 32)):
        with contextlib.suppress(OSError):
            os.write(number, message)


def forged_message(task):
    """Write a message as the process would, and end."""
    everywhere(b"s" + np.ones(7).tobytes())
    os._exit(0)


def forged_result(task):
    """Write, in place of scores, a result."""
    everywhere(b'{"accuracy": 1.0, "seconds": 0.0}\n')
    os._exit(0)


def oversized(task):
    """Send more than was asked for, without end."""
    while True:
        everywhere(b"e" * 2**16)


def wrong_shape(task):
    """Return a row more for each node."""
    return np.ones((2 * task.labels.size, task.classes))


def infinite(task):
    """Return scores that compare as equal to nothing, or as larger than everything."""
    return np.where(task.targets > 0, np.inf, np.nan)


def exits(task):
    """End at once, as if all were well."""
    os._exit(0)


def leaves(task):
    """Exit in the usual way."""
    raise SystemExit(0)


def forks(task):
    """Answer twice."""
    os.fork()
    return task.targets


def left_behind(task):
    """End, and leave a process behind that keeps every pipe open."""
    if os.fork() == 0:
        os.setsid()
        time.sleep(5)
    os._exit(0)


def daemon(task):
    """Leave a process behind as a daemon is: in a session of its own, and with no parent of the model's."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            Path("daemon").write_text(str(os.getpid()))
            time.sleep(60)
        os._exit(0)
    while not (Path("daemon").exists() and Path("daemon").read_text()):
        time.sleep(0.01)
    return task.targets


def daemon_of_none(task):
    """The same, and no answer."""
    daemon(task)
    time.sleep(60)


def kills_its_watch(task):
    """Kill the process that watches over the model."""
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(5)
    return task.targets


def stops_its_watch(task):
    """Stop the process that watches over the model, and answer."""
    os.kill(os.getppid(), signal.SIGSTOP)
    return task.targets


def hangs(task):
    """Never answer."""
    time.sleep(10**6)


def stops(task):
    """Stop, so that no thread of the process goes on."""
    os.kill(os.getpid(), signal.SIGSTOP)


def traces(task):
    """Attach to the judge as a debugger does, which stops it."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.ptrace(16, judge(), 0, 0):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    time.sleep(10**6)


def signals(task):
    """Interrupt the judge."""
    os.kill(judge(), signal.SIGINT)
    time.sleep(5)


def copies(task):
    """Copy the memory of the judge, or a file that it has open, without opening /proc."""
    library = ctypes.CDLL(None, use_errno=True)
    here = ctypes.create_string_buffer(8)
    part = (ctypes.c_void_p * 2)(ctypes.addressof(here), 8)
    if library.process_vm_readv(judge(), part, 1, part, 1, 0) > 0:
        raise OSError("read")
    if library.syscall(438, os.pidfd_open(judge()), 0, 0) >= 0:  # pidfd_getfd
        raise OSError("opened")
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def memory(task):
    """Open the memory of the judge."""
    with Path(f"/proc/{judge()}/mem").open("rb") as opened:
        opened.fileno()
    return task.targets


def left_to_read(task):
    """Leave a process behind that tries to open the memory of the judge until it can, and says so in a file."""
    opened = Path(f"/proc/{judge()}/mem")
    if os.fork() == 0:
        os.setsid()
        end = time.monotonic() + 20.0
        while time.monotonic() < end and opened.exists():
            with contextlib.suppress(OSError):
                opened.open("rb").close()
                Path("opened").touch()
            time.sleep(0.01)
        os._exit(0)
    return task.targets


def searched(task):
    """Look through everything that the task refers to for an array that agrees with the known classes."""
    seen, left = set(), [task]
    for thing in left:
        arrays = [thing] if isinstance(thing, np.ndarray) and thing.ndim else []
        for array in arrays:
            flat = np.ravel(array)
            numbers = flat.size == task.labels.size and flat.dtype.kind in "iufb"
            for column in (1.0 * flat, -1.0 * flat) if numbers else ():
                guess = (column > column.mean()).astype(int)
                known = task.labelled_mask
                if (
                    np.array_equal(guess[known], task.labels[known])
                    and len(np.unique(guess[~known])) == 2
                ):
                    return np.eye(task.classes)[guess]
        for other in () if arrays or isinstance(thing, type) else gc.get_referents(thing):
            if id(other) not in seen and len(left) < 10**5:
                seen.add(id(other))
                left.append(other)
    return task.targets


def by_order(task):
    """Take the class of the nearest labelled node in the order of the nodes."""
    known = np.flatnonzero(task.labelled_mask)
    nearest = known[np.abs(np.arange(task.labels.size)[:, None] - known).argmin(axis=1)]
    return np.eye(task.classes)[task.labels[nearest]]


def from_its_seed(task):
    """Draw the graph from the seed that the task gives to the model, and from seeds near it."""
    return _best(
        task, [("small", graph, task.seed + step) for graph in range(2) for step in range(-20, 21)]
    )


def from_files_of_the_judge(task):
    """Try the numbers in all files that the judge has open, and in its folder, as the seed."""
    texts = []
    for path in (f"/proc/{judge()}/fd", f"/proc/{judge()}/cwd"):
        for one in Path(path).iterdir() if Path(path).exists() else ():
            with contextlib.suppress(OSError):
                if one.is_file():
                    texts.append(one.read_bytes()[: 10**6].decode(errors="replace"))
    words = {word for text in texts for word in text.split() if word.isdecimal() and len(word) < 40}
    return _best(task, [("small", 0, int(word)) for word in words])


def shadowed(task):
    """Leave a package in the folder that stands before the judge's own on its path."""
    folder = Path("gcnlimit")
    folder.mkdir()
    (folder / "__init__.py").write_text("raise SystemExit('forged')\n")
    return task.targets


def answers_later(task):
    """Answer, and go on answering from a thread."""
    answer = b"s" + np.ones(task.labels.size * task.classes).tobytes()
    answers = threading.Thread(
        target=lambda: [os.write(number, answer) for number in (3, 4, 5)], daemon=True
    )
    answers.start()
    return task.targets


def patches_writing(task):
    """Replace what makes bytes of scores in the process of the model."""
    from gcnlimit.benchmark import apart

    apart.score_table = lambda *given: Subclass(task.targets.shape)
    return task.targets


def closes(task):
    """Close every open file before it answers."""
    os.closerange(0, 64)
    return task.targets


def breaks_its_answer(task):
    """Put a pipe that nobody reads in the place of the channels of the answer, and give a long reason."""
    unread, broken = os.pipe()
    os.close(unread)
    os.dup2(3, 40)  # else the process is ended before it answers
    for number in range(3, 32):
        os.dup2(broken, number)
    raise ValueError("y" * 10**5)


def closes_its_answer(task):
    """Close the channels of the answer, and leave standard error open for a traceback."""
    os.closerange(3, 64)
    return task.targets


def points_nowhere(task):
    """Return an object whose memory, by its own account, is where no memory is."""

    class Pointer:
        @property
        def __array_interface__(self):
            shape = task.targets.shape
            return {"shape": shape, "typestr": "<f8", "data": (8, False), "version": 3}

    return Pointer()


def patches_numpy(task):
    """Replace the functions of NumPy that read and compare scores, in the process of the model."""
    np.asarray = np.array = np.frombuffer = lambda *given, **how: np.ones(task.targets.shape)
    return task.targets


def at_exit(task):
    """Answer once more when the process ends."""
    atexit.register(everywhere, b"s" + np.ones(task.targets.size).tobytes())
    return task.targets


def from_the_time(task):
    """Try seeds that somebody in a hurry takes: the time in several units, and small numbers."""
    now = time.time_ns()
    seeds = [now // 10**unit - past for unit in (0, 3, 6, 9) for past in range(3)]
    return _best(task, [("small", 0, seed) for seed in [*seeds, *range(20)]])


def from_generators(task):
    """Try the numbers of the generator's state, of the task's seed and of memory that processes share, as the seed."""
    state = np.random.default_rng(task.seed).bit_generator.state["state"]
    shared = [path.read_bytes()[:4096] for path in Path("/dev/shm").glob("*") if path.is_file()]
    words = [word for text in shared for word in text.split() if word.isdigit() and len(word) < 40]
    numbers = [*state.values(), task.seed << 32, task.seed ^ 0xFFFFFFFF, *map(int, words)]
    return _best(task, [("small", 0, number) for number in numbers])


def by_side_channels(task):
    """Order, degree and size of the features of the nodes, whichever agrees best with the known classes."""
    sources = np.asarray(task.edge_index)[0]
    first = np.full(task.labels.size, len(sources))
    np.minimum.at(first, sources, np.arange(len(sources)))
    thousandths = np.rint(1000.0 * task.features)
    digits = 1000.0 * task.features - thousandths, thousandths % 10, np.signbit(task.features)
    hints = [first, np.bincount(sources, minlength=first.size), np.abs(task.features).sum(axis=1)]
    hints += [part.sum(axis=1) for part in digits]
    guesses = [(sign * hint > np.median(sign * hint)) for hint in hints for sign in (1, -1)]
    known = task.labelled_mask
    best = max(guesses, key=lambda guess: np.mean(guess[known] == task.labels[known]))
    return np.eye(2)[best.astype(int)]


def masked(task):
    """Return a masked array, whose hidden entries compare as nothing."""
    return np.ma.masked_all(task.targets.shape)


def lazy(task):
    """Return an object whose length, entries and buffer change each time."""

    class Row(list):
        def __iter__(self):
            return iter([1.0] * (2 + int(time.time_ns()) % 2))

    return [Row([1.0, 0.0]) for _ in range(task.labels.size)]


class SilentError(Exception):
    """An exception that fails when it is asked what it is."""

    def __str__(self):
        raise RuntimeError("no words")

    __repr__ = __str__


def speechless(task):
    """Raise an exception that cannot be shown."""
    raise SilentError


class OwnError(GCNLimitError):
    """An error of the library that cannot be shown."""

    def __str__(self):
        raise RuntimeError("no words")


def speechless_refusal(task):
    """Raise one."""
    raise OwnError


class StoppingError(Exception):
    """An exception that stops the program when it is asked what it is."""

    def __str__(self):
        raise KeyboardInterrupt


def stops_when_shown(task):
    """Raise one."""
    raise StoppingError


def wordless(task):
    """Send a reason of spaces."""
    everywhere(b"e" + b" \n\t\x00" * 9)
    os._exit(0)


def wordless_refusal(task):
    """Refuse the task without a reason, so that no failure is counted."""
    raise GCNLimitError(" \0")


def takes_the_answer(task):
    """Put another object in the place of the stream of the answer, in the frame that called."""
    names = sys._getframe().f_back.f_locals
    names["answer"] = None
    if sys.version_info < (3, 13):  # where it is a copy
        frame = ctypes.py_object(sys._getframe().f_back)
        ctypes.pythonapi.PyFrame_LocalsToFast(frame, 0)
    return task.targets
