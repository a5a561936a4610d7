"""The group of verbs; a verb is imported only when it is called or listed."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import click

from gcnlimit._values import printable
from gcnlimit._version import __version__
from gcnlimit.cli import interruptible
from gcnlimit.errors import GCNLimitError
from gcnlimit.parameters import suggestion

VERBS = {
    "predict": "Exact performance of a network, and the Bayes-optimal ceiling.",
    "bayes": "Bayes-optimal performance: the ceiling of every algorithm.",
    "sample": "Draw a graph with features and labels into a file.",
    "simulate": "Train a network on sampled graphs and measure it.",
    "tune": "The best network of a family.",
    "compare": "Families of networks, each tuned, and the ceilings.",
    "classify": "Classify the nodes of your own graph.",
    "recommend": "Which network and which depth for your own graph, and what is left to gain.",
    "describe": "Describe your own graph, and whether the model holds for it.",
    "explore": "Open the explorer in the browser.",
    "benchmark": "Benchmark problems with exact ceilings, and reference methods.",
    "sweep": "Compute a grid described in a TOML file; an interrupted one resumes.",
    "figure": "Draw one figure, or list them.",
    "reproduce": "Regenerate every figure.",
}
"""Name and one-line help of each verb; ``NAME`` is the command in ``gcnlimit.cli.NAME``."""

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Failure(click.ClickException):
    """An error of the library: one sentence on standard error, and exit status 2."""

    exit_code = 2


class Verbs(click.Group):
    """Group that imports a verb on demand; only errors that the library raises on purpose become a sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the verbs."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Verb of that name."""
        if cmd_name not in VERBS:
            return None
        command: click.Command = importlib.import_module(f"gcnlimit.cli.{cmd_name}").command
        interruptible()
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Verb and its arguments; an unknown one is answered with the nearest."""
        if args[0] not in VERBS and not args[0].startswith("-"):
            near = suggestion(args[0], VERBS).capitalize()
            ctx.fail(f"No such command {args[0]!r}. {near}".strip())
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run a verb: errors and warnings are sentences, and Ctrl-C ends with exit status 130."""
        try:
            with warnings.catch_warnings():
                # numbers out of range are reported as such
                warnings.simplefilter("ignore", RuntimeWarning)
                warnings.showwarning = lambda message, *_, **__: click.echo(
                    f"Warning: {message}", err=True
                )
                return super().invoke(ctx)
        except GCNLimitError as error:
            raise Failure("\n".join(map(printable, str(error).splitlines()))) from None
        except MemoryError:
            raise Failure("not enough memory; take fewer values or smaller graphs") from None
        except KeyboardInterrupt as stop:
            click.echo("\n".join(getattr(stop, "__notes__", ["interrupted"])), err=True)
            raise SystemExit(130) from None


@click.group(cls=Verbs, context_settings=_CONTEXT)
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
