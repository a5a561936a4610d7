"""Tables as columns of cells: text in any of the usual forms, spreadsheets, data frames of pandas."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, NamedTuple

from gcnlimit._runtime.memory import available, require
from gcnlimit._validation import holds
from gcnlimit.errors import GCNLimitError, ParameterError
from gcnlimit.graphs.check import counted
from gcnlimit.graphs.columns import is_number, listed, option, text
from gcnlimit.graphs.dataset import Location, unpacked_size, unzipped

ENDS = (("source", "src", "from", "node1", "u"), ("target", "dst", "to", "node2", "v"))
WEIGHT = ("weight", "weights", "w")
"""What the columns of both ends of an edge, and of its weight, are usually called; see `short`."""
Columns = dict[str, list[Any]]
SPREADSHEETS = (".xlsx",)
_MEMORY = 40.0  # bytes for each byte of a table that is read
_ROWS = 256  # of a text split at once: too few lists to call the garbage collector, which is slow
_LOOKED_AT = 4096  # rows that tell a decimal comma
_LARGEST_SHEET = (1_048_576, 16_384)  # rows and columns, as spreadsheets have them
_FOREIGN = re.compile("[^\0-\u02ff]{200,}")  # letters that may be accents of one another
_NO_TABLE = re.compile(r"""\s*([\[{]\s*["\[{]|<[!?a-z]|%%MatrixMarket)""", re.IGNORECASE)
_COMMENTS = re.compile(r"((([#%]|//)[^\n]*|sep=.[^\S\n]*)(\n|\Z)|\s*\n|\s+\Z)*+", re.IGNORECASE)
# lines that databases draw in tables, such as --+--, and the number of rows they write below
_RULES = re.compile(r"^[ |+:]*-:*-[-:|+ ]*$|^ *\(?[0-9]+ rows?\b[^\n]*+\s*\Z", re.MULTILINE)
_FRAMED = re.compile(r"^ *\|(.*)\| *$", re.MULTILINE)
_NAME = 1000  # letters that the name of a column may have
_HEAD = 10  # rows in which the mark between cells is looked for, below a title
_COUNTERS = {"index", "level_0", "rownames"}  # columns of row numbers that pandas and R write
# numbers that can be read in one way only, with a decimal comma or point; 1,200 can be in two
_DECIMAL = r"[+-]?(\d+{0}(\d\d?|\d{{4,}})|0{0}\d+|\d+({1}\d{{3}})+{0}\d+)\D{{0,6}}"
_WITH_COMMA = re.compile(_DECIMAL.format(",", r"\."))
_WITH_POINT = re.compile(_DECIMAL.format(r"\.", ","))


class Table(NamedTuple):
    """Columns of a table by name, what sentences call it, whether a comma is its decimal point, and all cells are text."""

    columns: Columns
    shown: str = ""
    comma: bool = False
    written: bool = False

    def words(self, name: str) -> list[str]:
        """Cells of a column as text, whole numbers without a fraction: pandas writes 3.0 where a cell is missing."""
        cells = self.columns[name]
        if not self.written:
            return [text(cell) for cell in cells]
        whole = all(re.fullmatch(r"-?\d+\.0|", cell) for cell in cells)
        return [cell.removesuffix(".0") for cell in cells] if whole else cells

    def counters(self) -> list[str]:
        """First columns that count the rows, as pandas writes them, from 0, and R, from 1; without a name in any order."""
        return [*takewhile(self._counts_rows, self.columns)]

    def _counts_rows(self, name: str) -> bool:
        cells = self.words(name)
        if re.fullmatch(r"Unnamed: 0(\.\d)*", name):
            return len({*cells}) == len(cells) and all(map(str.isdecimal, cells))
        first = int(cells[0] == "1")
        return name.lower() in _COUNTERS and cells == [str(first + k) for k in range(len(cells))]

    def names(self, column: str) -> list[str]:
        """Names of nodes in a column, none of them empty."""
        names = self.words(column)
        cells = () if self.written else self.columns[column]
        if any(isinstance(cell, float) and abs(cell) > 2.0**53 for cell in cells):
            lost = "numbers of more digits than a float keeps"
            raise ParameterError(f"column {column!r} of {self.shown} holds {lost}; make it text")
        if "" in names:
            row = f"row {names.index('') + 1} of its column {column!r}, which names nodes"
            raise ParameterError(f"{self.shown} has an empty cell in {row}; fill it in")
        return names


class How(NamedTuple):
    """How tables are read; see `gcnlimit.real.read`."""

    label: str | None = None
    id: str | None = None
    drop: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    undirected: bool = False
    encoding: str | None = None


def read_table(source: Any, kind: str, how: How, notes: list[str], naming: Any = None) -> Table:
    """Table of a data frame or a file; a table of nodes has a head, a list of edges unless it holds a node of `naming`."""
    if holds(hasattr, source, "columns"):
        shown = f"the table of {kind}"
        try:  # one of polars or Arrow
            source = source if hasattr(source, "iloc") else source.to_pandas()
        except (AttributeError, ImportError) as error:
            told = f"{shown} is a {type(source).__name__} that pandas does not take over ({error})"
            raise ParameterError(f"{told}; convert it, or write it as CSV") from None
        frame = source.reset_index() if _index_counts(source, kind, how.id is not None) else source
        levels = [name if isinstance(name, tuple) else (name,) for name in frame.columns]
        head = [" ".join(map(str, level)).strip() for level in levels]
        columns = [frame.iloc[:, k].tolist() for k in range(len(head))]
        written = [[cell for cell in column if isinstance(cell, str)] for column in columns]
        comma = kind == "nodes" and _has_decimal_commas(written, "")
        return Table(_by_name(head, columns, shown), shown, comma)
    shown = repr(os.fspath(source))
    mark = ","  # in a spreadsheet numbers have a point
    try:
        raw = _content(source, shown)
        if Path(source).suffix.lower() in SPREADSHEETS:
            cells = _spreadsheet(raw, shown, kind, notes)
        else:
            cells, mark = _cells(_text(raw, shown, how.encoding, notes), shown, kind, notes)
    except csv.Error as error:
        remedy = "cut what is that long, or close a quote that is open"
        raise ParameterError(f"{shown} cannot be read as a table: {error}; {remedy}") from None
    except Exception as error:  # of many types, where zipfile meets a damaged file
        told = f"{shown} cannot be read as a table: {getattr(error, 'strerror', None) or error}"
        raise error if isinstance(error, GCNLimitError) else ParameterError(told) from None
    return Table(_named(cells, shown, naming), shown, _has_decimal_commas(cells, mark), True)


def _has_decimal_commas(columns: list[list[str]], mark: str) -> bool:
    """Whether numbers have decimal commas: if one of them can be read in no other way, or between semicolons if none can."""
    cells = [cell for column in columns for cell in column[:_LOOKED_AT]]
    if mark != "," and any(map(_WITH_COMMA.fullmatch, cells)):
        return True
    return mark == ";" and not any(map(_WITH_POINT.fullmatch, cells))


def _content(path: Location, shown: str) -> bytes:
    """Bytes of a file, unpacked if it is compressed, whatever its name; no more is unpacked than a table may have."""
    most = available() / _MEMORY
    raw = bytearray()
    with contextlib.ExitStack() as opened:
        file: Any = opened.enter_context(open(path, "rb"))
        begin = file.peek(4)
        if begin.startswith(b"\x1f\x8b"):
            file = opened.enter_context(gzip.open(file))
        elif begin.startswith(b"PK\3\4") and Path(path).suffix.lower() not in SPREADSHEETS:
            packed = opened.enter_context(unzipped(file))
            inside = [name for name in packed.namelist() if not re.search("/$|^__MACOSX", name)]
            if len(inside) != 1:
                raise ParameterError(f"{shown} holds {counted(len(inside), 'file')}; unpack it")
            file = opened.enter_context(packed.open(inside[0]))
        while part := file.read(1 << 20):
            raw += part
            if len(raw) > most:
                bound = f"more than {most / 1e6:.3g} MB, for which there is not enough memory"
                remedy = "take a smaller one, or set GCNLIMIT_MEMORY"
                raise ParameterError(f"{shown} holds {bound}; {remedy}")
    return bytes(raw)


def _text(raw: bytes, shown: str, encoding: str | None, notes: list[str]) -> str:
    """Text of a file in the encoding given, else in Unicode, else, as is noted, in that of Windows."""
    marked = raw.startswith((b"\xff\xfe", b"\xfe\xff"))
    for code in [encoding] if encoding else ["utf-16" if marked else "utf-8-sig", "cp1252"]:
        try:
            written = raw.decode(code)
        except UnicodeError:
            continue
        except LookupError:
            remedy = "write it as Python does, such as utf-8, cp1252 or shift_jis"
            raise ParameterError(f"encoding = {encoding!r} is not known; {remedy}") from None
        if "\0" in written:  # another encoding, or no text at all
            continue
        if code == "cp1252" != encoding:
            told = f"{shown} is not UTF-8 and was read as cp1252, the encoding of Windows"
            notes.append(f"{told}; for another encoding use {option('encoding', 'NAME')}.")
        for run in _FOREIGN.findall(written):  # sorting the accents of one letter is slow
            if "x" * 99 in "".join("x" if unicodedata.combining(letter) else " " for letter in run):
                raise ParameterError(f"{shown} has a hundred accents on one letter; remove them")
        # é is one letter, as Macs do not write it; spaces of web pages are seen
        return unicodedata.normalize("NFC", written).replace("\u00a0", " ").replace("\u200b", "")
    tried = f"is not text in {encoding or 'UTF-8 or cp1252'}; save it as CSV"
    raise ParameterError(f"{shown} {tried}, or name its encoding by {option('encoding', 'NAME')}")


def _spreadsheet(raw: bytes, shown: str, kind: str, notes: list[str]) -> list[list[str]]:
    """Columns of the sheet that is called nodes or edges, else of the first, as text."""
    require(shown, _MEMORY * unpacked_size(io.BytesIO(raw)), "save it as CSV")
    try:
        import openpyxl

        book = openpyxl.load_workbook(io.BytesIO(raw), read_only=True, data_only=True)
        sheets = {sheet.title: sheet for sheet in book.worksheets}
        name = next((name for name in sheets if name.strip().lower() == kind), next(iter(sheets)))
        rows = _rows(sheets.pop(name), shown)
    except ImportError:
        needs = "needs openpyxl: pip install openpyxl"
        raise ParameterError(f"{shown} {needs}; or save it as CSV") from None
    except ParameterError:
        raise
    except Exception as error:  # of any type, where the reader meets a damaged file
        raise ParameterError(f"{shown} cannot be read as a spreadsheet: {error}") from None
    if sheets:
        notes.append(f"Read the sheet {name!r} of {shown}, not {listed(map(repr, sheets))}.")
    rows = _below_titles(rows, shown, notes)
    return [[*column] for column in zip(*rows, strict=True) if any(column)]


def _rows(sheet: Any, shown: str) -> list[list[str]]:
    """Rows of a sheet that are not empty, all of one length: one cell far out makes a whole table of empty ones."""
    sheet.reset_dimensions()
    rows: list[list[str]] = []
    far = "delete what stands far from the table"
    most, longest, written = available() / _MEMORY, 0, 0
    for count, cells in enumerate(sheet.iter_rows(values_only=True)):
        row = ["" if cell is None else text(cell) for cell in cells]
        if any(row):
            rows.append(row)
            longest, written = max(longest, len(row)), written + sum(map(len, row))
        if count >= _LARGEST_SHEET[0] or longest > _LARGEST_SHEET[1]:
            raise ParameterError(f"{shown} has cells beyond row 1048576 or column XFD; {far}")
        if longest * len(rows) + written > most:
            require(shown, _MEMORY * (longest * len(rows) + written), far)
    return [row + [""] * (longest - len(row)) for row in rows]


def _below_titles(rows: list[list[str]], shown: str, notes: list[str]) -> list[list[str]]:
    """Rows without the first ones that fill one cell, such as a title, where the next one fills three or is all that has two."""
    filled = [sum(map(bool, row)) for row in rows]
    above = next((k for k, cells in enumerate(filled) if cells != 1), 0)
    if above and (filled[above] > 2 or len(rows[0]) < len(rows[above])):
        title = next(filter(None, rows[0]))[:40]
        some = f"{counted(above, 'row')} above the names of the columns of {shown}"
        notes.append(f"Left out {some}: {title!r}.")
        return rows[above:]
    return rows


def _index_counts(frame: Any, kind: str, asked: bool) -> bool:
    """Whether the index of a data frame is a column, and not the whole numbers that filtering or sorting leave behind."""
    index = frame.index
    named = any(name is not None for name in index.names)
    if named or index.dtype.kind not in "iu" or not frame.shape[1]:
        return True
    first = frame.iloc[:, 0].map(str)  # a cell may be a list
    names_rows = first.is_unique and frame.dtypes.iloc[0].kind != "f"
    if type(index).__name__ == "RangeIndex":  # names the nodes if the first column does not by far
        names_rows = asked or 2 * first.nunique() >= len(first)
    return kind == "nodes" and not names_rows


def _cells(written: str, shown: str, kind: str, notes: list[str]) -> tuple[list[list[str]], str]:
    """Columns of a text, and the mark between its cells; rows of nodes may lack empty cells at their end."""
    if _NO_TABLE.match(written):
        other = "XML, JSON, a matrix or a web page"
        raise ParameterError(f"{shown} is {other}; save it as a table, such as CSV")
    written, ruled = _RULES.subn("", written.replace("\r\n", "\n").replace("\r", "\n"))
    written = _FRAMED.sub(r"\1", written) if ruled else written
    # comments stand at the head: below it, # may begin the name of a node
    written = _COMMENTS.sub("", written, 1)
    head = [line for line in written.split("\n", _HEAD)[:_HEAD] if line.strip()]
    several = [re.sub('"[^"]*"', "", line) for line in head] or [""]
    marked = [*map(re.compile("[,\t;|]").search, several)]  # all rows below a title are
    bare = next((line for k, line in enumerate(several) if all(marked[k:])), several[0])
    mark = max(",\t;| ", key=lambda mark: bare.count(mark) if mark != " " else 0.5)
    require(f"a row of {bare.count(mark)} cells in {shown}", 5e3 * bare.count(mark), "cut it")
    if '"' not in written:  # a cell, which may hold empty lines; rows without any go at once
        written = re.sub(rf"\n[{mark}\s]*\n", "\n", f"\n{written}")
    lines: Iterable[str] = io.StringIO(written)
    lines = map(str.strip, lines) if mark == " " else lines
    reader = csv.reader(lines, delimiter=mark, skipinitialspace=True)
    columns: list[list[str]] = []
    cut: list[str] = []
    while some := list(islice(reader, _ROWS)):
        rows = [row for row in some if "".join(row).strip()]
        rows = rows if columns else _below_titles(rows, shown, notes)
        if not columns and rows[1:] and not any(map(is_number, rows[0])):
            longer = [(len(row) - len(rows[0]), row[0]) for row in rows[1:]]
            if longer == [(1, str(k + 1)) for k in range(len(longer))]:
                rows[0].insert(0, "")  # R names no column of row numbers
        columns = columns or [[] for row in rows[:1] for _ in row]
        for row in [row for row in rows if len(row) != len(columns)]:
            lacking = len(columns) - len(row)
            if lacking < 0 and not any(row[lacking:]):
                del row[lacking:]
            elif lacking > 0 and kind == "nodes" and mark != " " and "\n" not in row[-1]:
                cut.append(row[0])
                row.extend([""] * lacking)
            else:
                begins = f"{shown}: its row that begins with {row[0][:40]!r}"
                both = f"has {counted(len(row), 'cell')} where the first has {len(columns)}"
                quote = f"complete it, or quote a cell that holds {mark!r}"
                quote += " (each row is one edge, unlike an adjacency list)" * (kind == "edges")
                raise ParameterError(f"{begins} {both}; {quote}")
        for column, cells in zip(columns, zip(*rows, strict=True), strict=False):
            column.extend(map(str.strip, cells))
        if kind == "edges" and len(columns) == 1:
            break  # one is refused, however long
    if cut:
        rows_cut = f"{counted(len(cut), 'row')} of {shown}, such as that of {cut[0][:40]!r}"
        notes.append(f"Cells at the end of {rows_cut}, are missing and taken as empty.")
    return columns, mark


def _named(columns: list[list[str]], shown: str, naming: set[str] | None) -> Columns:
    """Columns by the names at their head, by 1, 2, ... without one; empty ones are left out."""
    columns = [column for k, column in enumerate(columns) if k < 2 or any(column)]
    if not columns:
        raise ParameterError(f"{shown} is empty; it must have a row for each edge or node")
    headed = naming is None or _headed(columns, naming)
    head = [column.pop(0) if headed else str(k + 1) for k, column in enumerate(columns)]
    return _by_name(head, columns, shown)


def _by_name(head: list[str], columns: list[list[Any]], shown: str) -> Columns:
    """Columns by their names, all different; one without a name is called as pandas does."""
    names = [name or f"Unnamed: {k}" for k, name in enumerate(head)]
    while names[0] in names[1:] and not head[0]:
        names[0] += ".1"  # saved once more
    if (longest := max(map(len, names))) > _NAME:
        raise ParameterError(f"{shown} has a name of a column of {longest} letters; shorten it")
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise ParameterError(f"{shown} has two columns called {twice[0]!r}; rename one of them")
    if not columns or not columns[0]:
        raise ParameterError(f"{shown} has no rows below the names; give one for each edge or node")
    return dict(zip(names, columns, strict=True))


def short(name: str) -> str:
    """Name of a column in small letters, without what it says of nodes: source_id and source_town_id are source."""
    # backwards, since from each place of a long name all that follows would be looked at
    ends = re.match(r"(?:(?:di|edon|eman)[ _.:-]*)*(?=.)|", name.lower()[::-1])
    bare = name.lower().removesuffix(ends[0][::-1] if ends else "")
    return re.sub(r"^(from|to|source|target|src|dst)[ _.:-].*", r"\1", bare)


def _headed(columns: list[list[str]], names: set[str]) -> bool:
    """Whether a list of edges begins with the names of its columns: usual ones, or words where other rows are not such."""
    first = [column[0] for column in columns]
    heads = ENDS[0] + WEIGHT * (len(first) > 2)
    usual = not first[0] or any(cell.lower() in heads for cell in first)
    usual = usual or all({*map(short, first)}.intersection(each) for each in ENDS)
    if usual or len(first) < 2 or len(columns[0]) < 2:
        return usual
    ends = {cell for column in columns[:2] for cell in column[1:]}
    numbers_below = all(map(is_number, ends)) or (len(first) > 2 and is_number(columns[2][1]))
    if numbers_below and not any(map(is_number, first)):
        return True
    return bool(names) and not {*first[:2]} & (names | ends)
