"""The study: popular graph networks and reference methods on the suite, all with the same budget of tuning.

    python -m gcnlimit.benchmark.study --size small --out study          # on a processor, an hour or two
    python -m gcnlimit.benchmark.study --device cuda --workers 16 --out study

Four settings of each network (two structures, two weight decays) are tried on the first graph of a problem; that of the best
accuracy on the validation nodes is trained on the training nodes of each graph, and taken at its best epoch on the validation
nodes. Everything finished is kept in the folder --out, and the same command resumes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from gcnlimit._extras import need
from gcnlimit._processes import run
from gcnlimit.benchmark.evaluate import Model, evaluate
from gcnlimit.benchmark.methods import METHODS
from gcnlimit.benchmark.problems import SIZES, as_problems, problems
from gcnlimit.benchmark.scores import Scores, merge
from gcnlimit.errors import GCNLimitError

__all__ = ["main"]

OWN = "message-passing network"
ABLATIONS: dict[str, dict[str, Any]] = {
    f"{OWN}, no memory": {"memory": "none"},
    f"{OWN}, exact memory": {"memory": "exact"},
    f"{OWN}, untied layers": {"tied": False},
    f"{OWN}, labels in the first layer only": {"clamp": False},
    f"{OWN}, linear": {"nonlinear": False},
    f"{OWN}, 5 layers": {"layers": 5},
}


def main(arguments: list[str] | None = None) -> None:
    """Run the study and print the table."""
    need("the study", "pyg", "torch", "torch_geometric")
    given = _parsed(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    chosen = as_problems(given.problems) if given.problems else (*problems(), *problems(aside=True))
    tasks = [partial(study_problem, problem.name, given) for problem in chosen]
    scores = merge([part for part in run(tasks, given.workers) if part is not None])
    scores.save(given.out / "scores.json")
    scores.save(given.out / "scores.csv")
    print(scores)


def study_problem(problem: str, given: argparse.Namespace) -> Scores:
    """Every method on one problem."""
    found: list[Scores] = []
    options = {"size": given.size, "graphs": given.graphs, "store": given.out / "store.sqlite"}
    try:
        for name, model in _models(problem, given):
            found.append(evaluate(model, problem, name=name, **options))
            merge(found).save(given.out / f"scores-{problem}.json")
    except GCNLimitError as error:
        print(f"{problem}: {error}", flush=True)
    return merge(found)


def _models(problem: str, given: argparse.Namespace) -> Iterator[tuple[str, Model]]:
    """Models by name, those to be tuned as soon as they are."""
    import torch

    from gcnlimit.benchmark.networks import NETWORKS

    torch.set_num_threads(1)
    names = given.methods or [*METHODS, OWN, *NETWORKS, *ABLATIONS]
    for name in names:
        if name in METHODS and not _too_slow(name, problem, given.size):
            yield name, METHODS[name]
        elif name == OWN or name in ABLATIONS:
            yield name, partial(_own_network, device=given.device, options=ABLATIONS.get(name, {}))
        elif name in NETWORKS:
            yield name, partial(_network, name=name, setting=_setting(problem, name, given), device=given.device)


def _too_slow(name: str, problem: str, size: str) -> bool:
    """Whether a reference method takes minutes for each graph."""
    many = len(as_problems(problem)[0].data.fractions) > 2
    return size != "small" and (name == "linear-by-leave-one-out" or (name == "belief-propagation" and many))


def _setting(problem: str, name: str, given: argparse.Namespace) -> dict[str, Any]:
    """Setting that was tuned, now or before."""
    from gcnlimit.benchmark.networks import tune_network

    file = given.out / f"settings-{problem}.json"
    known: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    if name not in known:
        task = as_problems(problem)[0].task(given.size, 0)
        known[name] = asdict(tune_network(task, name, given.epochs, given.device))
        file.write_text(json.dumps(known, indent=1) + "\n")
    chosen: dict[str, Any] = known[name]
    return chosen


def _network(task: Any, *, name: str, setting: dict[str, Any], device: str) -> Any:
    from gcnlimit.benchmark.networks import Setting, fit_network

    return fit_network(task, name, Setting(**setting), device)


def _own_network(task: Any, *, device: str, options: dict[str, Any]) -> Any:
    from gcnlimit.nn import message_passing_scores

    given = (task.features, task.adjacency, task.labels)
    return message_passing_scores(*given, seed=task.seed, device=device, **options)


def _parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", help="device of PyTorch")
    parser.add_argument("--size", default="standard", choices=list(SIZES))
    parser.add_argument("--problems", nargs="+", help="by default the suite and the problems kept aside")
    parser.add_argument("--methods", nargs="+", help="by default all")
    parser.add_argument("--graphs", type=int, default=5, help="graphs of each problem")
    parser.add_argument("--epochs", type=int, default=150, help="most epochs of training")
    parser.add_argument("--workers", type=int, default=1, help="processes, a problem each")
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
