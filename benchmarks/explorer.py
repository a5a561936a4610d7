"""The explorer in a real browser: from the movement of a slider to its pictures, and twenty clients for a minute.

``python -m benchmarks.explorer [SECONDS]`` prints both tables, the second after SECONDS (60; 0 leaves it out). A movement is
drawn in three steps: first the picture of the chosen family and the answers in words; then the other pictures on the screen that
are quick; and, once the controls rest, everything, computed by other processes. Milliseconds of the clock depend on what else the
machine does: beside them stand those of the processor for the first two steps, of the server and of the page's main thread, and
the round trip of a request that computes nothing. It needs Chromium and its driver (`make browser`) on Linux.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

CLIENTS, MOVES, RESTS = 20, 30, 3
FLAGS = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"

CASES = {
    "explicit theory, lam": ("", "lam"),
    "explicit theory, t": ("", "t"),
    "finite reg, lam": ("?reg=1.0", "lam"),
    "finite reg, t": ("?reg=1.0", "t"),
    "finite reg, logistic, lam": ("?reg=1.0&loss=logistic", "lam"),
    "finite reg, logistic, t": ("?reg=1.0&loss=logistic", "t"),
    "finite reg, directed, lam": ("?reg=1.0&symmetrize=false", "lam"),
    "finite reg, softmax, five classes, lam": ("?reg=1.0&loss=softmax&classes=5", "lam"),
}
"""Where the page begins, and the slider that is moved."""

MOVE = """
const [name, position, last, done] = arguments, data = document.documentElement.dataset;
const slider = document.getElementById(name + "-slider"), took = {};
slider.value = position;
const begun = performance.now();
slider.dispatchEvent(new Event("input", {bubbles: true}));
const asked = Number(data.asked), steps = ["first", "drawn", "settled"].filter((step) => Number(data[step] || 0) < asked);
const watch = new MutationObserver(() => steps.filter((step) => Number(data[step]) >= asked).forEach((step) => {
  steps.splice(steps.indexOf(step), 1);
  requestAnimationFrame(() => {
    took[step] = performance.now() - begun;
    if (step === last) { watch.disconnect(); done(took); }
  });
}));
watch.observe(document.documentElement, {attributes: true});
"""
"""Milliseconds from the movement of a slider until the frame in which each step is painted."""
ECHO = """
const done = arguments[0], begun = performance.now();
fetch("pictures", {method: "POST", body: "{}"}).then((r) => r.text()).then(() => done(performance.now() - begun));
"""
SETTLED = "const data = document.documentElement.dataset; return data.asked && data.settled === data.asked"


@contextmanager
def served() -> Iterator[tuple[str, int]]:
    """Address and process of an explorer."""
    command = [sys.executable, "-u", "-m", "gcnlimit", "explore", "--no-browser", "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().split()[4], process.pid
        process.terminate()


@contextmanager
def browser() -> Iterator[Any]:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for flag in (*FLAGS.split(), "--window-size=1400,1000"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    driver.set_script_timeout(120)
    driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    try:
        yield driver
    finally:
        driver.quit()


def of_page(driver: Any) -> float:
    """Seconds of the processor that the main thread of the page has used."""
    metrics = driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return float(next(m["value"] for m in metrics if m["name"] == "TaskDuration"))


def of_server(pid: int) -> float:
    """Seconds of the processor that a process has used."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def moved(driver: Any, address: str, pid: int, query: str, name: str) -> dict[str, float]:
    """Milliseconds of a slider's movements, after the page has been completed once."""
    driver.get(address + query)
    settle(driver)
    echo = [driver.execute_async_script(ECHO) for _ in range(10)]
    before = of_server(pid), of_page(driver)
    took = [driver.execute_async_script(MOVE, name, 600 + 2 * k, "drawn") for k in range(MOVES)]
    used = of_server(pid) - before[0], of_page(driver) - before[1]
    settle(driver)
    rest = [
        driver.execute_async_script(MOVE, name, 500 + 10 * k, "settled")["settled"]
        for k in range(RESTS)
    ]
    first, drawn = ([one[step] for one in took] for step in ("first", "drawn"))
    return {
        "first redraw: median, ms": float(np.median(first)),
        "90 %": float(np.quantile(first, 0.9)),
        "all that is quick: median": float(np.median(drawn)),
        "90 % of it": float(np.quantile(drawn, 0.9)),
        "everything: median": float(np.median(rest)),
        "processor: server": 1e3 * used[0] / MOVES,
        "processor: page": 1e3 * used[1] / MOVES,
        "request that computes nothing": float(np.median(echo)),
    }


