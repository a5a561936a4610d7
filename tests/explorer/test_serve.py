"""The application answers this machine alone, and nothing that it is sent breaks it."""

import json

import pytest

pytest.importorskip("dash")

from gcnlimit.explorer.app import Explorer
from gcnlimit.explorer.serve import guard
from gcnlimit.explorer.state import State


@pytest.fixture(scope="module")
def client():
    explorer = Explorer(State())
    guard(explorer.app.server, {"127.0.0.1", "localhost"})
    yield explorer.app.server.test_client()
    explorer.close()


def test_the_page_and_what_it_needs_come_from_here(client):
    page = client.get("/", headers={"Host": "127.0.0.1:8050"}).text
    assert "gcnlimit explorer" in page
    assert "http://" not in page
    assert "https://" not in page


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example:8050"},
        {"Host": "localhost:8050", "Origin": "http://evil.example"},
        {"Host": "localhost:8050", "Origin": "null"},
    ],
)
def test_other_hosts_and_pages_are_refused(client, headers):
    answer = client.get("/_dash-layout", headers=headers)
    assert answer.status_code == 403
    assert "address" in answer.text


def test_the_layout_names_every_control(client):
    text = json.dumps(client.get("/_dash-layout", headers={"Host": "localhost"}).json)
    for name in ("alpha", "lam-slider", "classes", "best", "sample", "upload"):
        assert f'"id": "{name}"' in text
