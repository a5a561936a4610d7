"""The page in a real browser: Chromium and its driver, if they are installed (`make browser` installs them)."""

import csv
import os
import pathlib
import re
import shutil
import threading
import time

import numpy as np
import pytest

pytest.importorskip("dash")
pytest.importorskip("selenium")
if not (shutil.which("chromium") and shutil.which("chromedriver")):
    pytest.skip(
        "chromium and chromedriver are not installed; make browser does it", allow_module_level=True
    )

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

import gcnlimit as gl
from gcnlimit.explorer.app import Explorer
from gcnlimit.explorer.pictures import PICTURES
from gcnlimit.explorer.state import State

PATIENCE = 60
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=1300,1000"
)


@pytest.fixture(scope="module")
def address():
    explorer = Explorer(State())
    server = explorer.listen("127.0.0.1", 0)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.port}/"
    server.shutdown()
    thread.join()
    server.server_close()
    explorer.close()


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    for flag in FLAGS.split():
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    driver.set_script_timeout(PATIENCE)
    yield driver
    driver.quit()


class Page:
    """The page as a person uses it."""

    def __init__(self, browser, address, query=""):
        self.browser, self.address = browser, address
        browser.get(address + query)
        self.until(lambda: self.curve("strength-diffusion", "accuracy"))
        self.resets = 0

    def reset(self):
        """The state of the beginning, without loading the page again."""
        self.resets += 1
        text = (
            f"?lam=1.{'0' * self.resets}"  # another text each time, so that the page takes notice
        )
        self.run(
            "dash_clientside.set_props('url', {search: arguments[0]}); dash_clientside.set_props('message', {children: ''})",
            text,
        )
        self.until(
            lambda: (
                self.state() == State()
                and shows(self, State())
                and self.element("refusal").text == ""
            )
        )

    def until(self, true):
        return WebDriverWait(self.browser, PATIENCE, 0.1, [Exception]).until(lambda _: true())

    def run(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def run_later(self, script):
        return self.browser.execute_async_script(script)

    def element(self, name):
        return self.browser.find_element(By.ID, name)

    def type(self, name, value):
        field = self.element(name)
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(str(value), Keys.ENTER)

    def click(self, name):
        self.run("document.getElementById(arguments[0]).click()", name)

    def curve(self, picture, name):
        return self.run(
            "const g = document.querySelector('#' + arguments[0] + '-shown .js-plotly-plot');"
            "const t = g.data.find(t => t.name.includes(arguments[1])); return t ? [...t.y] : null",
            picture,
            name,
        )

    def complete(self):
        return self.run("return document.querySelectorAll('[aria-busy=false]').length") == len(
            PICTURES
        )

    def upload(self, path):
        field = self.until(
            lambda: self.browser.find_element(By.CSS_SELECTOR, "#upload input[type=file]")
        )
        self.run("arguments[0].value = ''", field)  # else the driver adds to the files before
        field.send_keys(str(path))

    def state(self):
        return State.of_query("?" + self.browser.current_url.partition("?")[2])


@pytest.fixture(scope="module")
def loaded(browser, address):
    return Page(browser, address)


@pytest.fixture
def page(loaded):
    loaded.reset()
    return loaded


def here(state):
    return gl.predict(state.data, state.gcn).test_accuracy


def shows(page, state):
    """Whether the dot of the current network is the library's number."""
    value = page.curve(f"strength-{state.family}", "here")
    return value is not None and abs(value[0] - here(state)) < 1e-9


def test_a_number_typed_moves_slider_picture_and_link(page):
    page.type("lam", "0.5")
    state = State(lam=0.5)
    page.until(lambda: shows(page, state))
    assert page.state() == state
    assert abs(float(page.element("lam-slider").get_attribute("value")) - 583) <= 1
    ceiling = gl.bayes_optimal(state.data).test_accuracy
    assert page.curve("strength-diffusion", "Bayes")[0] == pytest.approx(ceiling, abs=1e-12)


def test_a_slider_moved_with_the_keyboard_moves_the_picture(page):
    page.element("mu-slider").send_keys(Keys.ARROW_RIGHT)
    page.until(lambda: page.state().mu == pytest.approx(2.01))
    page.until(lambda: shows(page, page.state()))


def test_pictures_follow_a_slider_while_it_is_dragged(page):
    """The link and the number field follow too; the time from movement to picture is printed."""
    took = page.run_later(
        "const done = arguments[0], root = document.documentElement, slider = document.getElementById('lam-slider');"
        "slider.value = 600; const begun = performance.now();"
        "slider.dispatchEvent(new Event('input', {bubbles: true})); const asked = Number(root.dataset.asked);"
        "const look = () => Number(root.dataset.drawn) >= asked ? done(performance.now() - begun) : requestAnimationFrame(look);"
        "look();"
    )
    print(f"a slider's movement was drawn after {took:.0f} ms")
    assert shows(page, State(lam=0.6))
    page.until(lambda: page.state() == State(lam=0.6))
    assert page.element("lam").get_attribute("value") == "0.6"


def test_best_finds_the_optimum(page):
    page.click("best")
    tuned = gl.tune(State().data, State().gcn, {"t": (-5, 5)})
    page.until(lambda: abs(page.state().t - tuned.parameters["t"]) < 1e-3)
    page.until(
        lambda: (
            abs(page.curve("strength-diffusion", "here")[0] - tuned.prediction.test_accuracy) < 1e-6
        )
    )


@pytest.mark.slow
def test_a_click_on_the_map_goes_there(page):
    page.until(
        lambda: page.run("return document.querySelector('#gap-shown .heatmaplayer') !== null")
    )
    page.run(
        "const g = document.querySelector('#gap-shown .js-plotly-plot');"
        "g.emit('plotly_click', {points: [{x: -1.2, y: 4.0, curveNumber: 0, pointNumber: 0, data: {}, fullData: {}}]})"
    )
    page.until(lambda: (page.state().lam, page.state().mu) == (-1.2, 4.0))


@pytest.mark.slow
def test_an_example_is_shown_and_marked_again_and_again(page):
    example = "[...document.querySelectorAll('.preset')].find(b => b.textContent === 'Heterophily').click()"
    page.run(example)
    page.until(lambda: page.state() == State(lam=-1.0, t=-1.0))
    page.type("lam", "0.6")
    page.until(lambda: page.state() == State(lam=0.6, t=-1.0))
    page.run(example)
    page.until(lambda: page.state() == State(lam=-1.0, t=-1.0))
    marked = (
        "return [...document.querySelectorAll('.preset[aria-current]')].map(b => b.textContent)"
    )
    page.until(lambda: page.run(marked) == ["Heterophily"])


def test_the_controls_stay_on_the_screen(page):
    page.run("window.scrollTo(0, document.body.scrollHeight)")
    page.until(
        lambda: page.run(
            "const b = document.querySelector('aside').getBoundingClientRect(); return b.top >= 0 && b.bottom <= innerHeight"
        )
    )
    page.run("window.scrollTo(0, 0)")


def test_a_value_out_of_range_is_a_sentence(page):
    page.type("alpha", "-1")
    page.until(
        lambda: "alpha = -1 is out of range; choose a number from" in page.element("refusal").text
    )
    page.type("alpha", "4")
    page.type("classes", "0.2, 0.9")
    page.until(lambda: "classes" in page.element("refusal").text)
    page.type("classes", "0.2, 0.8")
    page.until(
        lambda: page.element("refusal").text == "" and page.state() == State(classes="0.2, 0.8")
    )


def test_another_graph_is_shown_when_it_is_asked_for(page):
    assert not page.element("to_lam").is_displayed()
    assert not page.element("elsewhere-figure").is_displayed()
    page.run("document.querySelector('#elsewhere input').click()")
    state = State(elsewhere=True)
    there = state.data.replaced(lam=-1.0, rho=0.0)
    reached = gl.transfer(state.data, state.gcn, there).test_accuracy
    page.until(lambda: f"{reached:.4f}" in page.element("elsewhere-answer").text)
    page.until(lambda: abs(page.curve("elsewhere", "here")[0] - reached) < 1e-9)
    assert page.element("to_lam").is_displayed()
    wide = "return document.querySelector('#elsewhere-shown svg').getBoundingClientRect().width"
    page.until(lambda: page.run(wide) > 400)
    page.run("document.querySelector('#elsewhere input').click()")


def test_hubs_bring_their_normalization(page):
    assert not page.element("normalization").is_displayed()
    page.type("degrees_variance", "0.5")
    page.until(lambda: shows(page, State(degrees_variance=0.5)))
    assert page.element("normalization").is_displayed()


@pytest.mark.slow
def test_sampled_graphs_appear_with_errors(page):
    page.type("nodes", "300")
    page.type("trials", "3")
    page.until(lambda: page.state().nodes == 300 and page.state().trials == 3)
    page.click("sample")
    page.until(lambda: "3 of 3" in page.element("progress-text").text)
    page.until(lambda: page.curve("strength-diffusion", "3 sampled graphs"))
    dots = page.curve("strength-diffusion", "3 sampled graphs")
    assert len(dots) == 10
    assert abs(dots[-1] - here(page.state())) < 0.15
    page.until(lambda: page.curve("axis", "3 sampled graphs") == dots[-1:])


@pytest.mark.slow
def test_an_uploaded_graph_is_described(page, tmp_path):
    path = tmp_path / "graph.npz"
    gl.sample(gl.CSBM(alpha=2, lam=1.2, mu=2.0, rho=0.3), nodes=500, degree=20, seed=0).save(path)
    page.upload(path)
    page.until(lambda: "500 nodes" in page.element("message").text)
    assert page.state().alpha == pytest.approx(2.0)
    page.until(lambda: "not for your graph itself" in page.element("gain-answer").text)


@pytest.mark.slow
def test_a_bad_file_is_a_sentence(page, tmp_path):
    path = tmp_path / "graph.npz"
    path.write_bytes(b"no graph")
    page.upload(path)
    page.until(lambda: "graph.npz" in page.element("message").text)
    assert page.state() == State()


@pytest.mark.slow
def test_the_table_and_the_answers_in_words_are_those_of_compare(page):
    expected = gl.compare(State().data, depth=2)
    page.until(
        lambda: f"{expected.entries[-1].test_accuracy:.4f}" in page.element("table-shown").text
    )
    for entry in expected.entries:
        assert f"{entry.test_accuracy:.4f}" in page.element("table-shown").text
    assert (
        f"{expected['any one filter, any reg'].test_accuracy:.4f}"
        in page.element("gain-answer").text
    )
    page.until(
        lambda: (
            page.element("gain-answer").text in page.element("spoken").get_attribute("textContent")
        )
    )


@pytest.mark.slow
def test_a_saved_table_of_numbers_is_what_is_drawn(page, tmp_path):
    page.browser.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
    )
    for name in ("strength-diffusion", "gap", "table"):
        page.until(page.complete)
        page.click(f"{name}-csv")
        path = tmp_path / f"gcnlimit-{name}.csv"
        page.until(path.exists)
        rows = list(csv.reader(path.read_text().splitlines()))
        if name == "strength-diffusion":
            drawn = [float(row[2]) for row in rows if row[0] == "accuracy"]
            assert drawn == page.curve(name, "accuracy")
        else:
            assert len(rows) == {"gap": 1 + 31 * 21}.get(
                name, len(page.element("table-shown").text.splitlines())
            )


