"""Agents and families of a model: their states, wishes and limits.

Statements of a block are methods: ``state``, ``param``, ``minimize``, ``maximize``, ``require``, ``public_set``, ``gap``,
``slater``, ``start``, ``range``, ``protect``. What a block has is also an attribute and an item: ``home.weight``, or ``home["weight"]`` where a
method has that name.
"""

from __future__ import annotations

import itertools
import operator
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from ..facts import did_you_mean
from .expressions import Binary, Expression, Literal, Operand, as_expression, begins_with, parts_of
from .names import Index, MemberName, Name, indices, write_ranges
from .places import Place, checked_name, here, is_name, quoted, refusal, refused_data
from .printer import INLINE_NUMBERS, Definition, Scope, Writer
from .relations import Membership, Relation
from .shapes import Shape, shape_text
from .tables import Table, read_npy_shape, read_shape

if TYPE_CHECKING:
    from .model import Model


class Statement(NamedTuple):
    """A line of the text, and where it was made."""

    place: Place
    private: bool
    write: Callable[[Writer], None]

    def put(self, out: Writer) -> None:
        start = out.length
        out.private = self.private
        if self.private:
            out.put("private ")
        self.write(out)
        out.mark(start, self.place)


def length_of(length: Operand | None) -> tuple[Expression | None, Shape]:
    """The length of a state as an expression, and the state's shape."""
    if length is None:
        return None, ()
    node = as_expression(length)
    if node.ndim != 0:
        raise refusal(f"the length of a state is a number, but this is {shape_text(node.shape)}")
    known = node._constant()
    return node, (int(known) if known is not None and known == int(known) and known >= 1 else None,)


def value_or_file(
    value: Operand | None, csv: str | os.PathLike[str] | None, npy: str | os.PathLike[str] | None
) -> tuple[Expression | None, Shape, str | None]:
    """The value of a parameter, its shape, and the path of its file: it has a value or a file."""
    if [value is None, csv is None, npy is None].count(False) != 1:
        raise TypeError("a parameter has a value, or csv='FILE', or npy='FILE'")
    file = csv if npy is None else npy
    if file is None:
        assert value is not None
        node = as_expression(value)
        return node, node.shape, None
    path = os.fspath(file)
    quoted(path, "a file")
    return None, read_shape(path) if npy is None else read_npy_shape(path), path


def write_value(out: Writer, key: str | None, node: Expression | None, scope: Scope | None) -> None:
    """What stands right of `=`. Numbers of a file, and long arrays where they have a key, come from outside."""
    if node is None and key is not None:
        out.put(out.source(key))
        return
    assert node is not None
    if key is not None and isinstance(node, Literal) and node._array.size > INLINE_NUMBERS and 1 not in node._array.shape:
        out.arrays.given[key] = node._array
        out.put(out.source(key))
        return
    # The word csv has a meaning of its own right of `=`.
    first = begins_with(node)
    special = isinstance(first, Name) and first._definition.name == "csv"
    out.put("(" if special else "")
    out.node(node, scope)
    out.put(")" if special else "")


