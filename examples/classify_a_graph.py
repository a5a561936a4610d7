"""Does the graph help to classify its nodes?

The nodes of a graph in a file are classified with and without its edges; every choice is made on the labelled nodes.

    python examples/classify_a_graph.py examples/data/texas.npz
"""

import argparse
from pathlib import Path

import gcnlimit as gl


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "file", nargs="?", type=Path, default=Path(__file__).parent / "data" / "texas.npz"
    )
    parser.add_argument("--nodes", type=Path, help="table of nodes, if the file is a list of edges")
    parser.add_argument("--split", type=int, default=0, help="which split of the file to train on")
    given = parser.parse_args()

    data = gl.real.read(given.file, given.nodes)
    y, test = data.training(given.split), data.testing(given.split)
    model = gl.GraphClassifier().fit(data.X, y, graph=data.graph)
    single = gl.FilterClassifier().fit(data.X, y, graph=data.graph)
    alone = gl.FilterClassifier(strengths=0).fit(data.X, y, graph=data.graph)

    print(
        f"{model.labelled_.size} of {data.nodes} nodes are labelled, {model.classes_.size} classes"
    )
    print("                     leave-one-out   test")
    for name, one in (
        ("features alone", alone),
        ("one PageRank filter", single),
        ("GraphClassifier()", model),
    ):
        print(
            f"{name:20} {one.loo_score_:.3f} +- {one.loo_score_error_:.3f}  {one.score(y=test):.3f}"
        )
    if model.graph_gain_ is not None:
        gain, error = (100 * part for part in model.graph_gain_)
        verdict = "is used" if model.uses_graph_ else "is left out"
        print(
            f"Conclusion: the graph changes the accuracy by {gain:+.1f} +- {error:.1f} points and {verdict}."
        )


if __name__ == "__main__":
    main()