def test_dark_colours_and_narrow_screens(page):
    page.run("window.scrollTo(0, 0)")
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
    page.until(lambda: page.run("return document.documentElement.dataset.theme") == "dark")
    page.browser.set_window_size(400, 900)
    time.sleep(0.5)
    assert page.run("return document.documentElement.scrollWidth <= window.innerWidth")
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    page.browser.set_window_size(1300, 1000)


def test_pictures_of_the_documentation(page):
    """Screenshots into the folder that the variable GCNLIMIT_SCREENSHOTS names; elsewhere only that every picture is drawn."""
    page.until(page.complete)
    folder = os.environ.get("GCNLIMIT_SCREENSHOTS")
    if folder:
        page.browser.set_window_size(1400, 2271)
        time.sleep(1.0)
        page.browser.save_screenshot(str(pathlib.Path(folder) / "explorer.png"))
        page.browser.set_window_size(1300, 1000)


def test_every_control_has_a_name_for_screen_readers(page):
    page.until(page.complete)
    nameless = page.run(
        "return [...document.querySelectorAll('input:not([type=file]), button, summary')].filter(e =>"
        "!(e.getAttribute('aria-label') || e.labels && e.labels.length || e.textContent.trim() || e.title)).map(e => e.outerHTML)"
    )
    assert nameless == []
    names = page.run(
        "return [...document.querySelectorAll('button, summary, input[type=range], input[type=number]')]"
        ".filter(e => e.checkVisibility())"
        ".map(e => e.getAttribute('aria-label') || e.labels && e.labels.length && e.labels[0].textContent || e.textContent)"
    )
    assert sorted(set(names)) == sorted(names)  # each is told from the others by its name alone
    assert page.run("return document.documentElement.lang") == "en"
    unsaid = page.run(
        "return [...document.querySelectorAll('.drawing')].filter(e => e.checkVisibility())"
        ".filter(e => e.getBoundingClientRect().top < innerHeight)"
        ".filter(e => e.getAttribute('role') !== 'img' || !/[0-9]/.test(e.getAttribute('aria-label'))).map(e => e.id)"
    )
    assert unsaid == []


