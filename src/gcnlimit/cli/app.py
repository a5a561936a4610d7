"""The group of verbs; a verb is imported only when it is called or listed."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import click

from gcnlimit._version import __version__
from gcnlimit.errors import GCNLimitError

VERBS = {
    "predict": "Exact performance of a network, beside the Bayes-optimal ceiling.",
    "bayes": "Bayes-optimal performance: the ceiling of every algorithm.",
    "sample": "Draw a graph with features and labels into a file.",
    "simulate": "Train a network on sampled graphs and measure it.",
    "tune": "The best network of a family.",
    "compare": "Families of networks, filter and regularization tuned, beside the ceilings.",
    "classify": "Classify the nodes of your own graph.",
    "recommend": "Which network and which depth for your own graph, and what is left to gain.",
    "describe": "Describe your own graph, and whether the model holds for it.",
    "explore": "Open the explorer in the browser.",
    "benchmark": "Problems with exact ceilings, and reference methods on them.",
    "sweep": "Compute a grid written in a TOML file; interrupted, it resumes.",
    "figure": "Draw one figure, or list them.",
    "reproduce": "Regenerate every figure.",
}
"""Name and one-line help of each verb; ``NAME`` is the command in ``gcnlimit.cli.NAME``."""

_SPOKEN = [
    (r"; write \w+\([^)]*\)", ""),
    (r", or pass an? .*", ""),
    (r",? ?\(?gcnlimit\.limits [^);]*\)?", ""),
    (r"write (\w+)=\[([^\]]*)\] for one entry", r"write --\1 \2"),
    (r"[,;] (?:or )?pass throw=False.*", ""),
    (r"raise max_iterations or tol", "raise --max-iterations or --tol"),
    (r"\bnormalize=True\b", "--normalize"),
    (r"free=\{'(\w+)': \((\S+), (\S+)\)\}", r"--free \1=\2:\3"),
    (r"\bmath\.inf\b", "inf"),
    (r"\bstreamed=True\b", "--streamed"),
    (r"\bworkers=(\d+)", r"--workers \1"),
]
"""Advice that names Python, and how the command line says it."""


class Verbs(click.Group):
    """Group that imports a verb on demand and turns the library's errors into one sentence with exit status 2."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the verbs."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Verb of that name."""
        if cmd_name not in VERBS:
            return None
        command: click.Command = importlib.import_module(f"gcnlimit.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Verb and its arguments; an unknown one is answered with the nearest."""
        if args[0] not in VERBS and not args[0].startswith("-"):
            import difflib

            close = difflib.get_close_matches(args[0], VERBS, 1)
            ctx.fail(f"No such command {args[0]!r}.{f' Did you mean {close[0]!r}?' if close else ''}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run a verb: warnings are sentences, and Ctrl-C ends with exit status 130."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # numbers out of range are reported as such
                warnings.showwarning = _warn
                return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            click.echo("\n".join(getattr(stop, "__notes__", ["interrupted"])), err=True)
            raise SystemExit(130) from None

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        """Run, and report what is wrong in one sentence."""
        with _explained():
            try:
                return super().main(args, *rest, **extra)
            finally:
                if sys.stdout is not None:  # it is, where the caller has closed it
                    sys.stdout.flush()


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except GCNLimitError as error:
        raise _failure(spoken(str(error)), 2) from None
    except MemoryError:
        raise _failure("not enough memory; take fewer values or smaller graphs", 2) from None
    except (ArithmeticError, ValueError) as error:
        raise _failure(
            f"the computation failed ({type(error).__name__}: {error}); the values may be too extreme", 2
        ) from None
    except OSError as error:
        with contextlib.suppress(OSError, ValueError):  # what is left in the buffer has nowhere to go
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno == errno.EPIPE:
            raise SystemExit(1) from None
        raise _failure(f"cannot write the answer: {error.strerror or error}", 1) from None


def _failure(sentence: str, status: int) -> SystemExit:
    click.echo(f"Error: {' '.join(sentence.split())}", err=True)
    return SystemExit(status)


def spoken(sentence: str) -> str:
    """Sentence of the library as the command line says it.

    >>> spoken("reg = 0 is not allowed; it must be > 0 (math.inf is allowed)")
    'reg = 0 is not allowed; it must be > 0 (inf is allowed)'
    """
    for python, words in _SPOKEN:
        sentence = re.sub(python, words, sentence)
    return sentence


def _warn(message: Warning | str, *rest: Any, **extra: Any) -> None:
    click.echo(f"Warning: {message}", err=True)


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", prog_name="gcnlimit")
def app() -> None:
    """Exact limits of graph convolutional networks on the contextual stochastic block model.

    \b
    Example: how good is a two-layer network, and what is left to gain?
      gcnlimit predict --alpha 4 --lam 1 --mu 2 --rho 0.1 --c 1,1 --symmetrize

    \b
    Completion of verbs and options in bash (zsh and fish likewise):
      eval "$(_GCNLIMIT_COMPLETE=bash_source gcnlimit)"
    """
