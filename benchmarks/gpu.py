"""A million nodes on one graphics card: ``PYTHONPATH=src python -m benchmarks.gpu --out FOLDER [PART ...]``.

Needs PyTorch with CUDA. Prints each measurement when it is done and writes ``FOLDER/gpu-NAME.json`` and ``FOLDER/gpu-NAME.md``,
named by the card. Parts: infinite, products, tiles, ridge, logistic, amp, degree, repeat, trials.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import re
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

import gcnlimit as gl
from gcnlimit.simulation.backend import backend_of

DATA = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
DEGREE = 30
TIMES = [1.0, 1.488, 2.0]
Row = dict[str, Any]


class Bench:
    """Device and size of the measurements."""

    def __init__(self, device: str, nodes: int) -> None:
        self.device, self.nodes = device, nodes
        self.cuda = device.startswith("cuda")

    def timed(self, function: Callable[[], Any]) -> tuple[float, float, Any]:
        """Seconds, peak memory of the card in GiB, and the answer."""
        gc.collect()
        self._wait()
        if self.cuda:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        start = time.perf_counter()
        answer = function()
        self._wait()
        peak = torch.cuda.max_memory_reserved() / 2**30 if self.cuda else math.nan
        return time.perf_counter() - start, peak, answer

    def _wait(self) -> None:
        if self.cuda:
            torch.cuda.synchronize()

    def sample(self, seed: int, degree: float = DEGREE, nodes: int | None = None) -> gl.Instance:
        """One graph with streamed features."""
        return gl.sample(DATA, nodes or self.nodes, degree, seed, device=self.device)

    def tiles(self) -> Iterator[Row]:
        """Normals a second, drawn alone, and multiplied both ways by one and by three columns, against the width of a tile."""
        backend: Any = backend_of(self.device)
        for width in (256, 512, 1024):
            noise = torch.randn((width, self.nodes), device=backend.device)
            repeat = max(1, 4096 // width) if self.cuda else 1

            def rate(
                function: Callable[[], Any], noise: Any = noise, repeat: int = repeat
            ) -> float:
                function()
                seconds, _, _ = self.timed(lambda: [function() for _ in range(repeat)][-1])
                return float(repeat * noise.numel() / seconds)

            generator = torch.Generator(backend.device)
            rates = {
                "drawn": rate(lambda n=noise, g=generator: n.normal_(generator=g.manual_seed(1)))
            }
            for columns in (1, 3, 4):
                block = backend.place(np.ones((self.nodes, columns), np.float32))
                across, weights = (
                    block.T.contiguous(),
                    torch.ones((width, columns), device=backend.device),
                )
                rates |= {
                    f"noise @ block, {columns}": rate(lambda n=noise, x=block: n @ x),
                    f"block.T @ noise.T, {columns}": rate(lambda n=noise, x=across: x @ n.T),
                    f"weights.T @ noise, {columns}": rate(lambda n=noise, w=weights: w.T @ n),
                    f"noise.T @ weights, {columns}": rate(lambda n=noise, w=weights: n.T @ w),
                }
            yield {
                "what": f"tile of {width}",
                "normals_per_s": {k: f"{v:.3g}" for k, v in rates.items()},
            }

    def products(self) -> Iterator[Row]:
        """Products with the symmetrized graph: ours, and that of PyTorch's CSR tensors."""
        operator = self.sample(seed=4).observation.operator(True, self.device)
        S = operator.matrix
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            csr = torch.sparse_csr_tensor(
                S.starts, S.columns, S.values.expand(len(S.columns)).clone(), size=S.shape
            )
        for columns in (1, 3):
            block = torch.randn((self.nodes, columns), device=S.values.device)
            for name, matrix in (("sums of rows", S), ("CSR tensor", csr)):
                answers = [matrix @ block for _ in range(3)]
                seconds, peak, _ = self.timed(
                    lambda m=matrix, x=block: [m @ x for _ in range(20)][-1]
                )
                same = all(bool((answers[0] == other).all()) for other in answers[1:])
                yield {
                    "what": f"{name}, {columns} columns",
                    "seconds": seconds / 20,
                    "peak_gib": peak,
                    "bit_identical": same,
                    "apart": float((answers[0] - S @ block).abs().max()),
                }

    def infinite(self) -> Iterator[Row]:
        """Whole runs, graph and all, with three filters at once, at infinite regularization."""
        gcn = gl.GCN(gl.Diffusion(TIMES))
        exact = gl.predict(DATA, gcn).test_accuracy
        for seed, what in enumerate(("first call", "second call", "third call")):
            drawn_s, drawn_gib, instance = self.timed(lambda s=seed: self.sample(s))
            operator_s, operator_gib, _ = self.timed(
                lambda i=instance: i.observation.operator(True, self.device).radius
            )
            fit_s, fit_gib, found = self.timed(lambda i=instance: gl.fit(i, gcn))
            yield {
                "what": f"reg = inf, three filters, {what}",
                "seconds": drawn_s + operator_s + fit_s,
                "of_it": {"sample": drawn_s, "operator": operator_s, "fit": fit_s},
                "peak_gib": max(drawn_gib, operator_gib, fit_gib),
                "accuracy": found.performance.test_accuracy.tolist(),
                "exact": exact.tolist(),
                "normals_per_s": self.nodes**2 / 4 / fit_s,
            }

    def finite(self, loss: str) -> Iterator[Row]:
        """One network at reg = 1."""
        gcn = gl.GCN(gl.Diffusion(1.488), loss, reg=1.0)
        instance = self.sample(seed=1)
        seconds, peak, found = self.timed(lambda: gl.fit(instance, gcn))
        passes = gl.predict(DATA, gcn)
        yield {
            "what": f"{loss}, reg = 1",
            "seconds": seconds,
            "peak_gib": peak,
            "accuracy": found.performance.test_accuracy,
            "exact": passes.test_accuracy,
            "train_loss": [found.performance.train_loss, passes.train_loss],
            "gap": float(found.gap),
        }

    def ridge(self) -> Iterator[Row]:
        """Square loss."""
        return self.finite("square")

    def logistic(self) -> Iterator[Row]:
        """Logistic loss."""
        return self.finite("logistic")

    def amp(self) -> Iterator[Row]:
        """Message passing against the ceiling, in standard errors of the test nodes."""
        instance, best = self.sample(seed=2), gl.bayes_optimal(DATA).test_accuracy
        seconds, peak, found = self.timed(lambda: gl.amp(instance, tol=1e-4))
        error = math.sqrt(best * (1 - best) / (0.9 * self.nodes))
        yield {
            "what": "amp, tol = 1e-4",
            "seconds": seconds,
            "peak_gib": peak,
            "iterations": found.iterations,
            "accuracy": found.performance.test_accuracy,
            "exact": best,
            "standard_errors": (found.performance.test_accuracy - best) / error,
        }

    def degree(self) -> Iterator[Row]:
        """Accuracy minus prediction at degrees 10, 30, 100, over five graphs each."""
        networks = {
            "two layers, c = 1": gl.GCN(gl.Residual([1.0, 1.0])),
            "diffusion, t = 1.488": gl.GCN(gl.Diffusion(1.488)),
            "PageRank, theta = 0.411": gl.GCN(gl.PageRank(0.411)),
        }
        for degree in (10, 30, 100):
            found: dict[str, list[float]] = {name: [] for name in networks}
            start = time.perf_counter()
            for seed in range(5):
                instance = self.sample(seed, degree)
                for name, gcn in networks.items():
                    found[name].append(float(gl.fit(instance, gcn).performance.test_accuracy))
            for name, gcn in networks.items():
                exact = gl.predict(DATA, gcn).test_accuracy
                mean, error = np.mean(found[name]), np.std(found[name], ddof=1) / math.sqrt(5)
                yield {
                    "what": f"degree {degree}, {name}",
                    "accuracy": float(mean),
                    "standard_error": float(error),
                    "exact": float(exact),
                    "deviation": float(mean - exact),
                }
            yield {"what": f"degree {degree}, all", "seconds": time.perf_counter() - start}

    def repeat(self) -> Iterator[Row]:
        """Whether the same seed gives the same numbers, to the last bit."""
        nodes, gcn = min(self.nodes, 100_000), gl.GCN(gl.Diffusion(TIMES))
        runs = [gl.fit(self.sample(3, nodes=nodes), gcn) for _ in range(3)]
        same = [bool(np.array_equal(runs[0].outputs, run.outputs)) for run in runs[1:]]
        scale = float(np.abs(runs[0].outputs).max())
        apart = max(float(np.abs(runs[0].outputs - run.outputs).max()) for run in runs[1:]) / scale
        yield {
            "what": f"{nodes} nodes three times",
            "bit_identical": same,
            "largest_relative_difference": apart,
        }

    def trials(self) -> Iterator[Row]:
        """Many trials of smaller graphs, in one process and in several that share the card."""
        gcn = gl.GCN(gl.Diffusion(TIMES))
        for nodes, trials in ((min(self.nodes, 10_000), 128), (min(self.nodes, 100_000), 64)):
            for workers in (1, 4):
                seconds, peak, found = self.timed(
                    lambda n=nodes, t=trials, w=workers: gl.simulate(
                        DATA, gcn, n, DEGREE, t, workers=w, device=self.device
                    )
                )
                yield {
                    "what": f"{trials} trials of {nodes} nodes, workers = {workers}",
                    "seconds": seconds,
                    "peak_gib": peak,
                    "accuracy": found.test_accuracy.tolist(),
                }


