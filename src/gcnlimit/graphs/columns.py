"""Columns of a table of nodes: features as numbers, classes, and what stands for a missing value."""

from __future__ import annotations

import contextlib
import itertools
import math
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from gcnlimit._runtime.memory import require
from gcnlimit._values import Array, printable, shown
from gcnlimit.errors import ParameterError

Cells = Sequence[Any]
# as people, pandas, SAS, R, C, databases, spreadsheets and, with a letter, Stata write
_MARKS = "- -- \u2013 \u2014 ? . .. ... : na n/a n.a. n.d. k.a. nan -nan nat none null (null) \\n"
_MARKS += " missing <na> #na #n/a #null! #nv 1.#qnan -1.#ind #div/0! #value! #ref! #name? #num!"
_MARKS += " #wert! #bezug! #valeur! 0000-00-00"
MISSING = {"", *_MARKS.split(), *(f".{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")}
UNKNOWN = MISSING | {"unknown", "unlabelled", "unlabeled", "-1"}
"""What marks an unlabelled node in a table; a missing feature is one of the others, or `unknown` among numbers."""
MOST_WORDS = 20
_TRUTH = {"TRUE": "True", "true": "True", "FALSE": "False", "false": "False"}
_MINUS = "\u2212"  # as word processors write it
_MONEY = "$€£¥₹￥￡₩₽₺₪₫฿円元"
_CODES = r"USD|EUR|GBP|CHF|JPY|INR|CNY|PLN|SEK|NOK|DKK|Fr\.|Rs\.?|kr\.?"
_BEFORE = f"((?:[A-Z]{{0,2}}[{_MONEY}]|{_CODES})?)"
# per cent, or a unit such as km/h
_AFTER = rf"((?:[A-Z]{{0,2}}[{_MONEY}]|[%\uff05]|°[CF]?|zł|Kč|\s[A-Za-zµ°/²³]{{1,5}})?)"
_IN_BRACKETS = re.compile(r"^\((.*)\)$")  # a negative number, as bookkeepers write it
_CODE = re.compile(r"0\d+")  # such as a postcode
_COMPACT = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])([0-2]\d|3[01])")  # 20231231
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")
_SPACES = "[ _'\u2019\u00a0\u202f]"
_DATES = ["%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y年%m月%d日", "%Y. %m. %d.", "%Y-%m", "%m/%Y"]
_DATES += [f"%d{mark}%m{mark}{year}" for mark in "/-." for year in ("%Y", "%y")]
_DATES += [f"%m{mark}%d{mark}{year}" for mark in "/-" for year in ("%Y", "%y")]
_DATES += ["%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%d %B %Y", "%d/%b/%Y", "%d%b%Y", "%b %d, %Y"]
_DATES += ["%B %d, %Y", "%b %Y", "%B %Y", "%b-%Y", "%b-%y"]
_SECONDS = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f")
_CLOCKS = ("", *_SECONDS, *(f"{clock}%z" for clock in _SECONDS), "%I:%M %p", "%I:%M:%S %p")
_MIDNIGHT, _ZERO = datetime.strptime("", ""), timedelta()
_BEFORE_CLOCK = re.compile(r"[ T](?=\d{1,2}:\d{2})")
_TIME = re.compile(r".*\d[ :]\d\d:\d\d|\d\d?\.?[ -][^\W\d]{3,9}\.?[ -](\d\d){1,2}$")  # 3 mai 2024
_ZONE = re.compile(r"(:\d\d(?:\.\d+)?)(?: ?(?:UTC|GMT)|([+-]\d\d))$")  # as databases write it
# (1, 2) or 0.5;3, but not 1,5, which is a number
_ITEM = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_BARE = rf"{_ITEM}([,;])\s*{_ITEM}(?:\1\s*{_ITEM})*"
_ADDRESS = re.compile(r"^<.* at 0x\w+>$", re.DOTALL)
_LIST = re.compile(rf"{_BARE}|[\[(]\s*{_ITEM}(?:[,;\s]\s*{_ITEM})*\s*[\])]")


