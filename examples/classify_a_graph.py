"""Does the graph help to classify its nodes?

Starts from a file: nodes are classified with the graph and without it, and each choice is made on the labelled nodes.

    python examples/classify_a_graph.py examples/data/texas.npz
"""

import argparse
from pathlib import Path

import gcnlimit as gl


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=Path(__file__).parent / "data" / "texas.npz")
    parser.add_argument("--nodes", type=Path, help="table of nodes, if the file is a list of edges")
    parser.add_argument("--split", type=int, default=0, help="which split of the file to train on")
    given = parser.parse_args()

    data = gl.real.read(given.file, given.nodes)
    y, test = data.training(given.split), data.testing(given.split)
    both = gl.GraphClassifier().fit(data.X, y, graph=data.graph)
    alone = gl.GraphClassifier(strengths=[0.0], hops=0).fit(data.X, y, graph=data.graph)

    print(f"{both.labelled_.size} of {data.nodes} nodes are labelled, {both.classes_.size} classes")
    print("                left out          test")
    for name, model in (("features alone", alone), ("with the graph", both)):
        print(f"{name}  {model.loo_score_:.3f} +- {model.loo_score_error_:.3f}  {model.score(y=test):.3f}")
    if both.family_ == "no graph":
        print("Conclusion: the graph does not help.")
    else:
        kind = "unlike" if both.strength_ < 0 else "like"
        print(
            f"Conclusion: the graph helps; neighbours are {kind} each other ({both.family_}, strength {both.strength_:.2f})."
        )


if __name__ == "__main__":
    main()