def test_nothing_is_asked_of_other_machines(page):
    asked = page.run("return performance.getEntriesByType('resource').map(e => e.name)")
    assert asked
    assert all(name.startswith((page.address, "data:", "blob:")) for name in asked)
    severe = [
        entry["message"] for entry in page.browser.get_log("browser") if entry["level"] == "SEVERE"
    ]
    assert severe == []


def test_a_link_is_reloaded_whole(browser, address):
    state = State(
        lam=-1.5,
        family="residual",
        depth=4,
        c=-0.5,
        loss="logistic",
        reg=2.0,
        classes="2",
        directed=False,
    )
    page = Page(browser, address, state.query())
    page.until(lambda: shows(page, state))
    assert page.state() == state


def test_an_impossible_link_is_a_sentence(browser, address):
    page = Page(browser, address, "?rho=7&lam=<script>alert(1)</script>")
    page.until(lambda: "cannot be shown" in page.element("message").text)
    assert "rho" in page.element("message").text


BAD = "<img src=x onerror=document.title=1>"


@pytest.mark.slow
def test_markup_in_an_upload_is_text_and_its_fields_say_how_it_is_read(page, tmp_path):
    """Names of columns, nodes and classes are shown as they are, and nothing of them is run."""
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    pairs = [
        (i, j)
        for i in range(80)
        for j in range(i)
        if rng.random() < (0.2 if y[i] == y[j] else 0.05)
    ]
    (tmp_path / "e.csv").write_text(
        "source,target\n" + "\n".join(f"{BAD}{i},{BAD}{j}" for i, j in pairs)
    )
    rows = [
        f"{BAD}{i},{BAD}{'AB'[y[i]]},{BAD}{'XY'[i % 3 == 0]},{y[i] + rng.normal():.3f},1/2/2003"
        for i in range(80)
    ]
    (tmp_path / "n.csv").write_text(f"id{BAD},{BAD}label,{BAD}city,size,born\n" + "\n".join(rows))
    page.upload(f"{tmp_path / 'e.csv'}\n{tmp_path / 'n.csv'}")
    told = lambda: page.element("message").text  # noqa: E731
    page.until(
        lambda: "leave it out by the field Leave out (born) of How to read my graph" in told()
    )
    page.run("document.getElementById('how').open = true")
    page.type("read-drop", "born")
    page.type("read-label", f"{BAD}label")
    page.click("again")
    page.until(lambda: f"Classes: {BAD}A (40), {BAD}B (40)" in told())
    assert f"{BAD}city (2)" in told()
    assert page.state().estimated
    assert page.browser.title == "gcnlimit explorer"
    assert page.run("return document.querySelectorAll('img').length") == 0
    # on a narrow screen the answer is scrolled to, and nothing of it is cut
    page.browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True},
    )
    page.run("window.scrollTo(0, 0)")
    page.click("again")
    page.until(
        lambda: page.run(
            "const b = document.getElementById('message').getBoundingClientRect(); return b.top >= 0 && b.top < innerHeight"
        )
    )
    assert page.run(
        "return [...document.querySelectorAll('#message, #message table')].every(e => e.scrollWidth <= 390)"
    )
    page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.slow
