"""The group of verbs; a verb is imported only when it is called or listed."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import click

from gcnlimit._version import __version__
from gcnlimit.errors import GCNLimitError

__all__ = ["app"]

VERBS = {
    "predict": "Exact performance of a network, beside the Bayes-optimal ceiling.",
    "bayes": "Bayes-optimal performance: the ceiling of every algorithm.",
    "sample": "Draw a graph with features and labels into a file.",
    "simulate": "Train a network on sampled graphs and measure it.",
    "tune": "The best network of a family.",
    "compare": "Every family of networks at its best, beside the ceilings.",
    "sweep": "Compute a grid written in a TOML file; interrupted, it resumes.",
    "figure": "Draw one figure, or list them.",
    "reproduce": "Regenerate every figure.",
}
"""Name and one-line help of each verb; ``NAME`` is the command in ``gcnlimit.cli.NAME``."""


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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        """Run, and report a bad parameter as click reports a bad option."""
        try:
            return super().main(args, *rest, **extra)
        except GCNLimitError as error:
            click.echo(f"Error: {error}", err=True)
            raise SystemExit(2) from None


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", prog_name="gcnlimit")
def app() -> None:
    """Exact limits of graph convolutional networks on the contextual stochastic block model.

    \b
    Example: how good is a two-layer network, and what is left to gain?
      gcnlimit predict --alpha 4 --lam 1 --mu 2 --rho 0.1 --c 1,1 --symmetrize
    """
