"""A model in a process of its own, from which bytes of numbers come back and nothing else.

The process that knows the seed never imports, unpickles or converts anything of the model's: it sends the task, and reads either
so many bytes of scores or a short text. What a model prints goes to standard error.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from gcnlimit._runtime.processes import check_pickle
from gcnlimit._runtime.threads import single_threaded_children
from gcnlimit._values import Array, printable, shown
from gcnlimit.benchmark.task import Task, score_table
from gcnlimit.errors import GCNLimitError, ParameterError

if TYPE_CHECKING:
    Model = Callable[[Task], npt.ArrayLike]

_SCORES, _REASON = b"s", b"e"  # the first byte of an answer
_LONGEST = 500  # letters of a reason
_SET_DUMPABLE, _SET_CHILD_SUBREAPER = 4, 36  # of prctl
_GRACE = 1.0  # seconds in which the rest of an answer arrives once the model's process has ended
_CHILD = "from gcnlimit.benchmark.apart import main; main()"


def sealed(model: Model | str) -> bytes | str:
    """A model as it is sent to another process: its name, or a pickle that is opened there only."""
    if isinstance(model, str):
        return model
    check_pickle(model, "the model", ", or leave out the seed")
    return pickle.dumps(model)


def named_model(name: str) -> Model:
    """Import the model named ``"module:function"``.

    >>> named_model("gcnlimit.benchmark.methods:features_alone").__name__
    'features_alone'
    """
    module, _, function = name.partition(":")
    try:
        model: Any = importlib.import_module(module)
        for part in function.split("."):
            model = getattr(model, part)
    except (ImportError, AttributeError, ValueError) as error:
        use = "write 'module:function', of a module in the folder or on the path"
        raise ParameterError(f"model = {name!r} cannot be imported ({error}); {use}") from None
    return cast("Model", model)


def close_memory() -> None:
    """Keep other processes of this user, unless it is root, from reading and tracing this one from now on; on Linux.

    For good: what a model has left behind could open the memory afterwards, and read it when the next model is judged.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)


def scores_apart(
    model: bytes | str, task: Task, user: str | None = None, timeout: float = math.inf
) -> Array:
    """Scores of a model that runs in another process, as another user if one is named, within a time limit in seconds."""
    process = _started(user)
    received: list[bytes] = []
    length = task.labels.size * task.classes * 8
    work = _preparation(model), model, task
    # threads: a process that the model has left behind may keep the pipes open, and do nothing
    reader = threading.Thread(target=lambda: received.append(_read(process.stdout, length)))
    ended = threading.Event()
    writer = threading.Thread(target=_send, args=(work, process.stdin, ended))
    for thread in (reader, writer):
        thread.daemon = True
        thread.start()
    end = time.monotonic() + timeout
    try:
        while reader.is_alive() and process.poll() is None:
            reader.join(0.1)
            if time.monotonic() > end:
                words = "pass another timeout if it needs more"
                raise GCNLimitError(f"the model took more than {timeout:g} s; {words}")
        reader.join(_GRACE)
    finally:
        _end(process)
        ended.set()
        for thread in (reader, writer):
            thread.join(_GRACE)
    return _scores(b"".join(received), task)


def _started(user: str | None) -> Any:
    """Process of the model: a session, so that all that it starts can be ended; what others left in the folder is found last."""
    options: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    path = os.pathsep.join(sorted((f or os.getcwd() for f in sys.path), key=os.getcwd().__eq__))
    command = [sys.executable, "-P", "-c", _CHILD]
    try:
        if user is not None:
            import pwd

            options |= {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}
        with single_threaded_children():
            options["env"] = os.environ | {"PYTHONPATH": path}
            return subprocess.Popen(command, start_new_session=True, **options)
    except (OSError, LookupError, ValueError, ImportError) as error:
        use = "name one of this machine, as root"
        raise ParameterError(f"user = {shown(user)} cannot run a model ({error}); {use}") from None


def _preparation(model: bytes | str) -> dict[str, Any]:
    """What a spawned process is told of this one: path and folder; the script, only if the model is defined in it."""
    from multiprocessing import spawn

    parent = spawn.get_preparation_data("model")
    secret = {"authkey", "sys_argv"}
    if b"__main__" not in (model if isinstance(model, bytes) else b""):
        secret |= {"init_main_from_name", "init_main_from_path"}
    return {key: value for key, value in parent.items() if key not in secret}


def _send(work: object, stream: BinaryIO, ended: threading.Event) -> None:
    """Write a task, and hold the stream open to the end: the process ends when it is closed."""
    with contextlib.suppress(OSError), stream:  # it may end before it has read everything
        pickle.dump(work, stream)
        stream.flush()
        ended.wait()


def _read(stream: BinaryIO, length: int) -> bytes:
    """First byte of an answer, and as many as its kind may have."""
    with stream:
        first = stream.read(1)
        return first + stream.read(length if first == _SCORES else 4 * _LONGEST)


def _end(process: Any) -> None:
    """End the process and those it has started; what it sent has already arrived."""
    process.terminate()  # who watches over the model ends what is no longer in the group
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE)
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _scores(answer: bytes, task: Task) -> Array:
    """Scores in an answer, or the sentence that says why there are none."""
    first, content = answer[:1], answer[1:]
    shape = (task.labels.size, task.classes)
    if first == _SCORES and len(content) == shape[0] * shape[1] * 8:
        return score_table(np.frombuffer(content, "<f8").reshape(shape), *shape)
    text = printable(content.decode("utf-8", "replace")[:_LONGEST])
    if first == _REASON and text.strip():
        raise GCNLimitError(text)
    raise GCNLimitError("the model's process ended without scores; return them from the function")


def main() -> None:
    """Read a task on standard input, run the model, and answer on what was standard output."""
    from multiprocessing import spawn

    from gcnlimit.sweeps.producers import reason

    sys.excepthook = lambda *_: os._exit(0)  # of a process that its model has broken
    if sys.platform == "linux":
        _watched()
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the model prints is no answer
    try:
        preparation, model, task = pickle.load(sys.stdin.buffer)
        threading.Thread(target=_follow, daemon=True).start()
        spawn.prepare(preparation)
        run = named_model(model) if isinstance(model, str) else pickle.loads(model)
        table = score_table(run(task), task.labels.size, task.classes)
        said = _SCORES + table.astype("<f8").tobytes()
    except BaseException as error:
        said = _REASON + reason(error).encode("utf-8", "replace")
    with contextlib.suppress(OSError), answer:  # closed by the model, or it has answered itself
        answer.write(said)
    os._exit(0)


def _watched() -> None:
    """Go on in a child; when it ends, or the judge asks for it, end all that it has started, which becomes this process's own."""
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    awaited = {signal.SIGTERM, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return
    os.close(1)  # the judge reads to the end
    while signal.sigwait(awaited) == signal.SIGCHLD and os.waitpid(child, os.WNOHANG) == (0, 0):
        pass
    with contextlib.suppress(OSError):  # none is left
        while True:
            for own in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
                os.kill(int(own), signal.SIGKILL)
            os.waitpid(-1, 0)
    os._exit(0)


def _follow() -> None:
    """End when the parent does, however it ends: its side of standard input is then closed."""
    sys.stdin.buffer.read()
    os._exit(1)