def settle(driver: Any) -> None:
    """Wait until nothing is left to be computed."""
    until = time.monotonic() + 300
    while not driver.execute_script(SETTLED) and time.monotonic() < until:
        time.sleep(0.2)


def memory(pid: int) -> float:
    """Resident memory of a process and its children, in MiB."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    threads = [p.read_text().split() for p in Path(f"/proc/{pid}/task").glob("*/children")]
    family = {str(pid), *children, *(child for one in threads for child in one)}
    pages = [int(Path(f"/proc/{one}/statm").read_text().split()[1]) for one in family]
    return sum(pages) * os.sysconf("SC_PAGE_SIZE") / 2**20


def client(address: str, number: int, end: float, took: list[float], errors: list[str]) -> None:
    """One client that moves both signals at random and, now and then, rests until everything is drawn."""
    draw, count = random.Random(number), 0
    while time.monotonic() < end:
        count += 1
        values = {"lam": round(draw.uniform(-3, 3), 3), "mu": round(draw.uniform(0, 10), 3)}
        asked: dict[str, Any] = {"values": values, "client": f"client {number}", "number": count}
        asked["seen"] = ["strength-diffusion", "strength-residual", "strength-pagerank", "axis"]
        for more in ({}, {"rest": True}) if count % 10 == 0 else ({},):
            request = urllib.request.Request(
                f"{address}pictures",
                json.dumps(asked | more).encode(),
                {"Content-Type": "application/json"},
            )
            begun = time.monotonic()
            try:
                with urllib.request.urlopen(request, timeout=120) as answer:
                    errors += ["refused" for line in answer if "refused" in json.loads(line)]
            except OSError as error:
                errors.append(str(error))
            if not more:
                took.append(time.monotonic() - begun)
        time.sleep(0.05)


def crowd(address: str, pid: int, seconds: float) -> None:
    took: list[float] = []
    errors: list[str] = []
    end = time.monotonic() + seconds
    given = [(address, number, end, took, errors) for number in range(CLIENTS)]
    threads = [threading.Thread(target=client, args=one) for one in given]
    for thread in threads:
        thread.start()
    used = []
    while any(thread.is_alive() for thread in threads):
        time.sleep(seconds / 12)
        used.append(memory(pid))
    middle, high = 1e3 * np.quantile(took, [0.5, 0.9])
    found = {
        "clients": CLIENTS,
        "seconds": seconds,
        "movements answered": len(took),
        "errors": len(errors),
        "median, ms": middle,
        "90 %, ms": high,
        "MiB after a third": used[len(used) // 3],
        "MiB at the end": used[-1],
    }
    print("\n| " + " | ".join(found) + " |\n|" + " --- |" * len(found))
    print("| " + " | ".join(f"{value:.0f}" for value in found.values()) + " |")


def main(seconds: float) -> None:
    with served() as (address, pid):
        with browser() as driver:
            for case, (query, name) in CASES.items():
                found = moved(driver, address, pid, query, name)
                if case == next(iter(CASES)):
                    print(
                        "| movement of | "
                        + " | ".join(found)
                        + " |\n|"
                        + " --- |" * (1 + len(found))
                    )
                print(
                    f"| {case} | " + " | ".join(f"{value:.0f}" for value in found.values()) + " |",
                    flush=True,
                )
        if seconds:
            crowd(address, pid, seconds)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0)
