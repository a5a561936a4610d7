"""Blocks on a Dask cluster: a cluster that cannot compute them is refused, and one that stops is noticed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from typing import Any

from gcnlimit._runtime.extras import need
from gcnlimit.errors import GCNLimitError, ParameterError
from gcnlimit.sweeps.producers import Producer

_START = 10.0  # seconds to wait for a scheduler and for its first worker
_PATIENCE = 60.0  # seconds without any worker after which a sweep ends


@contextlib.contextmanager
def dask_executor(address: str, producer: Producer) -> Iterator[tuple[Executor, Callable[[], None]]]:
    """Executor of the cluster, and a function that raises if the cluster has been without workers for too long."""
    if not isinstance(address, str):
        raise ParameterError(f"scheduler = {address!r} is not allowed; it must be an address such as 'tcp://host:8786'")
    need("a Dask cluster", "dist", "distributed")
    from distributed import Client

    try:
        client: Any = Client(address, timeout=f"{_START:g} s")  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise GCNLimitError(f"no Dask scheduler answers at {address!r} ({error}); check the address") from None
    with client:
        _check_workers(client, address)
        _check_import(client, address, producer)
        executor = client.get_executor()
        try:
            yield executor, _Watch(client, address)
        finally:
            executor.shutdown(wait=False)  # cancels what is left; to wait for it would never end without workers


def _check_workers(client: Any, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=_START)
    except TimeoutError:
        raise GCNLimitError(
            f"the Dask scheduler at {address!r} has no workers; start some with: dask worker {address}"
        ) from None


def _check_import(client: Any, address: str, producer: Producer) -> None:
    """Send the producer there and back: a module that the cluster does not have fails at once, not at every point."""
    try:
        client.submit(repr, producer, pure=False).result()
    except Exception as error:
        raise GCNLimitError(
            f"the cluster at {address!r} cannot load {producer.name} ({error}); "
            "install gcnlimit and the module that defines it on the scheduler and its workers"
        ) from None


class _Watch:
    """Called while nothing finishes: raises when the cluster has been without workers for too long."""

    def __init__(self, client: Any, address: str) -> None:
        self._client, self._address, self._seen = client, address, time.monotonic()

    def __call__(self) -> None:
        if self._client.scheduler_info()["workers"]:
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen > _PATIENCE:
            raise GCNLimitError(
                f"the Dask cluster at {self._address!r} has lost all its workers; start new ones, "
                "and with a store the same sweep resumes"
            )