def text(cell: Any) -> str:
    """A cell as text, whole numbers without a fraction: pandas turns those of a column with missing values into 3.0.

    >>> text(" a "), text(3.0), text(None)
    ('a', '3', '')
    """
    if isinstance(cell, str):
        return cell.strip()
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        return str(int(cell))
    if isinstance(cell, timedelta):
        return str(cell / timedelta(days=1))
    written = None
    with contextlib.suppress(Exception):  # of a class of somebody else's
        written = "" if cell is None else str(cell).strip()
    # neither has a set an order, nor an address in the memory a meaning
    if written is None or isinstance(cell, set | frozenset | dict) or _ADDRESS.search(written):
        needed = "neither a number nor a word, nor a list of numbers; write one of these"
        raise ParameterError(f"a cell of a table, or an attribute, is {shown(cell)}: {needed}")
    return written


def _in_both(name: str, value: Any) -> str:
    """An option as it is written on the command line and in Python."""
    written = "" if value is True else f" {shlex.quote(value)}"
    return f"--{name}{written} ({name}={value!r})"


spelling: ContextVar[Callable[[str, Any], str]] = ContextVar("spelling", default=_in_both)
"""How sentences write an option: a page in the browser has controls instead."""


def option(name: str, value: Any) -> str:
    """How an option is written by those who read the sentence."""
    return spelling.get()(name, value)


def listed(names: Iterable[str], most: int = MOST_WORDS) -> str:
    """Some names in a sentence, the first of them if they are many."""
    several = [printable(name[:100]) for name in names]
    more = f" and {len(several) - most} more" if len(several) > most else ""
    return f"{', '.join(several[:most])}{more}"


def is_number(cell: Any) -> bool:
    """Whether a cell is a finite number; 10_20 is one in Python alone."""
    try:
        return math.isfinite(float(cell)) and "_" not in str(cell)
    except (TypeError, ValueError, OverflowError):
        return False


def numbers_of(texts: Collection[str], comma: bool = False) -> tuple[dict[str, Any] | None, str]:
    """Numbers that texts stand for, all written in one way, else None; and what that way is unless it is the usual one.

    Thousands may be separated, and all may be per cent, have one currency, or be lists of one length. With `comma`,
    decimal commas are preferred, and 1.200 beside 900 is twelve hundred.

    >>> numbers_of(["$1,200.50", "$7"])
    ({'$1,200.50': 1200.5, '$7': 7.0}, 'thousands separators, $')
    >>> numbers_of(["1.200,50", "1.200"])[0]
    {'1.200,50': 1200.5, '1.200': 1200.0}
    """
    dotted = [value for value in texts if comma and "." in value]
    grouped = bool(dotted) and all(map(_THOUSANDS.fullmatch, dotted))
    if all(map(is_number, texts)) and not grouped:
        codes = [value for value in texts if _CODE.fullmatch(value)]
        words = f"for codes use {option('words', 'COLUMN')}"
        how = f"without leading zeros, such as {min(codes)}; {words}" if codes else ""
        return {value: float(value) for value in texts}, how
    ways = [(",", r"\."), (_SPACES, r"\."), (r"\.", ","), (_SPACES, ",")]
    for group, point in [*ways[2:], *ways[:2]] if comma else ways:
        india = "(?:[0-9]{1,2},)?(?:[0-9]{2},)+[0-9]{3}|" * (group == ",")  # 1,20,000
        whole = rf"{india}[1-9][0-9]{{0,2}}(?:{group}[0-9]{{3}})+|[0-9]+"
        digits = rf"({whole})(?:{point}([0-9]+))?(e[+-]?[0-9]{{1,2}})?"
        way = re.compile(rf"{_BEFORE} ?([+-]?){_BEFORE} ?{digits}\s?{_AFTER}", re.IGNORECASE)
        signed = {value: _IN_BRACKETS.sub(r"-\1", value.replace(_MINUS, "-")) for value in texts}
        matches = {value: way.fullmatch(text) for value, text in signed.items()}
        parts = {value: match.groups("") for value, match in matches.items() if match}
        units = {before + after + last.strip() for before, _, after, *_, last in parts.values()}
        mixed = "" in units and not units <= {"", *_MONEY}  # 5 beside 5% or 5 kg
        if len(parts) < len(texts) or len(units - {""}) > 1 or mixed:
            continue
        value = {
            text: float(f"{sign}{re.sub('[^0-9]', '', whole)}.{fraction}{power}")
            for text, (_, sign, _, whole, fraction, power, _) in parts.items()
        }
        grouped = any(not whole.isdecimal() for *_, whole, _, _, _ in parts.values())
        told = ["thousands separators"] * grouped
        told += ["decimal commas"] * (point == "," and not comma)
        return value, ", ".join([*told, *(units - {""})])
    lists = {value: [*map(float, re.findall(_ITEM, value))] for value in texts}
    alike = all(map(_LIST.fullmatch, texts)) and len({*map(len, lists.values())}) == 1
    return (lists, "lists") if alike else (None, "")


