"""Does the model hold for my graph, and which network does it need?

Starts from a file: the graph is described, and each rule for choosing a network is judged by leave-one-out.

    python examples/does_the_model_hold.py examples/data/cora.npz
"""

import argparse
from pathlib import Path

import gcnlimit as gl


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=Path(__file__).parent / "data" / "texas.npz")
    parser.add_argument("--nodes", type=Path, help="table of nodes, if the file is a list of edges")
    parser.add_argument("--plot", type=Path, help="draw the spectrum to this file")
    given = parser.parse_args()

    data = gl.real.read(given.file, given.nodes)
    found = gl.describe(data.X, data.training(), data.graph)
    advice = gl.recommend(data.X, data.training(), data.graph)
    print(found)
    print()
    print(advice)
    if given.plot:
        found.plot().figure.savefig(given.plot)
    chosen = advice.chosen
    print(
        f"Conclusion: the model {'holds' if found.holds else 'does not hold'}; "
        f"{chosen.rule} takes {chosen.family} of strength {chosen.strength:.2f}."
    )


if __name__ == "__main__":
    main()
