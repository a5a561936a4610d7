"""The study: popular graph networks and reference methods on the suite, all with the same budget of tuning.

    python -m benchmarks.gnn.study --size small --problems reference heterophily --out study    # minutes, on a processor
    python -m benchmarks.gnn.study --device cuda --workers 17 --out study                       # the table of the page

Eight settings of each network (two structures, two learning rates, two weight decays) are tried on the first graph of a
problem; that of the best accuracy on the validation nodes is trained on the training nodes of each graph, and taken at its best
epoch on the validation nodes. Everything finished is kept in the folder --out, and the same command resumes.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from benchmarks.gnn.solved import solved_sgc
from gcnlimit._runtime.extras import need
from gcnlimit._runtime.processes import run
from gcnlimit.benchmark.evaluate import Model, evaluate
from gcnlimit.benchmark.methods import METHODS, message_passing_network
from gcnlimit.benchmark.problems import SIZES, Problem, as_problems, problems
from gcnlimit.benchmark.scores import Scores, merge
from gcnlimit.benchmark.task import Task
from gcnlimit.errors import GCNLimitError

OWN = "message-passing-network"
PROCESSOR: dict[str, Model] = {
    **{name: METHODS[name] for name in METHODS if name != OWN},
    "SGC, solved": solved_sgc,
}
ABLATIONS: dict[str, dict[str, Any]] = {
    f"{OWN}, no memory": {"memory": "none"},
    f"{OWN}, exact memory": {"memory": "exact"},
    f"{OWN}, two numbers": {"memory": "matched"},
    f"{OWN}, reverse messages": {"edgewise": True},
    f"{OWN}, untied layers": {"tied": False},
    f"{OWN}, labels in the first layer only": {"clamp": False},
    f"{OWN}, 2 layers": {"layers": 2},
    f"{OWN}, 5 layers": {"layers": 5},
    f"{OWN}, 30 layers": {"layers": 30},
}


def main(arguments: list[str] | None = None) -> None:
    """Run the study and print the table."""
    need("the study", "nn", "torch")
    given = _parsed(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    chosen = as_problems(given.problems) if given.problems else (*problems(), *problems(aside=True))
    known = merge([Scores.load(file) for file in given.known])
    left = [problem.name for problem in chosen if _missing(problem.name, known, given)]
    tasks = [partial(study_problem, name, known, given) for name in left]
    scores = merge(
        [
            known,
            *(part for part in (run(tasks, given.workers) if tasks else []) if part is not None),
        ]
    )
    scores.save(given.out / "scores.json")
    print(scores)


class Kept(Problem):
    """A problem whose tasks are drawn once for all methods."""

    def task(self, size: str = "standard", graph: int = 0, *, seed: int | None = None) -> Task:
        """Task on the graph of that number."""
        return _task(self.name, size, graph, seed)


@lru_cache(maxsize=5)
def _task(name: str, size: str, graph: int, seed: int | None) -> Task:
    return as_problems(name)[0].task(size, graph, seed=seed)


def study_problem(name: str, known: Scores, given: argparse.Namespace) -> Scores:
    """Every method on one problem; what is known is not computed again."""
    problem = Kept(**_fields(as_problems(name)[0]))
    found = [Scores(tuple(run for run in known.runs if run.problem == name))]
    options = {
        "size": given.size,
        "graphs": given.graphs,
        "store": given.out / "store.sqlite",
        "progress": False,
    }
    for method in _missing(name, known, given):
        try:
            found.append(evaluate(_model(problem, method, given), problem, name=method, **options))
            merge(found).save(given.out / f"scores-{name}.json")
            print(f"{name}: {method}", flush=True)
        except (GCNLimitError, RuntimeError) as error:
            print(f"{name}: {method}: {error}", flush=True)
    return merge(found)


def _missing(problem: str, known: Scores, given: argparse.Namespace) -> list[str]:
    """Methods that are to be run on a problem: without a result on its last graph."""
    here = [
        run for run in known.runs if (run.problem, run.size, run.error) == (problem, given.size, "")
    ]
    done = {run.method for run in here if run.graph == given.graphs - 1}
    return [name for name in _names(given) if name not in done]


def _fields(problem: Problem) -> dict[str, Any]:
    return {name: getattr(problem, name) for name in Problem.__dataclass_fields__}


def _names(given: argparse.Namespace) -> list[str]:
    """Methods by name; the names of the groups stand for their members."""
    from benchmarks.gnn.networks import NETWORKS

    groups = {
        "reference-methods": list(PROCESSOR),
        "networks": list(NETWORKS),
        "ablations": list(ABLATIONS),
    }
    every = [OWN, *(name for group in groups.values() for name in group)]
    chosen = [
        name
        for one in given.methods or [OWN, "reference-methods", "networks"]
        for name in groups.get(one, [one])
    ]
    unknown = [name for name in chosen if name not in every]
    if unknown:
        raise GCNLimitError(
            f"method = {unknown[0]!r} is unknown; choose among {', '.join([*groups, *every])}"
        )
    return chosen


def _model(problem: Problem, name: str, given: argparse.Namespace) -> Model:
    """Model of that name, tuned if it has to be."""
    import torch

    torch.set_num_threads(1)
    if name == OWN:
        return partial(message_passing_network, device=given.device)
    if name in ABLATIONS:
        return partial(_ablated, device=given.device, **ABLATIONS[name])
    if name in PROCESSOR:
        return PROCESSOR[name]
    setting = _setting(problem, name, given)
    return partial(_network, name=name, setting=setting, epochs=given.epochs, device=given.device)


def _setting(problem: Problem, name: str, given: argparse.Namespace) -> dict[str, Any]:
    """Setting that was tuned, now or before."""
    from benchmarks.gnn.train_network import tune_network

    file = given.out / f"settings-{problem.name}.json"
    known: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    if name not in known:
        known[name] = asdict(
            tune_network(problem.task(given.size, 0), name, given.epochs, given.device)
        )
        file.write_text(json.dumps(known, indent=1) + "\n")
    chosen: dict[str, Any] = known[name]
    return chosen


def _network(task: Task, *, name: str, setting: dict[str, Any], epochs: int, device: str) -> Any:
    from benchmarks.gnn.networks import Setting
    from benchmarks.gnn.train_network import fit_network

    return fit_network(task, name, Setting(**setting), epochs, device)


def _ablated(task: Task, *, device: str, edgewise: bool = False, **options: Any) -> Any:
    """Logits of the network with parts of it changed, on problems of one graph, equal classes and no hubs."""
    import torch

    from benchmarks.gnn.ablations import Ablated, Edgewise
    from gcnlimit.nn import from_graph, train

    network = (Edgewise if edgewise else Ablated)(task.classes, **options).to(device)
    x, y = (torch.from_numpy(part).to(device) for part in (task.features, task.labels))
    S = from_graph(task.adjacency).to(device)
    train(network, x, S, y, seed=task.seed)
    with torch.no_grad():
        return network(x, S, y, y >= 0).cpu().numpy()


def _parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cpu", help="device of PyTorch")
    parser.add_argument("--size", default="standard", choices=list(SIZES))
    parser.add_argument(
        "--problems", nargs="+", help="by default the suite and the problems kept aside"
    )
    parser.add_argument(
        "--methods", nargs="+", help="names, or reference-methods, networks, ablations"
    )
    parser.add_argument("--graphs", type=int, default=5, help="graphs of each problem")
    parser.add_argument("--epochs", type=int, default=200, help="most epochs of training")
    parser.add_argument("--workers", type=int, default=1, help="processes, a problem each")
    parser.add_argument(
        "--known", nargs="+", type=Path, default=[], help="results that are not computed again"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
