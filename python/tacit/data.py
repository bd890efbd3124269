"""Arrays, frames and dictionaries as the tables and matrices of a problem.

Numbers go to the library as pointers and strides; it copies them once. An array is converted here first only where the
library cannot read it as it lies: other types than float64, foreign byte order, negative strides.
"""

from __future__ import annotations

import numbers
import re
import weakref
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ._binding import ffi
from .errors import Status, UsageError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def _wrong(text: str) -> UsageError:
    return UsageError(text, Status.BAD_USAGE)


def text_of(value: str, what: str) -> Any:
    """A text for C, which ends at a zero byte: one inside is refused."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is a text, not {type(value).__name__}")
    try:
        encoded = value.encode()
    except UnicodeEncodeError:
        raise _wrong(f"{what} has a character that UTF-8 does not have: {value!r}") from None
    if b"\0" in encoded:
        raise _wrong(f"{what} has a zero byte: {value!r}")
    return ffi.new("char[]", encoded)


def is_frame(value: Any) -> bool:
    """A pandas DataFrame, or anything that has columns and rows like one."""
    return hasattr(value, "columns") and hasattr(value, "iloc")


def is_table(value: Any) -> bool:
    """Columns with names: a DataFrame, a dictionary, or a structured array."""
    return is_frame(value) or isinstance(value, Mapping) or getattr(getattr(value, "dtype", None), "names", None) is not None


def numbers_of(value: Any, what: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Finite numbers, float64, in an order that the library can read: the array itself where possible."""
    array = as_numbers(value, what)
    check_finite(array, what)
    return array


