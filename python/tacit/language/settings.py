"""Settings of a model: multipliers, declared constants, the dual radius, privacy, budget and schedule."""

from __future__ import annotations

import re
from typing import Final

from .blocks import Block, Statement
from .expressions import Expression, Literal, Operand, as_expression
from .places import here, is_name, quoted, refusal
from .printer import Arrays, Definition, Writer

_ADJACENCY: Final = ("ensemble", "one", "agent")


class Settings:
    """What stands outside of blocks, beside parameters, data and constraints. A part of Model."""

    def __init__(self) -> None:
        self._settings: dict[str, Statement] = {}

    def _add(self, statement: Statement) -> None:
        raise NotImplementedError

    def _try(self, statement: Statement) -> None:
        raise NotImplementedError

    def _change(self) -> None:
        raise NotImplementedError

    def _set(self, what: str, statement: Statement) -> None:
        self._try(statement)
        self._settings[what] = statement
        self._change()

    def start_multipliers(self, value: Operand) -> None:
        """The first multipliers of all constraints; ``constraint.start`` is for those of one."""
        self._add(_line("start multipliers ", as_expression(value)))

    # ---- settings: a second call replaces the first ----

    def dual_radius(self, radius: Operand) -> None:
        """The public bound on the sum of all multipliers. Without it, gaps and Slater points give one."""
        self._set("dual", _line("dual radius ", as_expression(radius)))

    def privacy(
        self,
        *,
        mechanism: str | None = None,
        epsilon: Operand | None = None,
        delta: Operand | None = None,
        adjacency: str | tuple[str, Operand] | Operand | None = None,
    ) -> None:
        """What to promise.

        mechanism: "none", "laplace" or "gaussian".
        adjacency: "agent", "data", ("one", B), ("ensemble", B), ("agent", D), or a number B, whose meaning follows the
            calibration; "one:0.5" is ("one", 0.5).

        >>> import tacit
        >>> m = tacit.Model()
        >>> m.privacy(mechanism="gaussian", epsilon=1, delta=1e-6, adjacency=("one", 0.5))
        >>> print(m)
        privacy { mechanism gaussian; epsilon 1; delta 1e-6; adjacency one 0.5 }
        """
        if mechanism is not None and mechanism not in ("none", "laplace", "gaussian"):
            raise refusal(f"a mechanism is one of none, laplace, gaussian, not {mechanism!r}")
        parts: list[tuple[str, Expression | None]] = []
        if mechanism is not None:
            parts.append((f"mechanism {mechanism}", None))
        parts += _numbers(epsilon=epsilon, delta=delta)
        if isinstance(adjacency, str):
            kind, *bound = re.split("[: ]+", adjacency, maxsplit=1)
            adjacency = (kind, _bound(adjacency, bound[0])) if bound else kind
        if isinstance(adjacency, tuple) and len(adjacency) == 2 and adjacency[0] in _ADJACENCY:
            parts.append((f"adjacency {adjacency[0]}", as_expression(adjacency[1])))
        elif isinstance(adjacency, str) and adjacency in ("agent", "data"):
            parts.append((f"adjacency {adjacency}", None))
        elif isinstance(adjacency, (str, tuple)):
            raise refusal(
                "adjacency is 'agent', 'data', ('one', B), ('ensemble', B), ('agent', D) or a number, "
                f"not {adjacency!r}"
            )
        elif adjacency is not None:
            parts.append(("adjacency", as_expression(adjacency)))
        self._set("privacy", _braces("privacy", parts))

    def budget(self, *, epsilon: Operand, delta: Operand | None = None) -> None:
        """What all runs on the same agents' data may cost together."""
        self._set("budget", _braces("budget", _numbers(epsilon=epsilon, delta=delta)))

    def schedule(
        self,
        *,
        alpha: Operand | tuple[Operand, Operand] | None = None,
        gamma: Operand | tuple[Operand, Operand] | None = None,
        rounds: Operand | None = None,
    ) -> None:
        """How many rounds; and for the published method alpha and gamma, where (0.1, 0.3) means 0.1 k^-0.3.

        >>> import tacit
        >>> m = tacit.Model()
        >>> m.schedule(alpha=(0.1, 0.3), gamma=(0.01, 0.52), rounds=100000)
        >>> print(m)
        schedule { alpha 0.1 k^-0.3; gamma 0.01 k^-0.52; rounds 100000 }
        """
        parts: list[tuple[str, Expression | None]] = []
        for name, value in (("alpha", alpha), ("gamma", gamma)):
            if isinstance(value, tuple):
                if len(value) != 2:
                    raise TypeError(f"{name} is a number, or (c, d) for c k^-d")
                parts += [(name, as_expression(value[0])), ("k^-", as_expression(value[1]))]
            elif value is not None:
                parts.append((name, as_expression(value)))
        parts += _numbers(rounds=rounds)
        self._set("schedule", _braces("schedule", parts))

    # ---- declared constants ----

    def lipschitz_constraints(self, *, l1: Operand | None = None, l2: Operand | None = None) -> None:
        """Published Lipschitz constants of all constraints together; ``check`` compares them with those it proves."""
        self._add(_braces("declare lipschitz constraints", _numbers(l1=l1, l2=l2)))

    def lipschitz_jacobian(self, *agents: Block, l1: Operand | None = None, l2: Operand | None = None) -> None:
        """Published Lipschitz constants of the columns of the Jacobian that belong to these agents."""
        words = self._agent_words(agents)
        self._add(_braces(f"declare lipschitz jacobian {words}", _numbers(l1=l1, l2=l2), agents))

    def lipschitz_objective(self, *agents: Block, value: Operand) -> None:
        """The published Lipschitz constant of the gradient of these agents' objectives."""
        text = f"declare lipschitz objective {self._agent_words(agents)} "
        node = as_expression(value)

        def write(out: Writer) -> None:
            out.put(text)
            _in_all(out, node, agents)

        self._add(Statement(here(), False, write))

    def _agent_words(self, agents: tuple[Block, ...]) -> str:
        for one in agents:
            if not isinstance(one, Block) or one._model is not self:
                raise TypeError("constants are declared for agents and families of this model")
        if not agents:
            raise TypeError("constants are declared for at least one agent or family")
        return ", ".join(one.name if is_name(one.name) else quoted(one.name, "an agent") for one in agents)


