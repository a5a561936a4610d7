"""Your own graph: read it, classify its nodes, estimate the model it resembles, recommend a network, describe it."""

from gcnlimit.estimated import EstimatedCSBM
from gcnlimit.graphs.dataset import Dataset
from gcnlimit.graphs.packages import from_networkx, from_pyg, to_networkx, to_pyg
from gcnlimit.graphs.tables import from_edges
from gcnlimit.real.describe import Description
from gcnlimit.real.estimate import Estimate
from gcnlimit.real.files import read, write
from gcnlimit.real.recommend import Recommendation
from gcnlimit.real.scores import Interval, Search, Trial

__all__ = [
    "Dataset",
    "Description",
    "Estimate",
    "EstimatedCSBM",
    "Interval",
    "Recommendation",
    "Search",
    "Trial",
    "from_edges",
    "from_networkx",
    "from_pyg",
    "read",
    "to_networkx",
    "to_pyg",
    "write",
]