class Block:
    """An agent, or a family of agents: what is private stays with each of them, the rest is public."""

    def __init__(self, model: Model, name: str, place: Place) -> None:
        self.name = name
        self._model = model
        self._model_names = model._names
        self._place = place
        self._names: dict[str, Definition] = {}
        self._nodes: dict[str, Name] = {}
        self._outer_names: dict[str, Definition | None] = {}  # names that lines here use for what stands outside
        self._statements: list[Statement] = []
        self._scope = Scope(None, None, self)
        self._once: dict[str, Place] = {}

    # ---- statements ----

    def state(self, name: str, length: Operand | None = None, *, lower: Operand, upper: Operand) -> Expression:
        """A number, or a vector with a length, that the agent decides about. Its box is public and finite.

        >>> import tacit
        >>> robot = tacit.Model().agent("robot")
        >>> position = robot.state("position", 2, lower=[-5, 0], upper=[5, 8])
        >>> battery = robot.state("battery", lower=0, upper=1)
        >>> print(robot)
        agent robot {
          state position[2] in [[-5, 0], [5, 8]]
          state battery in [0, 1]
        }
        """
        count, shape = length_of(length)
        low, high = as_expression(lower), as_expression(upper)
        for bound, what in ((low, "lower"), (high, "upper")):
            fits = bound.ndim == 0 or (bound.ndim == 1 and len(shape) == 1)
            if not fits or (bound.ndim == 1 and None not in (*bound.shape, *shape) and bound.shape != shape):
                wanted = "a number" if not shape else f"a number or {shape_text(shape)}"
                raise refusal(f"the {what} bound of a state must be {wanted}, but this is {shape_text(bound.shape)}")

        def write(out: Writer) -> None:
            out.put(f"state {name}")
            if count is not None:
                out.put("[")
                out.node(count, None)  # a length is the same for all members, and knows no names of the block
                out.put("]")
            out.put(" in [")
            out.node(low, self._scope)
            out.put(", ")
            out.node(high, self._scope)
            out.put("]")

        return self._define(name, "state", shape, None, Statement(here(), False, write))

    def param(
        self,
        name: str,
        value: Operand | None = None,
        *,
        csv: str | os.PathLike[str] | None = None,
        npy: str | os.PathLike[str] | None = None,
        private: bool = False,
    ) -> Expression:
        """A name for a part of the lines of this block, for an array, or for the numbers of a CSV or .npy file.

        What is private here goes into the file of this agent alone; of a family, to all its members.

        >>> import tacit
        >>> heater = tacit.Model().agent("heater")
        >>> warm = heater.param("warm", [1, 1.5, 0.5], private=True)
        >>> cost = heater.param("cost", 0.2 * tacit.sum(warm), private=True)
        >>> print(heater)
        agent heater {
          private param warm = [1, 1.5, 0.5]
          private param cost = 0.2 * sum(warm)
        }
        """
        node, shape, path = value_or_file(value, csv, npy)
        key = f"{self.name}.{name}"  # the name of the matrix that a program gives

        def write(out: Writer) -> None:
            out.put(f"param {name} = ")
            own = path is not None or (is_name(self.name) and "given" not in self._names)
            write_value(out, key if own else None, node, self._scope)

        made = self._define(name, "parameter", shape, node, Statement(here(), bool(private), write))
        if path is not None:
            self._model._files[key] = path
            self._model._words[key] = "csv" if npy is None else "npy"
            self._model._change()
        return made

    def column(self, name: str, value: Operand, *, private: bool = False) -> Expression:
        """A member's own number or vector, in an agent's file alone (``Model(role="agent")``)."""
        node = as_expression(value)

        def write(out: Writer) -> None:
            out.put(f"column {name} = ")
            out.node(node, None)

        return self._define(name, "own column", node.shape, node, Statement(here(), bool(private), write))

    def minimize(self, objective: Operand) -> None:
        """What the agent wishes to be small, a number: private, and once for each agent or family."""
        self._wish("minimize ", as_expression(objective))

    def maximize(self, objective: Operand) -> None:
        """What the agent wishes to be large: ``minimize(-objective)``."""
        self._wish("maximize ", as_expression(objective))

    def require(
        self, *conditions: Relation | Membership, over: Index | Iterable[Index] = (), name: str | None = None
    ) -> None:
        """Private limits of the agent, beyond the public box: relations, or ``p.isin(...)``. All of them hold.

        over: one limit for every index, called ``name``.

        >>> import tacit
        >>> car = tacit.Model().agent("car")
        >>> p = car.state("p", 24, lower=0, upper=7.4)
        >>> t = tacit.index("t", 1, 23)
        >>> car.require(p[t + 1] - p[t] <= 2, over=t, name="ramp")
        >>> car.require(tacit.between(9, tacit.sum(p), 40))
        >>> print(car)
        agent car {
          state p[24] in [0, 7.4]
          private set ramp[t in 1..23]: p[t + 1] - p[t] <= 2
          private set 9 <= sum(p) <= 40
        }
        """
        for one in conditions:
            if not isinstance(one, (Relation, Membership)):
                raise TypeError(
                    f"require takes relations, such as p >= 1, and p.isin(tacit.simplex(1)), not {type(one).__name__}"
                )
            self._look_at(*(one.sides() if isinstance(one, Relation) else ()))
        if not conditions:
            raise TypeError("require takes at least one relation")
        binders = indices(over)
        if name is not None:
            checked_name(name, "a set")
        place = here()
        for one in conditions:
            self._add(Statement(place, True, _set_line(one, self._scope, name, binders)))

    def public_set(self, limit: Relation) -> None:
        """A public limit on a sum of the agent's states, which the agent keeps and everybody may know. One for each agent.

        >>> import tacit
        >>> home = tacit.Model().family("home", count=100)
        >>> p = home.state("p", 24, lower=0, upper=7.4)
        >>> home.public_set(tacit.sum(p) <= 45)
        >>> print(home)
        agents home[i in 1..100] {
          state p[24] in [0, 7.4]
          public set sum(p) <= 45
        }
        """
        if not isinstance(limit, Relation):
            raise TypeError(f"a public set is a relation, such as tacit.sum(p) <= 45, not {type(limit).__name__}")
        self._look_at(*limit.sides())
        line = Statement(here(), False, _set_line(limit, self._scope, None, (), "public set "))
        self._add(line, "public set", f"'{self.name}' has two public sets")

    def gap(self, value: Operand) -> None:
        """A public promise: f(Slater point) is at most this much above the least value of f."""
        self._add(self._line(False, "gap ", as_expression(value)), "gap", f"'{self.name}' has two gaps")

    def slater(self, state: Expression | str, value: Operand, *, within: Operand | None = None) -> None:
        """A public point of the agent's set; a number stands for all elements of a vector.

        within: also promises the box of all points that are at most so far from it, and that the gap covers them.

        >>> import tacit
        >>> home = tacit.Model().family("home", count=100)
        >>> p = home.state("p", 24, lower=0, upper=7.4)
        >>> home.minimize(tacit.sumsq(p - 1))
        >>> home.gap(30)
        >>> home.slater(p, 0.5)
        >>> print(home)
        agents home[i in 1..100] {
          state p[24] in [0, 7.4]
          private minimize sumsq(p - 1)
          gap 30
          slater p = 0.5
        }
        """
        name = self._state_name(state, "slater")
        point = as_expression(value)
        room = None if within is None else as_expression(within)

        def write(out: Writer) -> None:
            out.put(f"slater {name} = ")
            out.node(point, self._scope)
            if room is not None:
                out.put(" within ")
                out.node(room, self._scope)

        self._add(Statement(here(), False, write), f"slater {name}", f"a Slater point of '{name}' is given twice")

    def start(self, state: Expression | str, value: Operand, *, private: bool = False) -> None:
        """The agent's first state, which may be private. Without it the start is zero."""
        name = self._state_name(state, "start")
        line = self._line(private, f"start {name} = ", as_expression(value))
        self._add(line, f"start {name}", f"a start of '{name}' is given twice")

    # ---- public promises about private data ----

    def range(
        self, data: Expression | str, length: Operand | None = None, *, lower: Operand, upper: Operand
    ) -> None:
        """A public range of private data: a column, or a private parameter of this block. What lies outside is moved into it.

        length: how many components the data have, in a cloud's file, which does not have them.

        >>> import tacit
        >>> m = tacit.Model()
        >>> home = m.family("home", m.data("homes", {"need": [9.25, 12]}))
        >>> p = home.state("p", 24, lower=0, upper=7.4)
        >>> home.require(tacit.sum(p) >= home.need)
        >>> home.range(home.need, lower=0, upper=40)
        >>> home.protect(home.need, by=5)
        >>> print(home)
        agents home over homes {
          state p[24] in [0, 7.4]
          private set sum(p) >= need
          range need in [0, 40]
          protect need by 5
        }
        """
        name = self._data_name(data, "range")
        count = None if length is None else as_expression(length)
        low, high = as_expression(lower), as_expression(upper)

        def write(out: Writer) -> None:
            out.put(f"range {name}")
            if count is not None:
                out.put("[")
                out.node(count, None)
                out.put("]")
            out.put(" in [")
            out.node(low, self._scope)
            out.put(", ")
            out.node(high, self._scope)
            out.put("]")

        self._add(Statement(here(), False, write), f"range {name}", f"'{name}' has two ranges")

    def protect(self, data: Expression | str, *, by: Operand) -> None:
        """How far private data are hidden, by ``adjacency="data"``: a number, or one for each component of a vector."""
        name = self._data_name(data, "protect")
        line = self._line(False, f"protect {name} by ", as_expression(by))
        self._add(line, f"protect {name}", f"'{name}' is protected twice")

    def distance(self, data: Expression | str, *, l1: Operand, l2: Operand) -> None:
        """How far apart protected data can move the agent's states: in files of the cloud and of agents alone."""
        name = self._data_name(data, "distance")
        first, second = as_expression(l1), as_expression(l2)

        def write(out: Writer) -> None:
            out.put(f"distance {name} {{ l1 ")
            out.node(first, None)
            out.put("; l2 ")
            out.node(second, None)
            out.put(" }")

        self._add(Statement(here(), False, write), f"distance {name}", f"'{name}' has two distances")

    # ---- names ----

    def __getattr__(self, name: str) -> Expression:
        nodes: dict[str, Name] | None = self.__dict__.get("_nodes")
        if nodes is None or name.startswith("__"):
            raise AttributeError(name)
        if name not in nodes:
            self._check_read(name)
            raise AttributeError(self._unknown(name))
        return nodes[name]._used()

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self._nodes:
                self._check_read(key)
                raise KeyError(self._unknown(key))
            return self._nodes[key]._used()
        raise TypeError(f"'{self.name}' is one agent: name a state of it, as in {self.name}.x")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._nodes]

    def __str__(self) -> str:
        return self._model._text_of_block(self)

    def __repr__(self) -> str:
        return f"<{self._head()}: {', '.join(self._nodes) or 'empty'}>"

    def _check_read(self, name: str) -> None:
        """Raises where this is a column without numbers."""

    def _unknown(self, name: str) -> str:
        known = list(self._nodes)
        has = f"; it has {', '.join(known)}" if known else "; it has no states or columns yet"
        return f"'{self.name}' has no '{name}'{has}{did_you_mean(name, known)}"

    def _head(self) -> str:
        return f"agent {self.name if is_name(self.name) else quoted(self.name, 'an agent')}"

    def _write_head(self, out: Writer) -> None:
        out.put(self._head())

    def _word(self, place: Place | None = None) -> str:
        """The name, where a sum or an expression uses it."""
        if not is_name(self.name):
            raise refusal(f"the agent {self.name!r} has a name in quotes, which no expression can use", place)
        return self.name

    def _outside(self, name: str, place: Place | None) -> str:
        """What stands before the dot where a name of this block is used outside of it."""
        return self._word(place)

    def _write(self, out: Writer) -> None:
        start = out.length
        self._write_head(out)
        out.put(" {\n")
        for one in self._statements:
            out.put("  ")
            one.put(out)
            out.put("\n")
        out.put("}")
        out.mark(start, self._place)

    # ---- making statements ----

    def _define(
        self, name: str, kind: str, shape: Shape, value: Expression | None, statement: Statement | None
    ) -> Name:
        checked_name(name, f"a {kind}")
        place = here()
        before = self._names.get(name)
        if before is not None:
            raise refusal(f"'{name}' is defined twice", place, (before.place, f"the {before!r} was made here"))
        outer = self._outer_names.get(name)
        if outer is not None:
            raise refusal(
                f"lines of '{self.name}' use the {outer!r}; a {kind} of the same name would hide it: rename one",
                place,
                (outer.place, f"the {outer!r} was made here"),
            )
        definition = Definition(name, kind, self._model_names, self, place)
        node = Name(definition, shape, value, None)
        self._names[name] = definition
        try:
            if statement is not None:
                self._add(statement)
        except BaseException:
            del self._names[name]
            raise
        self._nodes[name] = node
        return node

    def _wish(self, word: str, node: Expression) -> None:
        self._look_at(node)
        if node.ndim != 0:
            raise refusal(f"an objective must be a number, but this is {shape_text(node.shape)}", node._place)
        self._add(self._line(True, word, node), "objective", f"'{self.name}' has two objectives; add them up")

    def _look_at(self, *sides: Expression) -> None:
        """What else is wrong with expressions of this block that are compared with each other."""

    def _line(self, private: bool, text: str, node: Expression) -> Statement:
        def write(out: Writer) -> None:
            out.put(text)
            out.node(node, self._scope)

        return Statement(here(), bool(private), write)

    def _add(self, statement: Statement, once: str = "", message: str = "") -> None:
        """Adds a line. once: what a block has only one of; message: what to say to a second one."""
        if once in self._once:
            raise refusal(message, statement.place, (self._once[once], "the first one is here"))
        self._model._try(statement)
        self._statements.append(statement)
        if once:
            self._once[once] = statement.place
        self._model._change()

    def _data_name(self, data: Expression | str, what: str) -> str:
        if isinstance(data, Name) and (data._definition.block is self or data._definition.block is None):
            return data._definition.name
        if not isinstance(data, str):
            raise TypeError(f"{what} takes private data of '{self.name}': a column, a private parameter, or its name")
        return checked_name(data, "private data")

    def _state_name(self, state: Expression | str, what: str) -> str:
        name = state._definition.name if isinstance(state, Name) else state
        known = [one for one, definition in self._names.items() if definition.kind == "state"]
        if not isinstance(name, str) or (isinstance(state, Name) and state._definition.block is not self):
            raise TypeError(f"{what} takes a state of '{self.name}' and its value: {what}(p, 0.5)")
        if name not in known:
            raise refusal(f"'{self.name}' has no state '{name}'{did_you_mean(name, known)}")
        return name