class Constraint:
    """A shared constraint of a model. ``c[0]`` is the first one, where it has several."""

    def __init__(self, model: Settings, definition: Definition, element: Expression | None = None) -> None:
        self.name = definition.name
        self._model = model
        self._definition = definition
        self._element = element

    def __getitem__(self, element: int | Expression) -> Constraint:
        if self._element is not None:
            raise TypeError(f"this is one element of '{self.name}'")
        if isinstance(element, Expression):
            return Constraint(self._model, self._definition, element)
        if element < 0:
            raise IndexError("elements of a constraint count from 0")
        return Constraint(self._model, self._definition, as_expression(element + 1))

    def start(self, multipliers: Operand) -> None:
        """The first multipliers of this constraint: a number for all of them, or one for each."""
        if self.name == "multipliers":
            raise refusal("'start multipliers' means all constraints; call this one otherwise")
        node = as_expression(multipliers)

        def write(out: Writer) -> None:
            out.put(f"start {self.name}")
            if self._element is not None:
                out.put("[")
                out.node(self._element, None)
                out.put("]")
            out.put(" = ")
            out.node(node, None)

        self._model._add(Statement(here(), False, write))

    def __repr__(self) -> str:
        return f"<constraint {self.name}>"


def _line(text: str, node: Expression) -> Statement:
    def write(out: Writer) -> None:
        out.put(text)
        out.node(node, None)

    return Statement(here(), False, write)


def _numbers(**settings: Operand | None) -> list[tuple[str, Expression | None]]:
    return [(name, as_expression(value)) for name, value in settings.items() if value is not None]


def _bound(adjacency: str, bound: str) -> float:
    try:
        return float(bound)
    except ValueError:
        raise refusal(f"the bound of an adjacency is a number, as in 'one:0.5', not {adjacency!r}") from None


def _in_all(out: Writer, node: Expression, agents: tuple[Block, ...]) -> None:
    """An expression that must mean the same in the blocks of all these agents."""
    for one in agents[1:]:
        Writer(out.names, Arrays(set()), out.source).node(node, one._scope)
    out.node(node, agents[0]._scope if agents else None)


def _braces(head: str, parts: list[tuple[str, Expression | None]], agents: tuple[Block, ...] = ()) -> Statement:
    """head { name value; name value }; after "k^-" comes the power of the setting before it."""

    def write(out: Writer) -> None:
        out.put(f"{head} {{")
        for i, (name, value) in enumerate(parts):
            power = name == "k^-"
            out.put(f"{';' if i > 0 and not power else ''} {name}{' ' if value is not None and not power else ''}")
            if value is None:
                continue
            # A name after `adjacency` would be read as its kind, and a power of k ends with the setting.
            plain = isinstance(value, Literal) and value.ndim == 0 and value._array >= 0
            enclosed = (name == "adjacency" or power) and not plain
            out.put("(" if enclosed else "")
            _in_all(out, value, agents)
            out.put(")" if enclosed else "")
        out.put(" }")

    return Statement(here(), False, write)
