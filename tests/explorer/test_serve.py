"""The application answers this machine alone, and nothing that it is sent breaks it."""

import json

import pytest

pytest.importorskip("dash")

import gcnlimit as gl
from gcnlimit.explorer.app import Explorer
from gcnlimit.explorer.state import State


@pytest.fixture(scope="module")
def explorer():
    found = Explorer(State())
    yield found
    found.close()


@pytest.fixture(scope="module")
def client(explorer):
    return explorer.server.test_client()


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


@pytest.mark.parametrize(
    "body, word",
    [
        (b"no json", "reload"),
        (b"[]", "reload"),
        (b'{"values": 3, "client": "", "number": 1, "seen": []}', "reload"),
        (b'{"values": {}, "client": "", "number": 1, "seen": ["../etc"]}', "reload"),
        (b'{"values": {"rho": 7}, "client": "", "number": 1, "seen": []}', "rho"),
        (b'{"values": {"lam": [1]}, "client": "", "number": 1, "seen": []}', "lam"),
    ],
)
def test_a_request_that_the_page_would_not_make_is_a_sentence(client, body, word):
    answer = client.post("/pictures", data=body, content_type="application/json", headers={"Host": "localhost"})
    assert word in json.loads(answer.text)["refused"]


def broken(*_):
    raise ZeroDivisionError("a bug")


def test_a_fault_behind_a_picture_is_said_and_logged(explorer, client, monkeypatch, caplog):
    monkeypatch.setattr(explorer.answers, "now", broken)
    asked = {"values": {}, "client": "me", "number": 1, "seen": []}
    answer = client.post("/pictures", json=asked, headers={"Host": "localhost"})
    assert "The explorer failed" in json.loads(answer.text)["refused"]
    assert "ZeroDivisionError: a bug" in caplog.text


def test_an_answer_holds_the_numbers_of_the_library(client):
    asked = {
        "values": {"lam": 0.5},
        "client": "me",
        "number": 1,
        "seen": ["strength-diffusion"],
        "rest": True,
    }
    lines = map(json.loads, client.post("/pictures", json=asked, headers={"Host": "localhost"}).response)
    answer = next(line for line in lines if line["picture"] == "strength-diffusion")
    curves = {curve["name"]: curve for curve in answer["figure"]["curves"]}
    state = State(lam=0.5)
    assert curves["here"]["y"] == [gl.predict(state.data, state.gcn).test_accuracy]
    assert curves["Bayes-optimal"]["y"] == [gl.bayes_optimal(state.data).test_accuracy] * 2
    assert f"{curves['best']['y'][0]:.4f}" in answer["answers"]["depth-answer"]
