"""Agents of a cloud on the network, as Python functions or as files.

An Agent describes: its name, its public box, and functions for its objective and its set, which stay with it. ``run``
takes part in a run and returns the agent's part of the result; ``run_async`` does so in an asyncio loop, and
``run_agents`` for several agents on one connection. One agent can be run again and again, also at the same time as long
as the state folders differ. docs/devices.md says what an agent keeps, and what is asked of its functions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from . import session
from .call import whole
from .data import numbers_of, text_of
from .errors import UsageError
from .session import AgentCondition, AgentError, AgentResult, Array, Options, Path, states_text

__all__ = ["Agent", "AgentCondition", "AgentError", "AgentResult", "run_agents", "run_agents_async"]

Gradient = Callable[[Array], ArrayLike]
Project = Callable[[Array], ArrayLike]
Proximal = Callable[[Array, float, float, Array], ArrayLike]
ProximalByState = Callable[[Array, Array, float, Array], ArrayLike]
FUNCTIONS = ("gradient", "project", "proximal", "proximal_by_state")


class Agent:
    """What an agent wants and what it can do.

    >>> import numpy, tacit
    >>> wish = numpy.array([3, 1])
    >>> home = tacit.Agent(
    ...     "home[17]",
    ...     lower=[0, 0],
    ...     upper=[4, 4],
    ...     gradient=lambda x: 2 * (x - wish),  # f(x) = |x - wish|^2
    ...     project=lambda v: v.clip(0, 4),
    ... )
    >>> home
    <tacit.Agent home[17]: 2 states, by gradient and project>

    One more line takes part in the run of a cloud, ``tacit serve``, and returns at its end::

        result = home.run(cloud="10.0.0.1:7575", keys="keys/agents/home.17", state="state")

    name: as in the cloud's file.
    lower, upper: the public box, as in the cloud's file. A number stands for every state.
    states: how many states there are, where lower and upper are two numbers; 1 unless given.
    gradient: gets x, returns the gradient of the objective, which is convex and differentiable.
    project: gets v, returns the nearest point of the agent's own set, which is convex, closed and within the box.
    proximal: gets p, step, regularization and previous. Returns the point of the set that minimises
        f(x) + p . x + (regularization/2) |x|^2 + |x - previous|^2 / (2 step). This is a round of the method ``tacit``,
        the default of clouds. Unless given, the library finds the point by gradient and project.
    proximal_by_state: the same with an array of steps, one for each state, and sum((x - previous)^2 / (2 steps)) as the
        last term. Called where the cloud scales the agent's states differently, because its public box is much wider in
        some than in others: an agent with proximal alone refuses such a run.
    start: where to begin; is moved into the set first. Unless given: the point of the box nearest to 0.
    slater: whether the public Slater point, with the room around it, lies in the agent's own set, which you have to check.
        None: there is none.

    Give gradient and project, or proximal. With proximal alone the agent begins at proximal(0, 1, 0, start) and takes
    part in the method ``tacit`` only; project besides it moves the start, and both make it fit for the method
    ``published`` too.

    Functions get arrays of their own, which they may change and keep, and return one number for each state. The same
    arguments must give the same numbers. What a function raises comes out of ``run``, as it is.
    """

    lower: Array | None  #: None: the agent is from a file
    upper: Array | None
    start: Array | None

    def __init__(
        self,
        name: str,
        *,
        lower: ArrayLike,
        upper: ArrayLike,
        gradient: Gradient | None = None,
        project: Project | None = None,
        proximal: Proximal | None = None,
        proximal_by_state: ProximalByState | None = None,
        states: int | None = None,
        start: ArrayLike | None = None,
        slater: bool | None = None,
    ) -> None:
        text_of(name, "the name of an agent")
        if not 1 <= len(name.encode()) <= 256:
            raise UsageError("the name of an agent has 1 to 256 bytes")
        self.name = name
        self.path: str | None = None
        self.gradient, self.project, self.proximal = gradient, project, proximal
        self.proximal_by_state = proximal_by_state
        self._check_functions()
        self.lower, self.upper = self._box(lower, upper, states)
        self.states = len(self.lower)
        self.start = None if start is None else self._vector(start, "start", self.states)
        if slater is not None and not isinstance(slater, (bool, np.bool_)):
            raise TypeError(f"slater of agent {name} is True, False or None, not {type(slater).__name__}")
        self.slater = slater

    @classmethod
    def from_file(cls, path: Path) -> Agent:
        """An agent from its own file, as ``Problem.split`` and ``tacit split`` write it.

        It has bit for bit the states that it would have in ``Problem.run``.

        >>> import tacit, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     made = tacit.Problem("examples/paper.tacit").split(folder + "/parts")
        ...     tacit.Agent.from_file(folder + "/parts/agents/a8.tacit")
        <tacit.Agent a8: 2 states, from a8.tacit>
        """
        from .problem import Problem

        problem = Problem(path)
        if problem.agents != 1:
            raise UsageError(
                f"{os.fspath(path)} has {problem.agents} agents; an agent takes its own file, which `tacit split` "
                "writes as agents/NAME.tacit"
            )
        agent = cls.__new__(cls)
        agent.path = os.path.abspath(path)
        agent.name, agent.states = next(iter(problem.families)), problem.states
        agent.gradient = agent.project = agent.proximal = agent.proximal_by_state = agent.slater = None
        agent.lower = agent.upper = agent.start = None
        return agent

    def run(
        self,
        *,
        cloud: str,
        state: Path,
        keys: Path | None = None,
        plan: str | None = None,
        new_run: bool = False,
        survives_power: bool = False,
        insecure_plaintext: bool = False,
        moved: Callable[[int, Array], object] | None = None,
        timeout: float | None = None,
    ) -> AgentResult:
        """Takes part in the cloud's run until its end, and returns the agent's part of the result.

        cloud: "host:port", or several with commas between them, each of which is tried. A lost connection is made
            again, for as long as it takes.
        state: a folder that only this agent's owner can read, made if missing. Called again after an interrupt, an
            exception or a crash, the agent goes on from its file there. If its run is over, it returns the old result.
        keys: the agent's folder of keys, as ``tacit keys issue`` made it.
        plan: the hash of the only plan to accept, 64 digits as ``tacit split`` and ``Plan.hash`` say it.
        new_run: take part in another run than that of the state file. Say so once, when the owner has agreed to it.
        survives_power: states wait for the disk; else they survive the end of the process only.
        insecure_plaintext: without keys, to a loopback address, for tests.
        moved: is called with every round and the agent's x in it.
        timeout: seconds, after which TimeoutError is raised. Nothing is lost: call again to go on.

        Raises AgentError where the run ends in another way, and Error where it cannot begin. Whatever is raised, the
        agent has left the cloud then, and its file is closed.
        """
        tell = None if moved is None else _without_agent(moved)
        options = Options(cloud, state, keys, plan, new_run, survives_power, insecure_plaintext, tell, timeout)
        return session.run([self], options)[0]

    async def run_async(
        self,
        *,
        cloud: str,
        state: Path,
        keys: Path | None = None,
        plan: str | None = None,
        new_run: bool = False,
        survives_power: bool = False,
        insecure_plaintext: bool = False,
        moved: Callable[[int, Array], object] | None = None,
        timeout: float | None = None,
    ) -> AgentResult:
        """The same as ``run``, in an asyncio loop. Cancelled, it leaves the cloud and closes its file.

        Functions are called in the loop's thread, which does nothing else meanwhile. So is the system's resolver, where
        the cloud's host is a name: give a numeric address where that matters.
        """
        tell = None if moved is None else _without_agent(moved)
        options = Options(cloud, state, keys, plan, new_run, survives_power, insecure_plaintext, tell, timeout)
        return (await session.run_async([self], options))[0]

    def _check_functions(self) -> None:
        given = {what: getattr(self, what) for what in FUNCTIONS if getattr(self, what) is not None}
        for what, function in given.items():
            if not callable(function):
                raise TypeError(f"{what} of agent {self.name} is a function, not {type(function).__name__}")
        has_both = "gradient" in given and "project" in given
        if not has_both and ("proximal" not in given or "gradient" in given):
            raise TypeError(
                f"agent {self.name} needs gradient and project, or proximal, to which project or both may be added; it "
                f"has {' and '.join(given) or 'none of them'}"
            )

    def _box(self, lower: ArrayLike, upper: ArrayLike, states: int | None) -> tuple[Array, Array]:
        bounds = ("lower", lower), ("upper", upper)
        given = [numbers_of(bound, f"{what} of agent {self.name}") for what, bound in bounds]
        counts = {bound.size for bound in given if bound.ndim > 0}
        if states is not None:
            counts.add(whole(states, "states"))
        if any(bound.ndim > 1 for bound in given) or len(counts) > 1 or 0 in counts:
            shapes = " and ".join(str(bound.shape) for bound in given)
            of = "" if states is None else f", for {states} states"
            shown = f"lower and upper of agent {self.name} have shapes {shapes}{of}"
            raise UsageError(f"{shown}; each has a number for each state")
        count = counts.pop() if counts else 1
        box = self._vector(given[0], "lower", count), self._vector(given[1], "upper", count)
        if not (box[0] < box[1]).all():
            raise UsageError(f"lower of agent {self.name} is not below upper in every state")
        return box

    def _vector(self, value: ArrayLike, what: str, count: int) -> Array:
        """A copy, which nobody can change."""
        array = numbers_of(value, f"{what} of agent {self.name}")
        if array.ndim > 1 or array.size not in (1, count) or (array.ndim == 1 and array.size != count):
            raise UsageError(f"{what} of agent {self.name} has shape {array.shape}; there are {states_text(count)}")
        vector = np.empty(count)
        vector[:] = array
        vector.flags.writeable = False
        return vector

    def __repr__(self) -> str:
        functions = [what for what in FUNCTIONS if getattr(self, what) is not None]
        how = f"by {' and '.join(functions)}" if self.path is None else f"from {os.path.basename(self.path)}"
        return f"<tacit.Agent {self.name}: {states_text(self.states)}, {how}>"


def run_agents(
    agents: Sequence[Agent],
    *,
    cloud: str,
    state: Path,
    keys: Path | None = None,
    plan: str | None = None,
    new_run: bool = False,
    survives_power: bool = False,
    insecure_plaintext: bool = False,
    moved: Callable[[Agent, int, Array], object] | None = None,
    timeout: float | None = None,
) -> list[AgentResult]:
    """Takes part for several agents on one connection: a gateway. Returns their results in the same order.

    The keywords are those of ``Agent.run``. The certificate in ``keys`` names all the agents, ``state`` has a file for
    each, and ``moved`` gets the agent, the round and x. Where one agent is refused the others go on; at the end
    AgentError has the results of all. An exception of one agent's function ends the connection for all.
    """
    options = Options(cloud, state, keys, plan, new_run, survives_power, insecure_plaintext, moved, timeout)
    return session.run(agents, options)


async def run_agents_async(
    agents: Sequence[Agent],
    *,
    cloud: str,
    state: Path,
    keys: Path | None = None,
    plan: str | None = None,
    new_run: bool = False,
    survives_power: bool = False,
    insecure_plaintext: bool = False,
    moved: Callable[[Agent, int, Array], object] | None = None,
    timeout: float | None = None,
) -> list[AgentResult]:
    """The same as ``run_agents``, in an asyncio loop, as ``Agent.run_async`` is."""
    options = Options(cloud, state, keys, plan, new_run, survives_power, insecure_plaintext, moved, timeout)
    return await session.run_async(agents, options)


def _without_agent(moved: Callable[[int, Array], object]) -> Callable[[Agent, int, Array], object]:
    if not callable(moved):
        raise TypeError(f"moved is a function, not {type(moved).__name__}")
    return lambda _agent, round_, x: moved(round_, x)
