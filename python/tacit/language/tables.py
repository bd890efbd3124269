"""Tables for families: a frame, a dictionary of arrays, or a CSV file; which columns they have, and as files again."""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from ..data import columns_of, is_table, numbers_of, same_for_same
from ..errors import UsageError
from ..facts import did_you_mean
from .places import refusal, refused_data
from .printer import Array, Definition, number_text

# `stem_7`, without zeros in front: columns stem_1, stem_2, ... form a vector (src/model/table.c).
_NUMBERED: Final = re.compile(r"(?P<stem>[A-Za-z_][A-Za-z0-9_]*)_[1-9][0-9]{0,6}\Z")


class Table(NamedTuple):
    """Data of a family: made by ``Model.data``, and used by ``Model.family``."""

    definition: Definition
    columns: dict[str, tuple[int, ...]]  #: the shape of each: () for a number, (n,) for a vector
    public: tuple[str, ...]
    rows: int | None  #: None where they are in a file
    given: dict[str, Any] | None  #: arrays by column, and the members' names; None where they are in a file
    path: str | None  #: of the file
    unread: dict[str, str]  #: columns that hold no numbers, and why not

    @property
    def name(self) -> str:
        return self.definition.name


def read_frame(value: Any, what: str) -> tuple[dict[str, Any], int, dict[str, str]]:
    """The columns of a frame or a dictionary as arrays, and how many rows there are.

    A column without numbers, of texts for example, is allowed where nobody uses it: the last is why it has none.
    """
    if not is_table(value):
        raise TypeError(
            f"{what} is a DataFrame, a dictionary of columns or a structured array, not {type(value).__name__}; a file "
            "is m.data('homes', csv='homes.csv')"
        )
    given: dict[str, Any] = {}
    unread: dict[str, str] = {}
    try:
        columns = columns_of(value, what)
    except UsageError as error:
        raise refused_data(str(error)) from None
    for name, values in columns.items():
        try:
            if name == "name":
                given[name] = list(values)
            else:
                given[name] = same_for_same(values, numbers_of(values, f"column '{name}' of {what}").copy())
        except UsageError as error:
            numbered = _NUMBERED.match(name)
            unread[name] = unread[numbered["stem"] if numbered else name] = str(error)
    for name in list(given):  # a vector misses what one of its components misses
        numbered = _NUMBERED.match(name)
        if numbered is not None and numbered["stem"] in unread and numbered["stem"] not in columns:
            del given[name]
    if not given:
        raise refused_data(next(iter(unread.values())))
    for name, array in given.items():
        if name != "name" and (array.ndim not in (1, 2) or array.size == 0):
            raise refused_data(
                f"column '{name}' of {what} has shape {array.shape}; a column is members, or members x components"
            )
        if len(array) != len(next(iter(given.values()))):
            first, rows = next((one, len(values)) for one, values in given.items())
            raise refused_data(f"{what}: '{first}' has {rows} rows, '{name}' has {len(array)}")
    return given, len(next(iter(given.values()))), unread


def read_header(path: str) -> list[str]:
    """The names of the columns of a CSV file."""
    with open(path, newline="", encoding="utf-8", errors="replace") as file:
        return next(csv.reader(file), [])


def read_shape(path: str) -> tuple[int | None, ...]:
    """The shape of a matrix in a CSV file: one row or one column is a vector."""
    with open(path, newline="", encoding="utf-8", errors="replace") as file:
        rows = [row for row in itertools.islice(csv.reader(file), 2) if row]
    columns = len(rows[0]) if rows else 1
    if len(rows) < 2:
        return () if columns == 1 else (columns,)
    return (None,) if columns == 1 else (None, columns)


def _opened(path: str) -> Any:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as problem:
        raise refusal(f"{path!r} is not a .npy file of numbers: {problem}") from None


def read_npy_header(path: str) -> list[str]:
    """The names of the columns of a .npy file, as a CSV file would have them."""
    fields = _opened(path).dtype.fields
    if fields is None:
        raise refusal(f"{path!r} has no named fields: a table is a structured array, as frame.to_records() gives it")
    header: list[str] = []
    for name, (of_field, *_) in fields.items():
        header += [f"{name}_{i + 1}" for i in range(of_field.shape[0])] if of_field.shape else [name]
    return header


def read_npy_shape(path: str) -> tuple[int | None, ...]:
    """The shape of the array in a .npy file: one row or one column is a vector."""
    shape = [length for length in _opened(path).shape if length != 1]
    return tuple(shape)


def shapes_of(names: Iterable[tuple[str, int]]) -> dict[str, tuple[int, ...]]:
    """The columns by name, where each of the names has so many components: pref_1, pref_2, ... are one vector.

    >>> shapes_of([("need", 1), ("pref_1", 1), ("pref_2", 1), ("goal", 3)])
    {'need': (), 'pref': (2,), 'goal': (3,)}
    """
    flat: list[str] = []
    for name, components in names:
        flat += [name] if components == 1 else [f"{name}_{i + 1}" for i in range(components)]
    there = set(flat)
    found: dict[str, tuple[int, ...]] = {}
    for name in flat:
        numbered = _NUMBERED.match(name)
        if numbered is not None and f"{numbered['stem']}_1" in there:
            before = found.get(numbered["stem"], (0,))
            found[numbered["stem"]] = ((before[0] if before else 0) + 1,)
        elif name != "name":
            found[name] = ()
    return found


def columns_of_table(given: dict[str, Any] | None, header: list[str]) -> dict[str, tuple[int, ...]]:
    """The shapes of the columns of arrays, or of a file with this header."""
    if given is None:
        return shapes_of((name, 1) for name in header)
    return shapes_of(
        (name, 1 if name == "name" or array.ndim == 1 else array.shape[1]) for name, array in given.items()
    )


def check_public(
    public: Iterable[str], columns: dict[str, tuple[int, ...]], unread: dict[str, str], has_names: bool, what: str
) -> tuple[str, ...]:
    """The columns to make public. All of them exist."""
    if isinstance(public, (str, Mapping)):
        raise TypeError(f"public is a list of names of columns, such as public=['cap'], not {public!r}")
    listed = tuple(public)
    for one in listed:
        if one not in columns and not (one == "name" and has_names):
            if one in unread:
                raise refused_data(unread[one])
            raise refusal(f"{what} has no column {one!r}{did_you_mean(str(one), columns)}")
    return listed


def _exact(value: float) -> str:
    return "-0.0" if value == 0 and math.copysign(1, value) < 0 else number_text(value)


def csv_of_table(given: dict[str, Any]) -> str:
    """The table as a CSV file. Reading it gives the same doubles."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    header: list[str] = []
    columns: list[list[str]] = []
    for name, values in given.items():
        if name == "name":
            header.append(name)
            columns.append([str(one) for one in values])
            continue
        parts = values.reshape(len(values), -1)
        header += [name] if parts.shape[1] == 1 else [f"{name}_{i + 1}" for i in range(parts.shape[1])]
        columns += [[_exact(one) for one in parts[:, i].tolist()] for i in range(parts.shape[1])]
    writer.writerow(header)
    writer.writerows(zip(*columns))
    return out.getvalue()


def csv_of_array(array: Array) -> str:
    """A vector (one number in each line) or a matrix as a CSV file without a header."""
    rows = np.atleast_1d(array)
    rows = rows.reshape(len(rows), -1)
    return "".join(",".join(_exact(one) for one in row) + "\n" for row in rows.tolist())