def days_of(texts: Collection[str]) -> tuple[dict[str, float] | None, str]:
    """Days since the first of some dates, all written in one way, None if they are not, or if day and month cannot be told apart.

    >>> days_of(["31/12/2023", "2/1/2024"])
    ({'31/12/2023': 0.0, '2/1/2024': 2.0}, 'days since 2023-12-31')
    """
    forms = ["%Y%m%d"] if all(map(_COMPACT.fullmatch, texts)) else _DATES
    zoned = {value: _ZONE.sub(lambda m: f"{m[1]}{m[2] or '+00'}:00", value) for value in texts}
    parts = {k: (*_BEFORE_CLOCK.split(value, maxsplit=1), "")[:2] for k, value in zoned.items()}
    dates, times = map(_readings, zip(*parts.values(), strict=True), (forms, _CLOCKS))
    if not dates or not times or any(other != dates[0] for other in dates):
        return None, ""
    in_utc = {k: t.replace(tzinfo=None) - (t.utcoffset() or _ZERO) for k, t in times[0].items()}
    moments = {k: dates[0][day] + (in_utc[clock] - _MIDNIGHT) for k, (day, clock) in parts.items()}
    first = min(moments.values())
    days = {value: (moment - first) / timedelta(days=1) for value, moment in moments.items()}
    return days, f"days since {first:%Y-%m-%d}"


def _is_time(value: str) -> bool:
    """Whether a text is a date, with a clock or without, or the time of a clock."""
    day = _BEFORE_CLOCK.split(value, maxsplit=1)[0]
    return bool(_TIME.match(value) or _readings([day], _DATES) or _readings([value], _CLOCKS[1:]))


def _readings(texts: Iterable[str], forms: Iterable[str]) -> list[dict[str, datetime]]:
    """Times that texts stand for, in each of the forms that all of them have."""
    different = {*texts}
    readings = []
    for form in forms:
        with contextlib.suppress(ValueError):
            readings.append({value: datetime.strptime(value, form) for value in different})
    return readings


def classes_of(cells: Cells, notes: list[str], kept: bool = False) -> list[Any]:
    """Classes, whole numbers or strings, None where unknown; what they are and what counted as unknown is noted.

    If all words are `kept`, only an empty cell is unknown.

    >>> notes = []
    >>> classes_of(["2", "NA", "1.0"], notes), notes
    ([2, None, 1], ['Classes: 1 (1), 2 (1).', '1 of 3 nodes has no label (NA).'])
    """
    unknown = {""} if kept else UNKNOWN
    texts = [text(cell) for cell in cells]
    named = [value for value in texts if value.lower() not in unknown]
    # 01 is a word, of which 1 would lose a digit
    whole = all(re.fullmatch(r"-?(0|[1-9][0-9]{0,14})(\.0+)?", value) for value in named)
    read = (lambda value: int(float(value))) if whole else str
    classes = [None if value.lower() in unknown else read(value) for value in texts]
    counts = Counter(value for value in classes if value is not None)
    numbers = all(map(is_number, counts))
    if len(counts) > MOST_WORDS and (len(counts) == len(named) or (numbers and not whole)):
        kind = "numbers" if numbers else "words"
        many = f"the column of the classes holds {len(counts)} different {kind}, such as {named[0]}"
        raise ParameterError(f"{many}; name one that nodes share by {option('label', 'COLUMN')}")
    if counts:
        notes.append(f"Classes: {listed(f'{c} ({n})' for c, n in sorted(counts.items()))}.")
    _note_cases(map(str, counts), notes)
    if rest := len(texts) - len(named):
        marks = listed(sorted({value or "empty" for value in texts if value.lower() in unknown}))
        have = "has" if rest == 1 else "have"
        notes.append(f"{rest} of {len(texts)} nodes {have} no label ({marks}).")
    return classes