def test_the_lesson_steps_through_the_addresses_of_its_page(page):
    text = pathlib.Path("docs/how-to/teach.md").read_text()
    addresses = re.findall(r"`(\?[^`]+)`", text)
    page.click("lesson-next")
    shown = []
    for _ in range(5):
        page.until(lambda: page.element("lesson-words").text)
        page.until(lambda: shown[-1:] != [page.state()])
        shown.append(page.state())
        page.click("lesson-next")
    page.click("lesson-end")
    assert not page.browser.find_elements(By.ID, "lesson-words")
    page.click("lesson-next")  # begins again, and may end at any step
    page.click("lesson-end")
    assert not page.browser.find_elements(By.ID, "lesson-words")
    assert all(State.of_query(address) in shown for address in addresses)


def test_nodes_of_the_drawn_graph_become_alike_with_depth(page):
    def spread(layers):
        page.run(
            "const s = document.getElementById('alike-layers'); s.value = arguments[0]; s.dispatchEvent(new Event('input'))",
            layers,
        )
        return float(re.search(r"values is ([0-9]+[.][0-9]+)", page.element("alike-words").text)[1])

    found = [spread(layers) for layers in range(0, 21, 4)]
    assert found == sorted(found, reverse=True)
    assert found[-1] < 0.05 * found[0]
    assert (
        len(
            {
                mark.get_attribute("fill")
                for mark in page.browser.find_elements(By.CSS_SELECTOR, "#alike circle")
            }
        )
        < 15
    )
