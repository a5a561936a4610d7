"""A network that closes the gap: message passing unrolled, with five trained numbers (needs PyTorch)."""

from gcnlimit._runtime.extras import need

need("gcnlimit.nn", "nn", "torch", "sklearn")

from gcnlimit.nn.classifier import MessagePassingClassifier  # noqa: E402
from gcnlimit.nn.fit import message_passing_scores  # noqa: E402
from gcnlimit.nn.network import MessagePassing  # noqa: E402
from gcnlimit.nn.operators import SymmetricOperator, from_edge_index, from_graph  # noqa: E402
from gcnlimit.nn.train import train  # noqa: E402

__all__ = ["MessagePassing", "MessagePassingClassifier", "SymmetricOperator", "from_edge_index"]
__all__ += ["from_graph", "message_passing_scores", "train"]
