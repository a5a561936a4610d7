r"""The filters: every network of this library is a scalar function :math:`g` of the graph operator :math:`a`.

A filter gives its function, the chain of layers that computes it (Eq. 2.2), and its action on an operator.
"""

from gcnlimit.filters.base import Chain, Filter
from gcnlimit.filters.diffusion import Diffusion
from gcnlimit.filters.pagerank import PageRank
from gcnlimit.filters.polynomial import Polynomial
from gcnlimit.filters.residual import Residual
from gcnlimit.filters.search_scale import Scale

__all__ = ["Chain", "Diffusion", "Filter", "PageRank", "Polynomial", "Residual", "Scale"]
