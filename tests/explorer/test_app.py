"""The application answers this machine alone, and nothing that it is sent breaks it."""

import base64
import json
import socket
import threading
import time
import tracemalloc

import numpy as np
import pytest

pytest.importorskip("dash")

import gcnlimit as gl
from gcnlimit.explorer import app as app_module
from gcnlimit.explorer.answers import Workers
from gcnlimit.explorer.app import Explorer
from gcnlimit.explorer.page import READING
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
        {"Host": "localhost:8050", "Origin": "http://localhost:3000"},
    ],
)
def test_other_hosts_and_pages_are_refused(client, headers):
    answer = client.get("/_dash-layout", headers=headers)
    assert answer.status_code == 403
    assert "address" in answer.text


HEADERS = {"Host": "localhost"}


def quiet(answer, caplog, status=400):
    """Whether an answer is a sentence, and nothing was logged but perhaps a line."""
    return (
        answer.status_code == status and "Traceback" not in caplog.text and len(answer.text) < 200
    )


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "[::1"},
        {"Host": "[bad]:80"},
        {"Host": "localhost", "Origin": "http://[bad"},
        {"Host": "evil@localhost"},
        {"Host": "localhost/evil"},
        {"Host": "localhost:port"},
    ],
)
def test_a_host_that_is_none_is_refused_without_a_traceback(client, headers, caplog):
    for path in ("/", "/_dash-layout", "/pictures"):
        assert quiet(client.get(path, headers=headers), caplog)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no json",
        b"[]",
        b"{}",
        b"3",
        b'{"output": "x", "inputs": []}',
        b'{"output": "asked.data", "inputs": 3}',
        b'{"output": ["state.data"], "changedPropIds": {}, "inputs": [{"id": [], "property": 3}]}',
        b'{"output": "stop.title", "outputs": {"id": "stop", "property": "title"}, "changedPropIds": ["stop.n_clicks"],'
        b' "inputs": [{"id": "stop", "property": "n_clicks", "value": 1}],'
        b' "state": [{"id": "client", "property": "data", "value": [[]]}]}',
        b"\xff\xfe",
        b"[" * 100000,
    ],
)
def test_a_callback_that_the_page_would_not_make_is_refused_without_a_traceback(
    client, body, caplog
):
    answer = client.post(
        "/_dash-update-component", data=body, content_type="application/json", headers=HEADERS
    )
    assert quiet(answer, caplog)


@pytest.mark.parametrize(
    "path",
    [
        "/_dash-component-suites/../../etc/passwd",
        "/_dash-component-suites/dash/%00",
        "/assets/../app.py",
        "/%ff%fe",
    ],
)
def test_a_path_that_leads_elsewhere_is_refused_without_a_traceback(client, path, caplog):
    answer = client.get(path, headers=HEADERS)
    assert answer.status_code in (200, 400, 404)
    assert "root:" not in answer.text
    assert "Traceback" not in caplog.text


@pytest.fixture
def port(explorer):
    """The server on a socket, whose connections time out soon."""
    server = explorer.listen("127.0.0.1", 0)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.port
    server.shutdown()
    thread.join()
    server.server_close()


RAW = [
    b"nonsense\r\n\r\n",
    b"GET //[bad HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET http://[::1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"POST /pictures HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
    b"POST /pictures HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01",
]


@pytest.mark.parametrize("sent", RAW, ids=range(len(RAW)))
def test_bytes_that_are_no_request_leave_no_traceback(port, sent, caplog, capfd):
    with socket.create_connection(("127.0.0.1", port)) as one:
        one.sendall(sent)
        one.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: one.recv(4096), b""))
    assert b" 500 " not in answer.partition(b"\r\n")[0]
    assert "Traceback" not in caplog.text + capfd.readouterr().err


