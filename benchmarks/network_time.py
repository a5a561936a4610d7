"""Time of the message-passing network on a large graph: training on the labelled nodes, then all nodes classified.

python -m benchmarks.network_time --device cuda --out FILE.json
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch

import gcnlimit as gl
from gcnlimit.nn import MessagePassing, from_graph, train


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cpu", help="device of PyTorch")
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=1000)
    parser.add_argument(
        "--threads", type=int, default=torch.get_num_threads(), help="of a processor"
    )
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    data = gl.CSBM(
        alpha=given.nodes / given.features, lam=1.0, mu=0.2 * given.nodes / given.features, rho=0.05
    )
    instance = gl.sample(data, nodes=given.nodes, degree=30, seed=0, dtype=np.float32)
    machine = (
        torch.cuda.get_device_name()
        if given.device == "cuda"
        else f"processor, threads: {given.threads}"
    )
    size = {"machine": machine, "nodes": given.nodes, "features": given.features}
    given.out.write_text(json.dumps(size | measured(data, instance, given.device), indent=1) + "\n")
    print(given.out.read_text())


def measured(data: gl.CSBM, instance: gl.Instance, device: str) -> dict[str, float]:
    """Seconds of each step, and the accuracy beside the best possible."""
    truth = (instance.labels > 0).astype(int)
    x = torch.from_numpy(np.asarray(instance.features)).to(device)
    y = torch.from_numpy(np.where(instance.train_mask, truth, -1)).to(device)
    network = MessagePassing(2).to(device)
    start = time.perf_counter()
    S = from_graph(instance.adjacency).to(device)
    built = time.perf_counter()
    train(network, x, S, y)
    trained = time.perf_counter()
    with torch.no_grad():
        found = network(x, S, y, y >= 0).argmax(1).cpu().numpy()
    done = time.perf_counter()
    seconds = {"operator": built - start, "training": trained - built, "prediction": done - trained}
    accuracy = float(np.mean((found == truth)[~instance.train_mask]))
    return seconds | {"accuracy": accuracy, "exact": float(gl.bayes_optimal(data).test_accuracy)}


if __name__ == "__main__":
    main()
