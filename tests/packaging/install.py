"""Build the wheel and the source distribution, install them into fresh environments, and run smoke.py there.

``python tests/packaging/install.py`` does so for the interpreter that runs it, with the versions of requirements.lock;
``--python`` names others, ``--versions latest`` takes the newest packages and ``lowest`` the oldest that pyproject.toml allows,
``--extras`` installs ``all`` too, ``--keep`` copies what passed into a folder. The wheel built from the source distribution must
have the files of the one built from the checkout, and their long description must not refer to files of the checkout.
"""

import argparse
import email
import email.message
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def main() -> None:
    """Build, install and try, for each interpreter."""
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        wheels = [options.wheel] if options.wheel else built(Path(folder))
        pins = Path(folder, "pins.txt")
        pins.write_text("\n".join(constraints(options.versions, wheels[0])))
        for python in options.python:
            for k, wheel in enumerate(wheels):
                levels = ["core", "cli", *(["all"] if options.extras and k == 0 else [])]
                tried = attempt(python, wheel, pins, levels, Path(folder))
                print(
                    f"{python}, {wheel.parent.name}/{wheel.name}, {options.versions}: {tried}",
                    flush=True,
                )
        if options.keep:
            options.keep.mkdir(exist_ok=True)
            for file in [*Path(folder, "source").glob("*"), wheels[0]]:
                shutil.copy(file, options.keep)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--python", nargs="+", default=[sys.executable], metavar="INTERPRETER")
    parser.add_argument("--versions", choices=["locked", "latest", "lowest"], default="locked")
    parser.add_argument("--extras", action="store_true", help="also with the extra all")
    parser.add_argument("--wheel", type=Path, help="a wheel that was built before")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="where wheel and source distribution are put"
    )
    return parser.parse_args()


def built(folder: Path) -> list[Path]:
    """Wheel of the checkout, and wheel of the source distribution of the checkout; they have the same files."""
    (archive,) = _hatch(ROOT, folder / "source", "sdist")
    (direct,) = _hatch(ROOT, folder / "from-checkout", "wheel")
    with tarfile.open(archive) as file:
        file.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    (indirect,) = _hatch(unpacked, folder / "from-sdist", "wheel")
    first, second = (set(zipfile.ZipFile(wheel).namelist()) for wheel in (direct, indirect))
    if first != second:
        sys.exit(
            f"the wheels of the checkout and of the source distribution differ in {sorted(first ^ second)}"
        )
    if broken := re.findall(
        r"(?:\]\(|src=.|href=.)(?!https?:)[^)\"']*", str(metadata(direct).get_payload())
    ):
        sys.exit(f"the long description refers to {broken}, which package indices do not have")
    return [direct, indirect]


def _hatch(source: Path, target: Path, kind: str) -> list[Path]:
    command = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "--target",
        kind,
        "--directory",
        str(target),
    ]
    subprocess.run(command, cwd=source, check=True, stdout=subprocess.DEVNULL)
    return list(target.iterdir())


def constraints(versions: str, wheel: Path) -> Iterable[str]:
    """Pins of the lock, or the lower bound of each requirement of the wheel."""
    if versions == "latest":
        return []
    if versions == "locked":
        return re.findall(
            r"^[\w.-]+==\S+(?: ; [^\\\n]*[^\\\s])?",
            (ROOT / "requirements.lock").read_text(),
            re.MULTILINE,
        )
    required = metadata(wheel).get_all("Requires-Dist", [])
    return {
        f"{found[1]}=={found[2]}"
        for entry in required
        if (found := re.match(r"([\w.-]+)>=([\d.]+)", entry))
    }


def metadata(wheel: Path) -> email.message.Message:
    """Names, requirements and, as its payload, the long description of a wheel."""
    with zipfile.ZipFile(wheel) as file:
        (name,) = (name for name in file.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(file.read(name))


def attempt(python: str, wheel: Path, pins: Path, levels: list[str], folder: Path) -> str:
    """Versions with which the wheel passed, in an environment of its own, outside the checkout."""
    place = folder / "environment"
    shutil.rmtree(place, ignore_errors=True)
    subprocess.run([python, "-m", "venv", "--without-pip", place], check=True)
    inside = place / "bin" / "python"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(inside),
        "--quiet",
        "--disable-pip-version-check",
    ]
    for level in levels:
        what = str(wheel) if level == "core" else f"{wheel}[{level}]"
        options = ["--only-binary", ":all:", "--no-compile", "--constraint", str(pins)]
        subprocess.run([*pip, "install", *options, what], check=True)
        subprocess.run([inside, "-I", HERE / "smoke.py", level], cwd=folder, check=True)
    listing = subprocess.check_output([*pip, "freeze"], text=True).split()
    shown = [line for line in listing if line.startswith(("numpy=", "scipy=", "click=", "xarray="))]
    return f"{' '.join(levels)} pass with {' '.join(shown)}"


if __name__ == "__main__":
    main()