def _note_cases(words: Iterable[str], notes: list[str]) -> None:
    """Note words that differ in nothing but capital letters."""
    alike = itertools.groupby(sorted(words, key=lambda word: (word.lower(), word)), str.lower)
    if pairs := [" and ".join(spelt) for spelt in ([*same] for _, same in alike) if spelt[1:]]:
        told = f"Words that differ only in capital letters count separately: {listed(pairs)}"
        notes.append(f"{told}; write them alike if they are the same.")


def features_of(
    columns: Mapping[str, Cells], notes: list[str], kept: Collection[str] = (), comma: bool = False
) -> Array | None:
    """Matrix of features, None without a column; what was filled in or encoded is noted.

    Words become a column of 0 and 1 for each, up to 20. A missing number is replaced by the mean of its column, and an extra
    column of 0 and 1 marks where numbers are missing, shared by the columns in which the same ones are. In the columns that are
    `kept` every cell is a word; `comma` prefers decimal commas.

    >>> notes = []
    >>> features_of({"age": ["20", "", "30"], "town": ["x", "y", "x"]}, notes)
    array([[20.,  1.,  0.,  0.],
           [25.,  0.,  1.,  1.],
           [30.,  1.,  0.,  0.]])
    >>> print(*notes, sep="\\n")
    Missing numbers were replaced by the mean of their column, and 0/1 columns mark them: age (1).
    Words became columns of 0 and 1: town (2).
    """
    parts = []
    marks = []
    words: list[str] = []
    refused: dict[str, str] = {}
    told: dict[str, list[str]] = {_FILLED: [], _READ: [], _ENCODED: [], _LACKING: [], _FAR: []}
    for name, cells in columns.items():
        commas = comma and any(isinstance(cell, str) for cell in cells)
        if name not in kept and not commas and (plain := _numbers(cells)) is not None:
            parts.append(plain)
            told[_FAR] += _far_number(name, plain)
            continue
        # a program writes TRUE, another true
        texts = [_TRUTH.get(word := text(cell), word) for cell in cells]
        gaps = {""} if name in kept else MISSING
        present = {value for value in texts if value.lower() not in gaps}
        if name not in kept and {v.lower() for v in present if not is_number(v)} == {"unknown"}:
            present = {value for value in present if value.lower() != "unknown"}
        missing = np.array([value not in present for value in texts])
        value, how = (None, "") if name in kept or not present else days_of(present)
        value, how = (value, how) if value or name in kept else numbers_of(present, commas)
        if missing.all():
            told[_FILLED].append(f"{name} (all, left out)")
        elif value is None and (why := _refusal(name, sorted(present), name in kept)):
            refused[name] = why
        elif value is None:
            parts.append(_indicators(texts, sorted(present)))
            told[_ENCODED].append(f"{name} ({parts[-1].shape[1]})")
            _note_cases(present, words)
            if missing.any():
                lost = sorted({value or "empty" for value in texts} - present)
                told[_LACKING].append(f"{name} ({missing.sum()}: {listed(lost)})")
        else:
            gap = np.multiply(math.nan, next(iter(value.values())))  # as long as a list
            numbers = np.array([value.get(each, gap) for each in texts]).reshape(len(texts), -1)
            told[_FAR] += _far_number(name, numbers[~missing])
            parts.append(np.where(missing[:, None], numbers[~missing].mean(axis=0), numbers))
            told[_READ] += [f"{name} ({how})"] * bool(how)
            if missing.any():
                marks.append(missing)
                told[_FILLED].append(f"{name} ({missing.sum()})")
    if refused:
        why, *others = refused.values()
        more = f"; other columns that cannot be features as they are: {listed([*refused][1:])}"
        raise ParameterError(f"{why}{more * bool(others)}")
    if marks:
        parts.append(np.unique(np.array(marks, float), axis=0).T)
    notes += [f"{sentence}: {listed(names)}." for sentence, names in told.items() if names]
    keep = f"To keep words such as NA, use {option('words', 'COLUMN')}."
    notes += [keep] * any(not lost.endswith(": empty)") for lost in told[_LACKING]) + words
    size = 16.0 * sum(part.size for part in parts)
    require(f"a table of {sum(p.shape[1] for p in parts)} features", size, "drop some columns")
    return np.hstack(parts) if parts else None