PARTS = ("infinite", "products", "tiles", "ridge", "logistic", "amp", "repeat", "trials", "degree")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument(
        "parts", nargs="*", default=PARTS, metavar="PART", help=f"some of {', '.join(PARTS)}"
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--nodes", type=int, default=1_000_000)
    asked = parser.parse_args()
    bench, name = Bench(asked.device, asked.nodes), "cpu"
    if bench.cuda:
        name = torch.cuda.get_device_name()
    machine = f"{name}, PyTorch {torch.__version__}; {asked.nodes} nodes, alpha = 4, degree {DEGREE}, float32"
    rows: list[Row] = []
    print(machine, flush=True)
    for part in asked.parts:
        start = time.perf_counter()
        try:
            for row in getattr(bench, part)():
                rows.append({"part": part} | row)
                print(part, json.dumps(row), flush=True)
        except Exception as error:
            traceback.print_exc()
            rows.append({"part": part, "what": "failed", "error": str(error)})
        print(f"part {part}: {time.perf_counter() - start:.1f} s", flush=True)
        write(asked.out, name, machine, rows)


def write(folder: Path, name: str, machine: str, rows: list[Row]) -> None:
    """The rows as JSON and as a table."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = "gpu-" + re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    (folder / f"{stem}.json").write_text(
        json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n"
    )
    lines = ["| part | what | seconds | GiB | result |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        rest = {k: v for k, v in row.items() if k not in ("part", "what", "seconds", "peak_gib")}
        result = "; ".join(f"{k.replace('_', ' ')} {_short(v)}" for k, v in rest.items())
        lines.append(
            f"| {row['part']} | {row['what']} | {_short(row.get('seconds', ''))} | {_short(row.get('peak_gib', ''))} | {result} |"
        )
    (folder / f"{stem}.md").write_text(
        f"# {machine}\n\n`python -m benchmarks.gpu`\n\n" + "\n".join(lines) + "\n"
    )


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {_short(v)}" for k, v in value.items())
    if isinstance(value, list):
        return ", ".join(map(_short, value))
    return f"{value:.5g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