def as_numbers(value: Any, what: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The same without a look at every number, which the library takes while it copies. what: for messages."""
    if hasattr(value, "to_numpy") and getattr(getattr(value, "dtype", None), "na_value", None) is not None:
        missing = np.asarray(value.isna())
        if missing.any():
            raise _wrong(f"{what} has no value in {_rows(missing)}; drop these rows or fill them in")
    if isinstance(value, np.ma.MaskedArray) and np.any(value.mask):
        raise _wrong(f"{what} has masked elements; fill them in first")
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise _wrong(f"{what} is no array of numbers: {error}") from None
    if array.dtype == object:
        array = _from_objects(array, what)
    if array.dtype.kind not in "fiub":
        kind = {"U": "texts", "S": "bytes", "c": "complex numbers", "M": "dates", "m": "durations"}.get(array.dtype.kind)
        raise _wrong(f"{what} holds {kind or array.dtype}, not numbers")
    if array.dtype.kind in "iu" and array.size and (array.max() > 2**53 or array.min() < -(2**53)):
        raise _wrong(f"{what} has whole numbers beyond 2^53, which a double does not keep")
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        raise _wrong(f"{what} is {array.dtype}; the library computes with float64: convert it with .astype(float)")
    wanted = np.dtype(np.float64)
    if array.dtype != wanted or not array.flags.aligned:
        array = array.astype(wanted)
    return array if _is_readable(array) else np.ascontiguousarray(array)


_converted: dict[tuple[Any, ...], tuple[Any, weakref.ReferenceType[np.ndarray[Any, np.dtype[np.float64]]]]] = {}


def same_for_same(value: Any, array: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The numbers of value as they were kept before, where these are the same array. Else array, which is kept.

    The library refuses to protect numbers that two agents have; that they are the same it sees by where they lie.
    """
    source: Any = value if isinstance(value, (list, tuple)) else np.asarray(value)
    made = isinstance(source, np.ndarray) and source.ndim > 0 and source is not value and source.base is None
    if made and not np.may_share_memory(source, np.asarray(value)):  # made anew each time, as of pandas' nullable numbers
        source = getattr(value, "array", value)
    key: tuple[Any, ...]
    if isinstance(source, np.ndarray):
        key = (source.__array_interface__["data"][0], source.shape, source.strides, source.dtype.str)
        while isinstance(source.base, np.ndarray):
            source = source.base
    else:
        key = (id(source), len(source))
    before, kept = _converted.get(key, (None, lambda: None))
    again = kept()
    if again is not None and (before() if isinstance(before, weakref.ref) else before) is source:
        if np.array_equal(again, array, equal_nan=True):
            return again
    _converted[key] = weakref.ref(source) if isinstance(source, np.ndarray) else source, weakref.ref(array)
    weakref.finalize(array, _forget, key).atexit = False
    return array


def _forget(key: tuple[Any, ...]) -> None:
    if key in _converted and _converted[key][1]() is None:
        del _converted[key]


def check_finite(array: np.ndarray[Any, np.dtype[np.float64]], what: str) -> None:
    """Raises where a number is not finite, with its place."""
    finite = np.isfinite(array)
    if not finite.all():
        at = tuple(int(i) for i in np.argwhere(~finite)[0])
        word = "no value (NaN)" if np.isnan(array[at]) else "an infinite value"
        raise _wrong(f"{what} has {word} {_place(at)}; every number must be finite")


def _is_readable(array: np.ndarray[Any, np.dtype[np.float64]]) -> bool:
    """Whether the library can read it as it lies: whole positive strides, and no number in two places."""
    long = sorted((stride, length) for stride, length in zip(array.strides, array.shape) if length > 1)
    reach = 8
    for stride, length in long:
        if stride < reach or stride % 8:
            return False
        reach = stride * length
    return True


def _from_objects(array: np.ndarray[Any, Any], what: str) -> np.ndarray[Any, Any]:
    flat = array.ravel()
    if array.ndim == 1 and len(flat) and all(isinstance(one, (list, tuple, np.ndarray)) for one in flat):
        lengths = {len(one) for one in flat}
        if len(lengths) > 1:
            raise _wrong(f"{what} has vectors of different lengths: {min(lengths)} to {max(lengths)}")
        return np.stack([as_numbers(one, f"{what}, row {i},") for i, one in enumerate(flat)])
    for i, one in enumerate(flat):
        if one is None or one is getattr(one, "NA", 0) or str(one) in ("<NA>", "NaT"):
            raise _wrong(f"{what} has no value {_place((i,))}; every number must be finite")
        if isinstance(one, int) and abs(one) > 2**53:
            raise _wrong(f"{what} has whole numbers beyond 2^53, which a double does not keep")
        if not isinstance(one, numbers.Real):
            raise _wrong(f"{what} holds a {type(one).__name__} {_place((i,))}, which is not a number")
    return array.astype(np.float64)


def _place(at: tuple[int, ...]) -> str:
    return "" if not at else f"in row {at[0]}" if len(at) == 1 else f"in row {at[0]}, column {at[1]}"


def _rows(flags: np.ndarray[Any, Any]) -> str:
    rows = np.flatnonzero(flags)
    shown = ", ".join(str(row) for row in rows[:5])
    return f"row{'s' if len(rows) > 1 else ''} {shown}{', ...' if len(rows) > 5 else ''}"


def columns_of(value: Any, what: str) -> dict[str, Any]:
    """The columns of a table by name. Names are unique texts."""
    if is_frame(value):
        names = list(value.columns)
        for name in names:
            if names.count(name) > 1:
                raise _wrong(f"{what} has {names.count(name)} columns called {name!r}")
        columns: dict[Any, Any] = {name: value[name] for name in names}
        if "name" not in names:
            columns = _names_of_index(value.index, what) | columns
    elif isinstance(value, Mapping):
        columns = dict(value)
    else:
        columns = {name: value[name] for name in value.dtype.names}
    for name in columns:
        if not isinstance(name, str):
            raise _wrong(f"{what} has a column whose name is {name!r}; names are texts")
        if not _NAME.match(name):
            raise _wrong(f"{what} has a column {name!r}; names are made of letters, digits and underscores")
        stem = name.removesuffix("_0") if name.endswith("_0") else name.removesuffix("_01")
        if stem != name and f"{stem}_{'1' if name.endswith('_0') else '02'}" in columns:
            raise _wrong(
                f"{what} has a column {name!r}, but columns that form a vector are called {stem}_1, {stem}_2, ...: rename "
                f"them, or give one array called {stem!r} (members x components)"
            )
    if not columns:
        raise _wrong(f"{what} has no columns")
    return columns


def _names_of_index(index: Any, what: str) -> dict[str, list[str]]:
    """An index that has a name itself, of texts or whole numbers, names the members."""
    values = list(index)
    if getattr(index, "name", None) is None or not all(isinstance(one, (str, numbers.Integral)) for one in values):
        return {}
    names = [str(one) for one in values]
    again = next((one for one, two in zip(sorted(names), sorted(names)[1:]) if one == two), None)
    if again is not None:
        raise _wrong(
            f"{what} names members by its index, but its index {index.name!r} has {again!r} twice; where it names no "
            "members, take its name away with .rename_axis(None)"
        )
    return {"name": names}


def member_names(values: Any, what: str) -> list[str]:
    """The texts of a column `name`."""
    names: list[str] = []
    for i, one in enumerate(values):
        if not isinstance(one, str):
            raise _wrong(f"{what}: member names are texts, but row {i} has {one!r}")
        names.append(one)
    return names


class Source:
    """Tables and matrices for ``tacit_source``. Holds every array until the library has copied it.

    >>> source = Source({"homes": {"need": [4, 2.5]}, "route": [[1, 0], [0, 1]]})
    >>> source.tables[0].rows, source.matrices[0].columns
    (2, 2)
    """

    def __init__(self, data: Mapping[str, Any] | None) -> None:
        self._kept: list[Any] = []
        self._arrays: list[tuple[np.ndarray[Any, np.dtype[np.float64]], str, str]] = []
        self._unread: list[tuple[UsageError, str]] = []
        if data is not None and not isinstance(data, Mapping):
            raise TypeError(f"data is a dictionary from names to tables and arrays, not {type(data).__name__}")
        tables = {name: value for name, value in (data or {}).items() if is_table(value)}
        matrices = {name: value for name, value in (data or {}).items() if not is_table(value)}
        self.tables = ffi.new("tacit_table[]", len(tables))
        self.matrices = ffi.new("tacit_matrix[]", len(matrices))
        for i, (name, value) in enumerate(tables.items()):
            self._table(self.tables[i], name, value)
        for i, (name, value) in enumerate(matrices.items()):
            self._matrix(self.matrices[i], name, value)

    def _keep(self, value: Any) -> Any:
        self._kept.append(value)
        return value

    def _numbers(self, array: np.ndarray[Any, np.dtype[np.float64]], what: str, said: str) -> Any:
        self._arrays.append((array, what, said))
        return ffi.cast("double *", array.ctypes.data)

    def _column(self, values: Any, what: str, column: str, table: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The numbers of a column. What holds none is given as NaN, which the library minds only where it is used."""
        what = f"{what}[{column!r}]"
        try:
            array = same_for_same(values, as_numbers(values, what))
        except UsageError as error:
            if not hasattr(values, "__len__") or isinstance(values, (str, bytes)):
                raise
            self._unread.append((error, _said(table, column)))
            array = np.full(len(values), np.nan)
        if array.ndim == 0:
            raise _wrong(f"{what} is one number; a column has a number for each member")
        if array.ndim > 2 or (array.ndim == 2 and array.shape[1] == 0):
            raise _wrong(f"{what} has shape {array.shape}; a column is members, or members x components")
        return array

    def explain(self, message: str) -> None:
        """Raises where the library's message is about a number that is none: this says it better."""
        for error, said in self._unread:
            if said in message:
                raise error
        for array, what, said in self._arrays:
            if said in message:
                check_finite(array, what)

    def _matrix(self, matrix: Any, name: str, value: Any) -> None:
        what = f"data[{name!r}]"
        matrix.name = self._keep(text_of(name, "the name of data"))
        array = same_for_same(value, as_numbers(value, what))
        if array.ndim > 2 or array.size == 0:
            raise _wrong(f"{what} has shape {array.shape}; a parameter is a number, a vector or a matrix, and not empty")
        matrix.values = self._numbers(array, what, f"the matrix '{name}' that is given")
        if array.ndim < 2:
            array = array.reshape(-1, 1)
        matrix.rows, matrix.columns = array.shape
        matrix.row_stride, matrix.column_stride = _strides(array)

    def _table(self, table: Any, name: str, value: Any) -> None:
        what = f"data[{name!r}]"
        table.name = self._keep(text_of(name, "the name of data"))
        columns = columns_of(value, what)
        if "name" in columns and _is_text(columns["name"]):
            names = member_names(columns.pop("name"), f"{what}['name']")
            texts = [self._keep(text_of(one, f"{what}['name']")) for one in names]
            table.members = self._keep(ffi.new("char *[]", texts))
            table.rows = len(names)
        if not columns:
            raise _wrong(f"{what} has names but no numbers")
        arrays = {column: self._column(values, what, column, name) for column, values in columns.items()}
        lengths = {column: len(array) for column, array in arrays.items()}
        if table.members:
            lengths["name"] = table.rows
        first, rows = next(iter(lengths.items()))
        for column, length in lengths.items():
            if length != rows:
                raise _wrong(f"{what}: '{first}' has {rows} rows, '{column}' has {length}")
        if rows == 0:
            raise _wrong(f"{what} has no rows; a family has at least one member")
        table.rows = rows
        table.columns = self._keep(ffi.new("tacit_column[]", len(arrays)))
        table.column_count = len(arrays)
        for i, (column, array) in enumerate(arrays.items()):
            to = table.columns[i]
            to.name = self._keep(text_of(column, what))
            to.values = self._numbers(array, f"{what}[{column!r}]", _said(name, column))
            to.components = 1 if array.ndim == 1 else array.shape[1]
            to.row_stride, to.component_stride = _strides(array if array.ndim == 2 else array[:, np.newaxis])


def _strides(array: np.ndarray[Any, np.dtype[np.float64]]) -> tuple[int, int]:
    """In numbers. NumPy may say anything where there is one row or one column."""
    rows, columns = array.shape
    between = array.strides[1] // 8 if columns > 1 else 1
    return array.strides[0] // 8 if rows > 1 else columns * between, between


def _is_text(values: Any) -> bool:
    kind = getattr(getattr(values, "dtype", None), "kind", None)
    if kind is not None and kind not in "OUS":
        return False
    first: Any = next(iter(values), None) if isinstance(values, Iterable) else None
    return isinstance(first, str) or first is None or not isinstance(first, (numbers.Real, Iterable))


def _said(table: str, column: str) -> str:
    """How the library begins what it says of a column."""
    return f"the table '{table}' that is given: column '{column}"
