"""Problems from Python objects, which print as the problem language.

>>> import numpy as np
>>> import tacit
>>> homes = {"need": [4, 2.5], "weight": [1, 2], "pref": [[3, 1], [0, 2.5]]}
>>> m = tacit.Model()
>>> home = m.family("home", data=homes)
>>> p = home.state("p", 2, lower=0, upper=7.4)
>>> home.minimize(home.weight * tacit.sumsq(p - home.pref))
>>> home.require(tacit.sum(p) >= home.need)
>>> feeder = m.constraint("feeder", tacit.total(home, p) <= 6 - np.array([2.5, 3]))
>>> print(m)
data home_data = given
<BLANKLINE>
agents home over home_data {
  state p[2] in [0, 7.4]
  private minimize weight * sumsq(p - pref)
  private set sum(p) >= need
}
<BLANKLINE>
constraint feeder: sum(home: p) <= [3.5, 3]
>>> m.solve().x["home"].round(3)
array([[3.333, 0.667],
       [0.167, 2.333]])
"""

from __future__ import annotations

import contextlib
import functools
import os
import urllib.parse
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from .blocks import Block, FamilyBlock, Statement, value_or_file, write_value
from ..errors import ProblemError
from .expressions import Expression, Operand, as_expression
from .names import Index, Name, indices, write_ranges
from .places import checked_name, here, is_name, quoted, refusal
from .printer import Arrays, Definition, Printed, Writer
from ..problem import Problem
from .relations import Relation
from .settings import Constraint, Settings
from .shapes import shape_text
from .tables import (
    Table,
    check_public,
    columns_of_table,
    csv_of_array,
    csv_of_table,
    read_frame,
    read_header,
    read_npy_header,
)

_P = ParamSpec("_P")
_R = TypeVar("_R")

_FILE: Final = "problem"  # what the library calls a text without a path


def _as_problem(function: Callable[Concatenate[Problem, _P], _R]) -> Callable[Concatenate[Model, _P], _R]:
    """The same function of a model: of the problem that it describes now."""

    @functools.wraps(function)
    def call(self: Model, /, *arguments: _P.args, **options: _P.kwargs) -> _R:
        problem = self.problem()
        with self._python_places():
            return function(problem, *arguments, **options)

    return call