def _indicators(texts: list[str], words: list[str]) -> Array:
    """A column of 0 and 1 for each word; an array of the texts would take as much for each as for the longest."""
    place = {word: k for k, word in enumerate(words)}
    found = np.array([place.get(text, -1) for text in texts])
    return np.array(found[:, None] == np.arange(len(words)), float)


_FILLED = "Missing numbers were replaced by the mean of their column, and 0/1 columns mark them"
_READ = "Read as numbers"
_ENCODED = "Words became columns of 0 and 1"
_LACKING = "Missing words have 0 in all of these columns"
_FAR = "A number that repeats unlike all others may stand for a missing one (then empty its cells)"


def _far_number(name: str, numbers: Array) -> list[str]:
    """The extreme of a column that repeats farther from all others than these from each other, as -999 does; or -1 below 0."""
    for extreme in (numbers.min(), numbers.max()):
        others = numbers[numbers != extreme]
        times = numbers.size - others.size
        if extreme == 0.0 or times < 2 or np.unique(others).size < 3:
            continue
        low, high = others.min(), others.max()
        away = max(0.5 * low - 0.5 * extreme, 0.5 * extreme - 0.5 * high)  # halves do not overflow
        if away > 0.5 * high - 0.5 * low or (extreme == -1.0 and low >= 0.0):
            return [f"{name} ({extreme:.10g}, {times} times)"]
    return []


def _numbers(cells: Cells) -> Array | None:
    """A column of finite numbers, as most are, or of lists of them: one call instead of a look at each cell."""
    try:
        values = np.array(cells, float).reshape(len(cells), -1)
    except Exception:  # of a class of somebody else's, too
        return None
    if any(isinstance(cell, str) and (_CODE.fullmatch(cell) or "_" in cell) for cell in cells):
        return None
    dates = values.shape[1] == 1 and np.all((values > 19e6) & (values < 21e6))  # as 20231231
    return None if dates or isinstance(cells[0], bool) or not np.isfinite(values).all() else values


def _refusal(name: str, values: list[str], kept: bool) -> str:
    """Why words cannot be a column of 0 and 1 for each, and what to do; empty if they can."""
    told = ""
    free = [] if kept else values
    alone = [value for value in free if numbers_of([value])[0] is not None]
    some = [*free[: MOST_WORDS + 1], *free[-1:]]
    if days := [value for value in some if _is_time(value)]:
        other = next((value for value in some if value not in days), days[-1])
        both = " and ".join(map(repr, sorted({days[0], other})))
        told = f"dates or times, such as {both}; write all as 2023-12-31, or as numbers"
    elif alone and len(alone) == len(values):
        unlike = (p for p in itertools.combinations(alone[:MOST_WORDS], 2) if not numbers_of(p)[0])
        ways = " and ".join(map(repr, next(unlike, (alone[0], alone[-1]))))
        told = f"numbers written in different ways, such as {ways}; write them alike"
    elif alone:
        word = next(value for value in values if value not in alone)
        both = f"numbers, such as {alone[0]}, and words, such as {word!r}; correct or empty one"
        told = f"{both} of the two, take all as words by {option('words', name)}"
    elif len(values) > MOST_WORDS:
        other = f"use {option('label', name)} if these are the classes"
        many = f"{len(values)} different words, such as {values[0]!r}"
        told = f"{many}; group them into at most {MOST_WORDS}, {other}"
    return told and f"column {name!r} holds {told}, or leave it out by {option('drop', name)}"
