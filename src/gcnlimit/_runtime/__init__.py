"""What every room needs of the machine: threads, processes, progress bars, memory, optional packages."""

import _signal  # type: ignore[import-not-found]  # of which signal is made, sooner
import os
import sys

# The command line comes by here before all other code of this package, and Ctrl-C ends it without
# a traceback from here on.
# Before runpy has found the module of ``python -m``, sys.argv does not name it.
_program = os.path.basename("".join(sys.orig_argv[-len(sys.argv) :][:1])).removesuffix(".exe")
if _program in ("gcnlimit", "-mgcnlimit") and (
    _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler
):
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