@pytest.mark.parametrize(
    "address", [b"http://[bad/", b"http://[::1", b"http://[::1]:x/", b"http://localhost:99999/"]
)
def test_an_address_that_is_none_is_answered(port, address, caplog, capfd):
    with socket.create_connection(("127.0.0.1", port)) as one:
        one.sendall(b"GET " + address + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert one.recv(12) == b"HTTP/1.1 400"
    assert "Traceback" not in caplog.text + capfd.readouterr().err


@pytest.mark.parametrize(
    "path, body",
    [
        ("/pictures", b" " * 2**20 + b"{}"),
        ("/_dash-update-component", b"[" + b"[]," * 10**6 + b"[]]"),
        ("/_dash-update-component", b"[" + b"{}," * 10**6 + b"{}]"),
    ],
)
def test_a_request_that_would_take_much_memory_is_refused_before_it_is_parsed(client, path, body):
    tracemalloc.start()
    answer = client.post(path, data=body, content_type="application/json", headers=HEADERS)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert answer.status_code in (400, 413)
    assert peak < 6 * len(body)


def test_a_connection_that_sends_nothing_is_closed(port, monkeypatch, capfd):
    monkeypatch.setattr(app_module._Handler, "timeout", 0.2)
    with socket.create_connection(("127.0.0.1", port)) as one:
        one.sendall(b"GET / HTTP/1.1\r\nHost: local")
        one.settimeout(20)
        assert one.recv(100) == b""
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("body", [False, True])
def test_a_connection_that_drips_is_closed(port, monkeypatch, capfd, body):
    """A byte now and then, each within the timeout, in the headers or in the body."""
    monkeypatch.setattr(app_module._Handler, "arrival", 0.5)
    head = b"POST /pictures HTTP/1.1\r\nHost: localhost\r\n"
    with socket.create_connection(("127.0.0.1", port)) as one:
        one.settimeout(20)
        one.sendall(head + b"Content-Length: 1000\r\n\r\n" if body else head)
        began = time.monotonic()
        answer = None
        while answer is None and time.monotonic() - began < 15:
            try:
                one.sendall(b"x")
                one.settimeout(0.1)
                answer = one.recv(100)
            except TimeoutError:
                pass
            except OSError:
                answer = b""
    assert answer is not None
    assert b" 200 " not in answer
    assert "Traceback" not in capfd.readouterr().err


def test_the_layout_names_every_control(client):
    text = json.dumps(client.get("/_dash-layout", headers={"Host": "localhost"}).json)
    for name in ("alpha", "lam-slider", "classes", "best", "sample", "upload"):
        assert f'"id": "{name}"' in text


def test_a_switch_alone_says_how_an_upload_is_read_by_a_tick(client):
    layout = client.get("/_dash-layout", headers={"Host": "localhost"}).json
    kinds, left = {}, [layout]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            kinds[str(part.get("props", {}).get("id"))] = part.get("type")
            left += part.values()
        elif isinstance(part, list):
            left += part
    ticked = [name for name in READING if kinds.get(f"read-{name}") == "Checklist"]
    assert ticked == ["undirected"]
    assert kinds["read-drop"] == "Input"


@pytest.mark.parametrize(
    "body, word",
    [
        (b"no json", "reload"),
        (b"[]", "reload"),
        (b'{"values": 3, "client": "", "number": 1, "seen": []}', "reload"),
        (b'{"values": {}, "client": "", "number": 1, "seen": ["../etc"]}', "reload"),
        (b'{"values": {"rho": 7}, "client": "", "number": 1, "seen": []}', "rho"),
        (b'{"values": {"lam": [1]}, "client": "", "number": 1, "seen": []}', "lam"),
        (
            b'{"values": {"lam": 1' + b"0" * 400 + b'}, "client": "", "number": 1, "seen": []}',
            "lam",
        ),
        (b'{"values": {"loss": {}}, "client": "", "number": 1, "seen": []}', "loss"),
        (b'{"values": {}, "client": [], "number": 1, "seen": []}', "reload"),
        (b'{"values": {}, "client": "", "number": "1", "seen": []}', "reload"),
        (b'{"values": {}, "client": "", "number": 1, "seen": [[]]}', "reload"),
        (
            b'{"values": {}, "client": "", "number": 1, "seen": [' + 50 * b'"gap",' + b'"gap"]}',
            "reload",
        ),
        (b'{"values": {}, "client": "' + 99 * b"x" + b'", "number": 1, "seen": []}', "reload"),
    ],
)
def test_a_request_that_the_page_would_not_make_is_a_sentence(client, body, word):
    answer = client.post(
        "/pictures", data=body, content_type="application/json", headers={"Host": "localhost"}
    )
    refused = json.loads(answer.text)["refused"]
    assert word in refused.lower()
    assert refused.startswith((refused[0].upper(), "rho", "lam"))
    assert answer.status_code == (400 if word == "reload" else 200)


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
    lines = map(
        json.loads, client.post("/pictures", json=asked, headers={"Host": "localhost"}).response
    )
    answer = next(line for line in lines if line["picture"] == "strength-diffusion")
    curves = {curve["name"]: curve for curve in answer["figure"]["curves"]}
    state = State(lam=0.5)
    assert curves["here"]["y"] == [gl.predict(state.data, state.gcn).test_accuracy]
    assert curves["Bayes-optimal"]["y"] == [gl.bayes_optimal(state.data).test_accuracy] * 2
    assert f"{curves['best']['y'][0]:.4f}" in answer["answers"]["depth-answer"]


def test_the_first_words_are_asked_for_before_any_script_and_are_those_of_the_start():
    """The page asks without values where its address has none."""
    start = State(lam=0.7)
    explorer = Explorer(start)
    client = explorer.server.test_client()
    try:
        page = client.get("/", headers={"Host": "localhost"}).text
        assert 'fetch("pictures", asked)' in page.partition('<link rel="stylesheet"')[0]
        asked = {"values": {}, "client": "", "number": 0, "seen": ["strength-diffusion"]}
        answer = client.post("/pictures", json=asked, headers={"Host": "localhost"})
        words = json.loads(answer.text.splitlines()[0])["answers"]["gain-answer"]
        best, here = gl.bayes_optimal(start.data), gl.predict(start.data, start.gcn)
        assert f"{best.test_accuracy:.4f}" in words
        assert f"{here.test_accuracy:.4f}" in words
    finally:
        explorer.close()


def test_an_upload_that_takes_too_long_is_given_up(monkeypatch):
    monkeypatch.setattr(app_module, "_READING", 0.0)
    given = [["data:,"], None, ["a.npz"], {}, *[""] * len(READING)]
    with pytest.raises(gl.GCNLimitError, match="could not be read within"):
        app_module._to_upload(Workers(), *given)


def test_an_upload_of_one_client_is_not_seen_by_another(client, caplog):
    """Names in files stay in the answer to who sent them: no page, layout, picture or line of the log holds them later."""
    rng = np.random.default_rng(0)
    classes = rng.integers(2, size=60)
    numbered = enumerate(zip(classes, rng.normal(classes), strict=True))
    nodes = [f"q{k}x,hush{kind},{value},hush {k}" for k, (kind, value) in numbered]
    table = "\n".join(["id,hushlabel,hushcolumn,hushwords", *nodes])
    edges = "\n".join(
        ["source,target", *(f"q{i}x,q{j}x" for i, j in rng.integers(60, size=(200, 2)))]
    )
    files = [
        f"data:text/csv;base64,{base64.b64encode(text.encode()).decode()}"
        for text in (edges, table)
    ]
    given = {
        "upload.contents": files,
        "upload.filename": ["hush-edges.csv", "hush-nodes.csv"],
        "state.data": {},
    }
    given["read-label.value"] = "hushlabel"
    asked = next(
        c
        for c in client.get("/_dash-dependencies", headers=HEADERS).json
        if c["inputs"][0]["id"] == "upload"
    )
    body = {kind: [_filled(one, given) for one in asked[kind]] for kind in ("inputs", "state")}
    names = asked["output"].strip(".").split("...")
    body |= {"output": asked["output"], "changedPropIds": ["upload.contents"]}
    body["outputs"] = [
        dict(zip(("id", "property"), name.split("."), strict=True)) for name in names
    ]
    theirs = client.post("/_dash-update-component", json=body, headers=HEADERS)
    assert theirs.status_code == 200
    assert "hush" in theirs.text
    state = State(estimated=True)
    pictures = {
        "values": vars(state),
        "client": "another",
        "number": 1,
        "seen": ["strength-diffusion"],
    }
    seen = [
        client.get(path, headers=HEADERS).text
        for path in ("/", "/_dash-layout", "/_dash-dependencies")
    ]
    seen.append(client.post("/pictures", json=pictures, headers=HEADERS).text)
    assert not any("hush" in text for text in (*seen, caplog.text))


def _filled(one, given):
    return {**one, "value": given.get(f"{one['id']}.{one['property']}")}
