"""The version of the library, and of its numbers."""

__version__ = "1.0.0rc1"

NUMERICAL_VERSION = 14
"""Raised whenever the same inputs give other numbers (beyond rounding): stored sweeps of another value are not reused."""
