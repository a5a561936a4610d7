"""A network that closes the gap: message passing unrolled, with five trained numbers (needs PyTorch)."""

from typing import TYPE_CHECKING, Any

from gcnlimit._runtime.extras import need

need("gcnlimit.nn", "nn", "torch")

from gcnlimit.nn.classifier import message_passing_scores  # noqa: E402
from gcnlimit.nn.network import MessagePassing  # noqa: E402
from gcnlimit.nn.operators import SymmetricOperator, from_edge_index, from_graph  # noqa: E402
from gcnlimit.nn.train import train  # noqa: E402

if TYPE_CHECKING:
    from gcnlimit.nn.classifier import MessagePassingClassifier as MessagePassingClassifier

__all__ = [
    "MessagePassing",
    "MessagePassingClassifier",
    "SymmetricOperator",
    "from_edge_index",
    "from_graph",
    "message_passing_scores",
    "train",
]


def __getattr__(name: str) -> Any:
    """The classifier, which needs scikit-learn too, when it is first used."""
    if name != "MessagePassingClassifier":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gcnlimit.nn.classifier import MessagePassingClassifier

    return MessagePassingClassifier
