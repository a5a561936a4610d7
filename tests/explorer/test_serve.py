"""The application answers this machine alone, and nothing that it is sent breaks it."""

import json

import pytest

pytest.importorskip("dash")

import gcnlimit as gl
from gcnlimit.explorer.app import Explorer
from gcnlimit.explorer.serve import server_of
from gcnlimit.explorer.state import State


@pytest.fixture(scope="module")
def explorer():
    found = Explorer(State())
    yield found
    found.close()


@pytest.fixture(scope="module")
def client(explorer):
    return server_of(explorer, {"127.0.0.1", "localhost"}).test_client()


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
        {"Host": "[", "Origin": "http://localhost"},
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
        (b'{"values": {}, "client": "", "number": 1e400, "theme": "light", "seen": []}', "reload"),
        (b'{"values": 3, "client": "", "number": 1, "theme": "light", "seen": []}', "reload"),
        (b'{"values": {}, "client": "", "number": 1, "theme": "light", "seen": ["../etc"]}', "reload"),
        (b'{"values": {}, "client": "", "number": 1, "theme": "light", "seen": 3}', "reload"),
        (b'{"values": {"rho": 7}, "client": "", "number": 1, "theme": "dark", "seen": []}', "rho"),
        (b'{"values": {"lam": [1]}, "client": "", "number": 1, "theme": "dark", "seen": []}', "lam"),
        (b" " * 2**17, "reload"),
    ],
)
def test_a_request_that_the_page_would_not_make_is_a_sentence(client, body, word):
    answer = client.post("/pictures", data=body, content_type="application/json", headers={"Host": "localhost"})
    assert word in json.loads(answer.text)["refused"]


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b"[1, 2]",
        b'"text"',
        b'{"output": "no such callback", "inputs": []}',
        b'{"output": "csv.data", "outputs": {}, "inputs": 3, "changedPropIds": []}',
        b'{"output": [], "inputs": [{"id": {"a": []}}], "changedPropIds": [[]]}',
    ],
)
def test_a_callback_that_the_page_does_not_have_is_refused_without_a_traceback(client, body, caplog):
    answer = client.post(
        "/_dash-update-component", data=body, content_type="application/json", headers={"Host": "localhost"}
    )
    assert answer.status_code == 400
    assert "reload" in answer.text
    assert "Traceback" not in caplog.text


def broken(*_):
    raise ZeroDivisionError("a bug")


def press_tune(explorer, client, state):
    """What the page sends when its button Tune is pressed."""
    output = next(key for key, one in explorer.app.callback_map.items() if one["inputs"][0]["id"] == "best")
    pairs = [pair.rpartition(".") for pair in output.strip(".").split("...")]
    body = {
        "output": output,
        "outputs": [{"id": name, "property": field} for name, _, field in pairs],
        "inputs": [{"id": "best", "property": "n_clicks", "value": 1}],
        "state": [{"id": "state", "property": "data", "value": state}],
        "changedPropIds": ["best.n_clicks"],
    }
    return client.post("/_dash-update-component", json=body, headers={"Host": "localhost"})


def test_a_fault_of_a_computation_is_not_taken_for_a_bad_request(explorer, client, monkeypatch, caplog):
    assert "lost its state" in press_tune(explorer, client, 3).text
    monkeypatch.setattr("gcnlimit.explorer.app.tuned", broken)
    assert press_tune(explorer, client, {}).status_code == 500
    assert "ZeroDivisionError: a bug" in caplog.text
    assert caplog.records[-1].levelname == "ERROR"


def test_a_fault_behind_a_picture_is_said_and_logged(explorer, client, monkeypatch, caplog):
    monkeypatch.setattr(explorer.answers, "now", broken)
    asked = {"values": {}, "client": "me", "number": 1, "theme": "light", "seen": []}
    answer = client.post("/pictures", json=asked, headers={"Host": "localhost"})
    assert "a fault of the explorer" in json.loads(answer.text)["refused"]
    assert "ZeroDivisionError: a bug" in caplog.text


def test_an_answer_holds_the_numbers_of_the_library(client):
    asked = {
        "values": {"lam": 0.5},
        "client": "me",
        "number": 1,
        "theme": "light",
        "seen": ["strength-diffusion"],
        "rest": True,
    }
    lines = map(json.loads, client.post("/pictures", json=asked, headers={"Host": "localhost"}).response)
    answer = next(line for line in lines if line["picture"] == "strength-diffusion")
    traces = {trace["name"]: trace for trace in answer["figure"]["data"]}
    state = State(lam=0.5)
    assert traces["here"]["y"] == [gl.predict(state.data, state.gcn).test_accuracy]
    assert traces["Bayes-optimal"]["y"] == [gl.bayes_optimal(state.data).test_accuracy] * 2
    assert f"{traces['best']['y'][0]:.4f}" in answer["answers"]["depth-answer"]
