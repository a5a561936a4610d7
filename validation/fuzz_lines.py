"""Command lines of words that are somewhere allowed: exit status 0, 1 or 2, and no other exception."""

from __future__ import annotations

import json
from pathlib import Path

import click
from click.testing import CliRunner

from gcnlimit.cli.app import VERBS, app
from validation.nonsense import EDGES, GRAPH, NODES, SIGNALS, Finding, Generator, Slow

TRIED = [verb for verb in VERBS if verb != "explore"]
OPTIONS = sorted(
    option
    for option in {
        name
        for verb in TRIED
        for parameter in app.get_command(click.Context(app), verb).params
        for name in parameter.opts
    }
    if option.startswith("-")
)
NUMBERS = ["-1", "0", "1", "2", "0.5", "1e300", "1e-300", "nan", "inf", "1,2,3"]
RANGES = ["0:2:3", "0:2:0", "1:2:3:log", "::", "a:b:c", "t=0:2", "reg=1:2:log"]
FILES = ["graph.npz", "edges.csv", "nodes.csv", "nowhere.csv", "broken.npz", "/", "."]
WORDS = ["x", "é", "--", "-", "square", "softmax", "gamma", "", "\0", "x" * 300]


def try_line(rng: Generator, folder: Path) -> str:
    """Run a command line of words that are somewhere allowed."""
    _prepare(folder)
    verb = str(rng.choice(TRIED))
    line = [verb]
    if verb in ("predict", "bayes", "sample", "simulate", "tune") and rng.random() < 0.8:
        line += [f"--{name}={value}" for name, value in SIGNALS.items()]
        line += {"sample": ["--out=g.npz"], "tune": ["--free=t=0:2"]}.get(
            verb, [] if verb == "bayes" else ["--t=1"]
        )
        line += ["--nodes=40", "--degree=8"] if verb in ("sample", "simulate") else []
    elif verb in ("classify", "recommend", "describe"):
        line += [str(rng.choice(["graph.npz", "edges.csv", "broken.npz"]))] + [
            "--nodes=nodes.csv"
        ] * int(rng.integers(2))
    for _ in range(rng.integers(1, 4)):
        name = str(rng.choice(OPTIONS))
        value = str(rng.choice([*NUMBERS, *RANGES, *FILES, *WORDS]))
        line += [[name], [name, value], [f"{name}={value}"], [value]][rng.integers(4)]
    done = CliRunner().invoke(app, line)
    raised = done.exception
    if (raised is not None and not isinstance(raised, SystemExit)) or done.exit_code not in (
        0,
        1,
        2,
    ):
        if isinstance(raised, Slow):
            raise raised
        raise Finding(f"gcnlimit {json.dumps(line)}: {raised!r}")
    if "Traceback" in done.output:
        raise Finding(f"gcnlimit {json.dumps(line)}: a traceback")
    return verb


def _prepare(folder: Path) -> None:
    """Files that command lines may name."""
    GRAPH.save(folder / "graph.npz")
    (folder / "broken.npz").write_bytes(b"PK")
    (folder / "edges.csv").write_text(EDGES)
    (folder / "nodes.csv").write_text(NODES)
