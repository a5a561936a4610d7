"""What computes: NumPy and SciPy on the processor, or PyTorch on a graphics card; the algorithms stand once."""

from gcnlimit.simulation.backend.base import Backend, Device, backend_of

__all__ = ["Backend", "Device", "backend_of"]
