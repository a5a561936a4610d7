"""Your own graph: read it, classify its nodes, estimate the model it resembles, recommend a network, describe it.

>>> from gcnlimit import real
>>> real.from_edges([[0, 1], [1, 2]]).nnz
2
"""

from gcnlimit.estimated import EstimatedCSBM
from gcnlimit.real.dataset import Dataset
from gcnlimit.real.describe import Description
from gcnlimit.real.estimate import Estimate, Interval
from gcnlimit.real.packages import from_networkx, from_pyg, to_networkx, to_pyg
from gcnlimit.real.recommend import Recommendation
from gcnlimit.real.tables import from_edges
from gcnlimit.real.ways import read, write

__all__ = [
    "Dataset",
    "Description",
    "Estimate",
    "EstimatedCSBM",
    "Interval",
    "Recommendation",
    "from_edges",
    "from_networkx",
    "from_pyg",
    "read",
    "to_networkx",
    "to_pyg",
    "write",
]