class Model(Settings):
    """A problem made of Python objects. Printing it gives the text of the language.

    role: "cloud" or "agent" for what one party holds; a whole problem unless given.

    Functions of :class:`tacit.Problem` (check, solve, plan, advise, run, sweep, bound, audit, split) work on the problem that
    the objects describe at that moment. What the library refuses is shown at the line of Python that made it.
    """

    def __init__(self, role: str | None = None) -> None:
        if role not in (None, "cloud", "agent"):
            raise refusal(f"a role is 'cloud' or 'agent', not {role!r}")
        super().__init__()
        self.role = role
        self._place = here()
        self._names: dict[str, Definition] = {}
        self._parts: list[Block | Statement] = []
        self._tables: list[Table] = []
        self._files: dict[str, str] = {}  # the data files that lines name, by what they define
        self._words: dict[str, str] = {}  # csv or npy, for each of them
        self._version = 0
        self._printed: tuple[int, Printed] | None = None
        self._problem: tuple[int, Problem] | None = None

    # ---- parameters and data ----

    def param(
        self,
        name: str,
        value: Operand | None = None,
        *,
        csv: str | os.PathLike[str] | None = None,
        npy: str | os.PathLike[str] | None = None,
        private: bool = False,
    ) -> Expression:
        """A constant: a number, an array, an expression, or the numbers of a CSV or .npy file. Public unless private.

        >>> m = Model()
        >>> hours = m.param("hours", 24)
        >>> taste = m.param("taste", [1, 2, 3], private=True)
        >>> both = m.param("both", taste * hours, private=True)
        >>> print(m)
        param hours = 24
        private param taste = [1, 2, 3]
        private param both = taste * hours
        """
        definition = self._define(name, "parameter")
        node, shape, path = value_or_file(value, csv, npy)

        def write(out: Writer) -> None:
            out.put(f"param {name} = ")
            write_value(out, name, node, None)

        with self._defining(definition):
            self._add(Statement(here(), bool(private), write))
        if path is not None:
            self._files[name] = path
            self._words[name] = "csv" if npy is None else "npy"
        return Name(definition, shape, node, None)

    def data(
        self,
        name: str,
        table: Any = None,
        *,
        csv: str | os.PathLike[str] | None = None,
        npy: str | os.PathLike[str] | None = None,
        public: Iterable[str] = (),
    ) -> Table:
        """A table for families: a DataFrame, a dictionary of columns, a CSV file, or a structured array in a .npy file.

        Private unless listed as public.

        A column has a number for each member, or a row of numbers (members x components); columns ``pref_1``,
        ``pref_2``, ... form a vector ``pref``. A text column ``name`` gives the members their names. Other columns of
        texts, and those with missing values, may be there if the problem does not use them.

        >>> m = Model()
        >>> homes = m.data("homes", {"need": [4, 2.5], "cap": [3, 7.4]}, public=["cap"])
        >>> home = m.family("home", data=homes)
        >>> p = home.state("p", lower=0, upper=home.cap)
        >>> print(m)
        data homes = given public cap
        <BLANKLINE>
        agents home over homes {
          state p in [0, cap]
        }
        """
        file = csv if npy is None else npy
        if [table is None, csv is None, npy is None].count(False) != 1:
            raise TypeError("data has a table, or csv='FILE', or npy='FILE'")
        definition = self._define(name, "data")
        if file is None:
            given, rows, unread = read_frame(table, f"'{name}'")
            header = list(given)
            made = Table(definition, columns_of_table(given, header), (), rows, given, None, unread)
        else:
            path = os.fspath(file)
            quoted(path, "a file")
            header = read_header(path) if npy is None else read_npy_header(path)
            made = Table(definition, columns_of_table(None, header), (), None, None, path, {})
        made = made._replace(public=check_public(public, made.columns, made.unread, "name" in header, f"'{name}'"))
        for column in made.columns:
            checked_name(column, "a column")

        def write(out: Writer) -> None:
            out.put(f"data {name} = {out.source(name)}")
            if made.public:
                out.put(f" public {', '.join(made.public)}")

        with self._defining(definition):
            self._add(Statement(here(), False, write))
        self._tables.append(made)
        if made.path is not None:
            self._files[name] = made.path
            self._words[name] = "csv" if npy is None else "npy"
        return made

    # ---- agents ----

    def agent(self, name: str) -> Block:
        """One agent. A name that is not made of letters, digits and underscores is printed in quotes.

        >>> m = Model()
        >>> anna = m.agent("anna")
        >>> power = anna.state("power", lower=0, upper=5)
        >>> anna.minimize((power - 4)**2)
        >>> line = m.constraint("line", power <= 3)
        >>> print(m)
        agent anna {
          state power in [0, 5]
          private minimize (power - 4)^2
        }
        <BLANKLINE>
        constraint line: anna.power <= 3
        """
        if not isinstance(name, str) or not is_name(name):
            quoted(name, "an agent")
        definition = self._define(name, "agent", is_checked=True)
        block = Block(self, name, here())
        with self._defining(definition):
            self._parts.append(block)
        self._change()
        return block

    def family(
        self,
        name: str,
        data: Any = None,
        *,
        count: Operand | None = None,
        index: str | None = None,
        public: Iterable[str] = (),
    ) -> FamilyBlock:
        """A family of agents: one for each row of data, or ``count`` of them.

        data: a table made by ``data``, or a DataFrame or dictionary of columns (then ``public`` lists those that the
            cloud may know; all others are private).
        index: a name for the member's number, which is then ``family.index``; it counts from 1. A family with a count
            calls it i unless told otherwise.

        >>> m = Model()
        >>> node = m.family("node", count=10)
        >>> x = node.state("x", lower=0, upper=node.index)
        >>> node.minimize((x - node.index / 2)**2)
        >>> print(node)
        agents node[i in 1..10] {
          state x in [0, i]
          private minimize (x - i / 2)^2
        }
        """
        if (data is None) == (count is None):
            raise TypeError("a family has data, or a count")
        definition = self._define(name, "family")
        if index is not None:
            checked_name(index, "an index")
        if count is None:
            if isinstance(data, Table) and tuple(public):
                raise TypeError("public is for a new table: list the columns in m.data(..., public=[...])")
            with self._defining(definition):
                table = data
                if not isinstance(data, Table):
                    table = self.data(self._free_name(f"{name}_data"), data, public=public)
                if table.definition.names is not self._names:
                    raise refusal(f"the data '{table.name}' belong to another model")
                try:
                    block = FamilyBlock(self, name, here(), table, None, index)
                except BaseException:
                    if table is not data:
                        self._forget(table)
                    raise
        else:
            number = as_expression(count)
            if number.ndim != 0:
                raise refusal(f"the number of members is a number, but this is {shape_text(number.shape)}")
            block = FamilyBlock(self, name, here(), None, number, index or "i")
            self._try(Statement(here(), False, block._write_head))
        with self._defining(definition):
            self._parts.append(block)
        self._change()
        return block

    # ---- constraints ----

    def constraint(self, name: str, relation: Relation, over: Index | Iterable[Index] = ()) -> Constraint:
        """A shared constraint: ``<=``, ``>=``, or ``==`` between affine expressions; ``tacit.between`` for two bounds.

        Of vectors each element is one; ``over`` makes one for every index.

        >>> import tacit
        >>> m = Model()
        >>> robot = m.family("robot", count=4)
        >>> pos = robot.state("pos", 2, lower=-10, upper=10)
        >>> k = tacit.index("k", 1, 3)
        >>> chain = m.constraint("chain", tacit.sumsq(robot[k].pos - robot[k + 1].pos) <= 4, over=k)
        >>> fence = m.constraint("fence", robot[3].pos <= [3, 4])
        >>> print(str(m).split("}")[1].strip())
        constraint chain[k in 1..3]: sumsq(robot[k].pos - robot[k + 1].pos) <= 4
        constraint fence: robot[4].pos <= [3, 4]
        """
        if not isinstance(relation, Relation):
            raise TypeError(
                f"a constraint is a relation, such as tacit.total(home, p) <= 10, not {type(relation).__name__}"
            )
        definition = self._define(name, "constraint")
        binders = indices(over)

        def write(out: Writer) -> None:
            out.put(f"constraint {name}{'[' if binders else ''}")
            scope = write_ranges(out, binders, None)
            out.put("]: " if binders else ": ")
            relation._write(out, scope)

        with self._defining(definition):
            self._add(Statement(here(), False, write))
        return Constraint(self, definition)

    # ---- text, file and problem ----

    def __str__(self) -> str:
        return self._print().text.rstrip("\n")

    def __repr__(self) -> str:
        blocks = [one._head() for one in self._parts if isinstance(one, Block)]
        return f"<tacit.Model: {', '.join(blocks) or 'no agents yet'}>"

    def save(self, path: str | os.PathLike[str], *, replace: bool = False) -> None:
        """Writes the text to a file, and what it needs beside it: ``fleet.tacit``, ``fleet.homes.csv``, ...

        Numbers keep all their digits. Data files that the model names are copied, unless they lie in that folder.
        replace: replace files that are there; otherwise one that is there is an error, and nothing is written.
        """
        target = os.path.abspath(os.fspath(path))
        folder, base = os.path.split(target)
        stem = base[: -len(".tacit")] if base.endswith(".tacit") else base
        printed = self._print()
        files: dict[str, str | bytes] = {}
        names: dict[str, str] = {}
        for name, source in self._files.items():
            inside = os.path.relpath(os.path.realpath(source), os.path.realpath(folder))
            if inside.startswith(os.pardir):
                with open(source, "rb") as file:
                    inside, data = f"{stem}.{urllib.parse.quote(name)}.{self._words[name]}", file.read()
                files[inside] = data
            names[name] = inside
        for name, value in printed.given.items():
            names[name] = f"{stem}.{name}.csv"
            files[names[name]] = csv_of_table(value) if isinstance(value, dict) else csv_of_array(value)
        files[base] = self._write_all(lambda name: f"{self._words.get(name, 'csv')} {quoted(names[name], 'a file')}").text
        read = {os.path.realpath(source) for source in self._files.values()}
        for name in files:
            if os.path.realpath(os.path.join(folder, name)) in read:
                raise FileExistsError(f"{name} in {folder} is a file that this model reads; save it under another name")
        present = [name for name in files if os.path.lexists(os.path.join(folder, name))]
        if present and not replace:
            raise FileExistsError(f"{', '.join(sorted(present))} in {folder}: save(..., replace=True) replaces files")
        for name, content in files.items():
            whole, part = os.path.join(folder, name), os.path.join(folder, f".{name}.part")
            with open(part if replace else whole, "wb" if replace else "xb") as file:
                file.write(content if isinstance(content, bytes) else content.encode())
            if replace:
                os.replace(part, whole)

    def problem(self) -> Problem:
        """The problem that the objects describe: made once, and made anew after a change."""
        if self._problem is None or self._problem[0] != self._version or self._problem[1].is_closed:
            if not any(isinstance(one, Block) for one in self._parts):
                raise refusal("this model describes no agent; make one with agent(...) or family(...)", self._place)
            printed = self._print()
            with self._python_places():
                self._problem = self._version, Problem(text=printed.text, data=printed.given)
                self._problem[1]._in_model = True
        return self._problem[1]

    def __reduce__(self) -> Any:
        raise TypeError("a model is neither copied nor pickled: write a function that builds it, or keep str(model)")

    check = _as_problem(Problem.check)
    solve = _as_problem(Problem.solve)
    plan = _as_problem(Problem.plan)
    run = _as_problem(Problem.run)
    sweep = _as_problem(Problem.sweep)
    advise = _as_problem(Problem.advise)
    bound = _as_problem(Problem.bound)
    audit = _as_problem(Problem.audit)
    split = _as_problem(Problem.split)

    # ---- inside ----

    @contextlib.contextmanager
    def _python_places(self) -> Iterator[None]:
        try:
            yield
        except ProblemError as error:
            raise self._print().translated(error, _FILE) from None

    def _define(self, name: str, kind: str, is_checked: bool = False) -> Definition:
        """A new name outside of blocks. It is entered by _defining, once its line is known to be good."""
        if not is_checked:
            checked_name(name, f"a {kind}")
        if name == "given":
            raise refusal("'given' has a meaning of its own in the text of a model; choose another name")
        before = self._names.get(name)
        if before is not None:
            raise refusal(f"'{name}' is defined twice", None, (before.place, f"the {before!r} was made here"))
        return Definition(name, kind, self._names, None, here())

    @contextlib.contextmanager
    def _defining(self, definition: Definition) -> Iterator[None]:
        self._names[definition.name] = definition
        try:
            yield
        except BaseException:
            del self._names[definition.name]
            raise

    def _forget(self, table: Table) -> None:
        """Takes back the table that was made last, for a family that then could not be made."""
        self._tables.remove(table)
        self._parts.pop()
        del self._names[table.name]

    def _free_name(self, name: str) -> str:
        number = 1
        while (name if number == 1 else f"{name}_{number}") in self._names:
            number += 1
        return name if number == 1 else f"{name}_{number}"

    def _change(self) -> None:
        self._version += 1

    def _add(self, statement: Statement) -> None:
        self._try(statement)
        self._parts.append(statement)
        self._change()

    def _taken(self) -> set[str]:
        taken = set(self._names)
        for one in self._parts:
            if isinstance(one, Block):
                taken |= set(one._names)
        return taken

    def _source(self, name: str) -> str:
        if name not in self._files:
            return "given"
        return f"{self._words[name]} {quoted(self._files[name], 'a file')}"

    def _try(self, statement: Statement) -> None:
        """Writes a statement and forgets it: what is wrong with its names is found at once."""
        out = Writer(self._names, Arrays(set()), lambda _: "given")
        statement.put(out)
        for block, name in out.used:
            block._outer_names.setdefault(name, self._names.get(name))

    def _text_of_block(self, block: Block) -> str:
        out = Writer(self._names, Arrays(self._taken()), self._source)
        block._write(out)
        return out.text()

    def _print(self) -> Printed:
        if self._printed is None or self._printed[0] != self._version:
            self._printed = self._version, self._write_all(self._source)
        return self._printed[1]

    def _write_all(self, source: Callable[[str], str], parentheses: bool = False) -> Printed:
        arrays = Arrays(self._taken())
        out = Writer(self._names, arrays, source, parentheses)
        if self.role is not None:
            out.put(f"role {self.role}\n")
        blank = out.length > 0
        for part in [*self._parts, *self._settings.values()]:
            one = Writer(self._names, arrays, source, parentheses)
            if isinstance(part, Block):
                part._write(one)
            else:
                part.put(one)
            separate = out.length > 0 and (isinstance(part, Block) or blank)
            out.put("\n" if separate else "")
            for name, private, place in arrays.new:
                start = out.length
                out.put(f"{'private ' if private else ''}param {name} = {source(name)}\n")
                out.mark(start, place)
            arrays.new.clear()
            out.append(one)
            out.put("\n")
            blank = isinstance(part, Block)
        out.mark(0, self._place)
        given: dict[str, Any] = {one.name: one.given for one in self._tables if one.given is not None}
        return Printed(out.text(), given | arrays.given, out.spans)