def _set_line(
    condition: Relation | Membership, scope: Scope, name: str | None, binders: tuple[Index, ...], word: str = "set "
) -> Callable[[Writer], None]:
    def write(out: Writer) -> None:
        out.put(word)
        inner: Scope | None = scope
        if binders:
            out.put(f"{name or 'each'}[")
            inner = write_ranges(out, binders, scope)
            out.put("]: ")
        elif name is not None:
            out.put(f"{name}: ")
        condition._write(out, inner)

    return write


class FamilyBlock(Block):
    """A family: one member for each row of a table, or for each number of a range; all with the same lines.

    Columns of the table are attributes, ``home.weight``, and items, ``home["weight"]``. ``home[0]`` is the first
    member: its states stand in constraints as ``home[0].p``. Whole numbers of Python count from 0; an expression counts
    from 1, as the language does: ``home[k]`` with an index k.
    """

    def __init__(
        self, model: Model, name: str, place: Place, table: Table | None, count: Expression | None, index: str | None
    ) -> None:
        super().__init__(model, name, place)
        self._table = table
        self._count = count
        known = None if count is None else count._constant()
        self._members = table.rows if table is not None else None if known is None else int(known)
        self._index_name = index
        if index is not None:
            self._define(index, "index", (), None, None)
        for column, shape in ({} if table is None else table.columns).items():
            if column == index:
                raise refusal(f"'{column}' is a column of '{name}', so the member's number needs another name")
            self._define(column, "column", shape, None, None)

    def _look_at(self, *sides: Expression) -> None:
        for left, right in itertools.combinations(sides, 2):
            self._refuse_pair(left, right)
        for one in sides:
            self._refuse_columns_as_arrays(one)

    def _refuse_columns_as_arrays(self, node: Expression) -> None:
        if isinstance(node, Binary):
            self._refuse_pair(node._left, node._right)
        for part in parts_of(node):
            self._refuse_columns_as_arrays(part)

    def _refuse_pair(self, left: Expression, right: Expression) -> None:
        """A whole column beside a number: each member would get all of it, which is neither meant nor private."""
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Literal) and other.ndim == 0 and one.shape == (self._members,) and one.shape != (1,):
                raise refusal(
                    f"this array has a number for each of the {self._members} members, and each member would get all of "
                    f"them: give it as a column of data=, and write {self.name}.COLUMN",
                    one._place,
                )

    @property
    def index(self) -> Expression:
        """The member's number, from 1."""
        if self._index_name is None:
            raise AttributeError("index")
        return self._nodes[self._index_name]._used()

    def _unknown(self, name: str) -> str:
        if name == "index":
            return f"the member's number has no name: write m.family('{self.name}', ..., index='i')"
        return super()._unknown(name)

    def _check_read(self, name: str) -> None:
        if self._table is not None and name in self._table.unread:
            raise refused_data(self._table.unread[name])

    def __len__(self) -> int:
        if self._members is None:
            raise TypeError("how many members there are is not known in Python")
        return self._members

    def __bool__(self) -> bool:
        return True

    @overload
    def __getitem__(self, key: str) -> Expression: ...

    @overload
    def __getitem__(self, key: int | Expression) -> Member: ...

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return super().__getitem__(key)
        if isinstance(key, Expression):
            return Member(self, key)
        try:
            at = operator.index(key)
        except TypeError:
            raise TypeError(f"a member is a whole number or an index, not {type(key).__name__}") from None
        if at < 0 and self._members is None:
            raise IndexError("how many members there are is not known in Python, so a number cannot count from the end")
        number = at + len(self) if at < 0 else at
        if number < 0 or (self._members is not None and number >= self._members):
            raise IndexError(f"'{self.name}' has {self._members} members, from 0 on; there is no {at}")
        return Member(self, as_expression(number + 1))

    def __iter__(self) -> Iterator[Member]:
        return (self[i] for i in range(len(self)))

    def _head(self) -> str:
        if self._table is not None:
            return f"agents {self.name}{f'[{self._index_name}]' if self._index_name else ''} over {self._table.name}"
        return f"agents {self.name}"

    def _write_head(self, out: Writer) -> None:
        out.put(self._head())
        if self._count is not None:
            out.put(f"[{self._index_name} in 1..")
            out.node(self._count, None)
            out.put("]")

    def _outside(self, name: str, place: Place | None) -> str:
        raise refusal(
            f"'{name}' belongs to every member of the family '{self.name}': write tacit.total({self.name}, ...) for "
            f"the sum over all members, or {self.name}[0].{name} for one of them",
            place,
        )


class Member:
    """One member of a family. Its states, columns and parameters are attributes and items."""

    def __init__(self, family: FamilyBlock, number: Expression) -> None:
        if number.ndim != 0:
            raise refusal(f"the number of a member is a number, but this is {shape_text(number.shape)}")
        self._family = family
        self._number = number

    def __getattr__(self, name: str) -> Expression:
        family = self.__dict__.get("_family")
        if name.startswith("__") or family is None:
            raise AttributeError(name)
        if name not in family._nodes:
            family._check_read(name)
            raise AttributeError(family._unknown(name))
        return MemberName(family, self._number, family._nodes[name])

    def __getitem__(self, name: str) -> Expression:
        if name not in self._family._nodes:
            self._family._check_read(name)
            raise KeyError(self._family._unknown(str(name)))
        return MemberName(self._family, self._number, self._family._nodes[name])

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._family._nodes]

    def __repr__(self) -> str:
        number = self._number._constant() if isinstance(self._number, Literal) else None
        shown = repr(self._number)[12:-1] if number is None else str(int(number))
        return f"<member {self._family.name}[{shown}] of the language>"
