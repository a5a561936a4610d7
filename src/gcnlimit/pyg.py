"""The suite as data sets of PyTorch Geometric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gcnlimit._runtime.extras import need

need("gcnlimit.pyg", "pyg", "torch", "torch_geometric")

import torch  # noqa: E402
from torch_geometric.data import Data, InMemoryDataset  # noqa: E402
from torch_geometric.utils import from_scipy_sparse_matrix  # noqa: E402

from gcnlimit._validation import one_of, whole  # noqa: E402
from gcnlimit.benchmark.problems import SIZES, VERSION, Exact, as_problems  # noqa: E402

__all__ = ["CSBMBenchmark"]


class CSBMBenchmark(InMemoryDataset):  # type: ignore[misc]
    """Graphs of a problem of the suite, each with `x`, `edge_index`, `y`, `train_mask`, `val_mask` and `test_mask`.

    The exact accuracies in `exact` count the labels of training and validation nodes together.

    Parameters
    ----------
    root
        Folder in which the graphs are kept.
    name
        Name of the problem, such as ``"reference"`` (:func:`gcnlimit.benchmark.problems` lists them).
    size
        ``"small"``, ``"standard"`` or ``"large"``.
    graphs
        Number of graphs.
    transform, pre_transform
        As in PyTorch Geometric.
    """

    def __init__(  # noqa: PLR0917
        self,
        root: str,
        name: str,
        size: str = "standard",
        graphs: int = 5,
        transform: Callable[[Any], Any] | None = None,
        pre_transform: Callable[[Any], Any] | None = None,
    ) -> None:
        self.problem = as_problems(name)[0]
        one_of("size", size, *SIZES)
        self.size = size
        self.graphs = whole("graphs", graphs, low=1)
        super().__init__(root, transform, pre_transform)
        self.load(self.processed_paths[0])

    @property
    def exact(self) -> Exact:
        """Exact accuracies: features alone, best network of one filter, best known algorithm, best possible."""
        return self.problem.exact

    @property
    def processed_file_names(self) -> str:
        """File of the graphs."""
        return f"{self.problem.name}-{SIZES[self.size]}-{self.graphs}-v{VERSION}.pt"

    def process(self) -> None:
        """Draw the graphs."""
        change = self.pre_transform or (lambda graph_data: graph_data)
        graphs = [change(self._data(graph)) for graph in range(self.graphs)]
        self.save(graphs, self.processed_paths[0])

    def _data(self, graph: int) -> Data:
        task = self.problem.task(self.size, graph)
        names = ("train_mask", "val_mask", "test_mask")
        masks = {name: torch.from_numpy(getattr(task, name)) for name in names}
        return Data(
            x=torch.from_numpy(task.features),
            edge_index=from_scipy_sparse_matrix(task.adjacency.tocoo())[0],
            y=torch.from_numpy(self.problem.truth(self.size, graph)),
            **masks,
        )
