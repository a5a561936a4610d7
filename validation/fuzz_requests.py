"""Requests that the page of the explorer would not make: no status 500, and no traceback in its log."""

from __future__ import annotations

import contextlib
import io
import json
import logging
from pathlib import Path
from typing import Any

from gcnlimit.explorer.app import Explorer
from gcnlimit.explorer.state import State
from validation.nonsense import Finding, Generator, damage


class Requests:
    """An explorer that is sent requests."""

    def __init__(self) -> None:
        self._explorer = Explorer(State())
        self._client = self._explorer.server.test_client()
        self._log = io.StringIO()
        self._explorer.server.logger.handlers = [logging.StreamHandler(self._log)]

    def __call__(self, rng: Generator, folder: Path) -> str:
        """Send a request that the page would not make."""
        paths = [
            "/",
            "/pictures",
            "/_dash-layout",
            "/_dash-update-component",
            "/_dash-component-suites/../x",
            "/assets/x",
            "/%ff",
            "/\0",
            "/a" * 99,
        ]
        hosts = [
            "localhost",
            "[::1",
            "127.0.0.1:99999",
            "evil.example",
            "[]",
            "é".encode().decode("latin-1"),
            "",
        ]
        path, host = (
            str(rng.choice(paths)),
            str(rng.choice(hosts)) if rng.random() < 0.3 else "localhost",
        )
        headers = {"Host": host} | (
            {"Origin": str(rng.choice(["http://[bad", "null", "http://localhost", "x"]))}
            if rng.random() < 0.2
            else {}
        )
        body = self._body(rng)
        method = str(rng.choice(["POST", "GET", "PUT", "OPTIONS"], p=[0.7, 0.2, 0.05, 0.05]))
        what = f"{method} {path!r} {headers} {body[:300]!r}"
        with contextlib.suppress(UnicodeError):
            answer = self._client.open(
                path, method=method, headers=headers, data=body, content_type="application/json"
            )
            answer.get_data()
            if answer.status_code >= 500:
                raise Finding(f"{what}: status {answer.status_code}")
        if "Traceback" in self._log.getvalue():
            self._log.truncate(0)
            raise Finding(f"{what}: a traceback in the log")
        return path

    def _body(self, rng: Generator) -> bytes:
        values = [
            None,
            True,
            -1,
            1e308,
            "",
            "x",
            [],
            {},
            [[]],
            {"id": "x"},
            "inf",
            10**400,
            "a" * 1000,
            ["strength-diffusion"],
        ]
        any_of = lambda: values[rng.integers(len(values))]  # noqa: E731
        picture = {"values": {}, "client": "me", "number": 1, "seen": ["strength-diffusion"]}
        state = {"id": "client", "property": "data", "value": "me"}
        inputs = [{"id": "stop", "property": "n_clicks", "value": 1}]
        outputs = {"id": "stop", "property": "title"}
        call = {
            "output": "stop.title",
            "outputs": outputs,
            "inputs": inputs,
            "state": [state],
            "changedPropIds": ["stop.n_clicks"],
        }
        name = str(rng.choice(["lam", "classes", "loss", "reg", "depth", "x"]))
        other = {"values": {name: any_of()}, "client": "m", "number": 2, "seen": []}
        requests: list[dict[str, Any]] = [picture, call, other]
        chosen = requests[rng.integers(3)]
        for _ in range(rng.integers(0, 3)):
            chosen = {**chosen, str(rng.choice(list(chosen))): any_of()}
        raw = json.dumps(chosen).encode()
        return raw if rng.random() < 0.8 else damage(rng, raw)

    def close(self) -> None:
        """End its processes."""
        self._explorer.close()
