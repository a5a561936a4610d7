"""What computes: NumPy and SciPy on the processor, or PyTorch on a graphics card; the algorithms stand once."""

from gcnlimit.simulation.backend.base import Backend, backend_of

__all__ = ["Backend", "backend_of"]
