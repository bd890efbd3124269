"""Agents at work: a connection in the library, its waits, and the calls of the agents' functions."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import math
import os
import select
import stat
import time
import weakref
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from ._binding import ffi, lib
from .call import message_of, raise_status, real, warn
from .data import numbers_of, text_of
from .errors import BusyError, Error, Status, UsageError

if TYPE_CHECKING:
    from .agent import Agent

Array = np.ndarray[Any, np.dtype[np.float64]]
Path = str | os.PathLike[str]


class AgentCondition(enum.StrEnum):
    """Where an agent is: ``tacit_agent_condition`` of the C library. The last four are those of an AgentError.

    >>> AgentCondition.REFUSED == "refused"
    True
    """

    CONNECTING = "connecting"
    RUNNING = "running"
    PAUSING = "pausing"
    DONE = "done"  #: every round was answered
    DIVERGED = "diverged"  #: numbers ceased to be finite, here or in the cloud
    NO_SLATER = "no Slater point"  #: the public Slater point does not lie in the agent's own set
    REFUSED = "refused"  #: by the cloud or by the agent, for good
    FAILED = "failed"  #: the state file cannot be written


_CONDITIONS = tuple(AgentCondition)  # in the order of the C library
_STATUS = {AgentCondition.REFUSED: Status.BAD_USAGE, AgentCondition.FAILED: Status.CANNOT_WRITE}


@dataclasses.dataclass(frozen=True, eq=False)
class AgentResult:
    """An agent's part of a run. ``x`` is private, so it is not in the text of this object."""

    name: str
    x: Array = dataclasses.field(repr=False)  #: the agent's part of the result
    condition: AgentCondition
    rounds: int  #: the last round that was answered
    run: str | None  #: the name of the run in the cloud's summary and on its page; None: no cloud has said it
    first_round: int  #: 1; or the round in which the agent began without its state file: x is of rounds from there on
    outside: int  #: rounds in which the state lay outside the cloud's box: lower and upper are not the cloud's
    file_changed: bool  #: the agent's file is not that of the run's first round, which was used instead
    was_over: bool  #: the run ended before this call, so x is an old result
    message: str  #: what the library says of the connection, in one line


class AgentError(Error):
    """A run did not come to its end for an agent. ``condition`` says how, the text why.

    results: what each agent of the connection has, in their order. Some of several may be done.
    """

    def __init__(self, message: str, condition: AgentCondition, results: Sequence[AgentResult] = ()) -> None:
        super().__init__(message, _STATUS.get(condition, Status.BAD_PROBLEM))
        self.condition = condition
        self.results = tuple(results)

    def __reduce__(self) -> Any:
        return type(self), (str(self), self.condition, self.results)


@dataclasses.dataclass(frozen=True)
class Options:
    """The keywords of ``Agent.run``."""

    cloud: str
    state: Path
    keys: Path | None
    plan: str | None
    new_run: bool
    survives_power: bool
    insecure_plaintext: bool
    moved: Callable[[Agent, int, Array], object] | None
    timeout: float | None


def run(agents: Sequence[Agent], options: Options) -> list[AgentResult]:
    """Blocks until the end. Ctrl-C ends the wait."""
    with Session(agents, options) as session:
        while not session.step():
            session.wait()
        return session.results()


async def run_async(agents: Sequence[Agent], options: Options) -> list[AgentResult]:
    """The same in an asyncio loop."""
    with Session(agents, options) as session:
        while not session.step():
            await session.wait_async()
        return session.results()


# ---- functions of agents ----


def _copy(numbers: Any, count: int) -> Array:
    """Arrays that a function may keep: the library's memory is never shown to it."""
    array = np.empty(count)
    ffi.memmove(array, numbers, 8 * count)
    return array


class _Part:
    """An agent of a session, as the library's callbacks see it. ``raised`` is the session's."""

    def __init__(self, agent: Agent, raised: list[BaseException]) -> None:
        self.agent, self.raised = agent, raised

    def call(self, what: str, to: Any, *arguments: Any) -> int:
        """Calls a function of the agent and gives its numbers to the library. Not 0: it has failed."""
        if self.raised:
            return 1
        try:
            numbers = self.numbers(getattr(self.agent, what)(*arguments), what)
            ffi.memmove(to, numbers, 8 * self.agent.states)
        except BaseException as error:  # all of them come out of run(), after the library has returned
            self.raised.append(error)
        return 1 if self.raised else 0

    def numbers(self, value: Any, what: str) -> Array:
        """What a function has returned: a finite number for each state."""
        count = self.agent.states
        is_plain = type(value) is np.ndarray and value.dtype == np.float64 and value.shape == (count,)
        if is_plain and value.flags.c_contiguous and math.isfinite(value.dot(value)):
            return value  # type: ignore[no-any-return]
        label = f"what {what} of agent {self.agent.name} returned"
        if value is None:
            raise UsageError(f"{label} is None; a function returns a new array of {count} numbers")
        array = numbers_of(value, label)
        if array.shape != (count,) and not (array.ndim == 0 and count == 1):
            raise UsageError(f"{label} has shape {array.shape}; the agent has {states_text(count)}: ({count},)")
        return np.ascontiguousarray(array)


def _keep(_kind: Any, error: BaseException, traceback: TracebackType | None) -> None:
    """What is raised between the library and the functions: a signal's exception, or no memory."""
    context = traceback.tb_frame.f_locals.get("context") if traceback is not None else None
    if context is not None:
        ffi.from_handle(context).raised.append(error)


@ffi.def_extern(error=1, onerror=_keep)  # type: ignore[misc]
def py_gradient(context: Any, x: Any, gradient: Any) -> int:
    part: _Part = ffi.from_handle(context)
    if part.agent.gradient is None:
        part.raised.append(
            UsageError(
                f"agent {part.agent.name} has no gradient, but this cloud runs the method `published`, whose rounds "
                "are a gradient and a projection: give the agent gradient and project too"
            )
        )
        return 1
    return part.call("gradient", gradient, _copy(x, part.agent.states))


@ffi.def_extern(error=1, onerror=_keep)  # type: ignore[misc]
def py_project(context: Any, v: Any) -> int:
    part: _Part = ffi.from_handle(context)
    count = part.agent.states
    if part.agent.project is None:  # for the start; any point of the set will do
        return part.call("proximal", v, np.zeros(count), 1.0, 0.0, _copy(v, count))
    return part.call("project", v, _copy(v, count))


@ffi.def_extern(error=1, onerror=_keep)  # type: ignore[misc]
def py_proximal(context: Any, p: Any, step: float, regularization: float, previous: Any, to: Any) -> int:
    part: _Part = ffi.from_handle(context)
    count = part.agent.states
    return part.call("proximal", to, _copy(p, count), step, regularization, _copy(previous, count))


@ffi.def_extern(error=1, onerror=_keep)  # type: ignore[misc]
def py_proximal_by_state(context: Any, p: Any, steps: Any, regularization: float, previous: Any, to: Any) -> int:
    part: _Part = ffi.from_handle(context)
    count = part.agent.states
    own = _copy(p, count), _copy(steps, count), regularization, _copy(previous, count)
    return part.call("proximal_by_state", to, *own)


class _Witness:
    """The function ``moved`` of a session."""

    def __init__(self, agents: Sequence[Agent], moved: Any, raised: list[BaseException]) -> None:
        self.agents, self.moved, self.raised = agents, moved, raised


@ffi.def_extern(onerror=_keep)  # type: ignore[misc]
def py_moved(context: Any, agent: int, round_: int, x: Any) -> None:
    witness: _Witness = ffi.from_handle(context)
    if not witness.raised:
        one = witness.agents[agent]
        witness.moved(one, round_, _copy(x, one.states))


# ---- a connection ----

_open: weakref.WeakValueDictionary[tuple[str, str], Session] = weakref.WeakValueDictionary()
_MOST_WAIT = 1.0  # seconds: a signal just before the wait is noticed then


class Session:
    """Agents that share a connection, open in the library. For one thread, and for the process that made it."""

    def __init__(self, agents: Sequence[Agent], options: Options) -> None:
        self.agents = list(agents)
        self.raised: list[BaseException] = []  # by functions of the agents; the first one counts
        self._seconds = options.timeout
        self._end = math.inf if options.timeout is None else time.monotonic() + _seconds(options.timeout)
        self._kept: list[Any] = []  # what the library points to
        self._handle = ffi.gc(ffi.new("py_agent *"), lib.py_agent_close)
        functions, paths = self._functions()
        self._places = [(os.path.realpath(options.state), agent.name) for agent in self.agents]
        status = lib.py_agent_open(self._handle, self._options(options), functions, paths, len(self.agents))
        self._raise()
        if status == Status.CANNOT_READ:
            self._look_for_rivals()
        if status != Status.OK:
            raise_status(status, self._handle.message)
        _open.update(dict.fromkeys(self._places, self))

    def _text(self, value: Path | None, what: str) -> Any:
        if value is None:
            return ffi.NULL
        self._kept.append(text_of(os.fspath(value), what))
        return self._kept[-1]

    def _options(self, given: Options) -> Any:
        options = ffi.new("tacit_agent_options *")
        options.size = ffi.sizeof("tacit_agent_options")
        for what in ("cloud", "keys", "state", "plan"):
            setattr(options, what, self._text(getattr(given, what), what))
        for what in ("insecure_plaintext", "survives_power", "new_run"):
            setattr(options, what, bool(getattr(given, what)))
        if given.moved is not None:
            if not callable(given.moved):
                raise TypeError(f"moved is a function, not {type(given.moved).__name__}")
            self._kept.append(ffi.new_handle(_Witness(self.agents, given.moved, self.raised)))
            options.moved, options.context = lib.py_moved, self._kept[-1]
        return options

    def _functions(self) -> tuple[Any, Any]:
        """The agents for the library: as functions, or as paths of files."""
        for agent in self.agents:
            if not hasattr(agent, "gradient") or not hasattr(agent, "path"):
                raise TypeError(f"an agent is a tacit.Agent, not {type(agent).__name__}")
        if any(agent.path is not None for agent in self.agents):
            if any(agent.path is None for agent in self.agents):
                raise UsageError("one connection has agents from files or agents of functions, not both: make two")
            return ffi.NULL, ffi.new("char *[]", [self._text(agent.path, "path") for agent in self.agents])
        functions = ffi.new("tacit_agent_functions[]", len(self.agents))
        for to, agent in zip(functions, self.agents):
            self._fill(to, agent)
        return functions, ffi.NULL

    def _fill(self, to: Any, agent: Agent) -> None:
        self._kept.append(ffi.new_handle(_Part(agent, self.raised)))
        to.size, to.context, to.states = ffi.sizeof("tacit_agent_functions"), self._kept[-1], agent.states
        to.name = self._text(agent.name, "name")
        to.slater = 0 if agent.slater is None else 1 if agent.slater else 2
        for what in ("lower", "upper", "start"):
            if getattr(agent, what) is not None:
                self._kept.append(ffi.from_buffer("double[]", getattr(agent, what)))
                setattr(to, what, self._kept[-1])
        to.gradient, to.project = lib.py_gradient, lib.py_project
        if agent.proximal is not None:
            to.proximal = lib.py_proximal
        if agent.proximal_by_state is not None:
            to.proximal_by_state = lib.py_proximal_by_state

    def _look_for_rivals(self) -> None:
        for place in self._places:
            if place in _open:
                raise BusyError(
                    f"agent {place[1]} is at work in this process already, with the state folder '{place[0]}'; with "
                    "one folder an agent runs once at a time",
                    Status.BUSY,
                )

    def _raise(self) -> None:
        if self.raised:
            raise self.raised.pop(0)

    def step(self) -> bool:
        """Does what can be done now. True: it is over."""
        self._raise()
        condition = lib.tacit_agent_step(self._handle.agent)
        self._raise()
        self._condition = _CONDITIONS[condition]
        return bool(condition >= lib.TACIT_AGENT_DONE)

    def _wish(self) -> tuple[int, int, float]:
        """What to wait for: a descriptor or -1, for which events, and how many seconds at most."""
        left = self._end - time.monotonic()
        if left <= 0:
            names = ", ".join(agent.name for agent in self.agents[:3]) + (", ..." if len(self.agents) > 3 else "")
            passed = f"not done after {self._seconds:g} seconds"
            raise TimeoutError(f"{names}: {passed} ({self._message()}); call again to go on")
        milliseconds = ffi.new("int *")
        wants = lib.tacit_agent_wants(self._handle.agent, milliseconds)
        seconds = milliseconds[0] / 1000 if milliseconds[0] >= 0 else math.inf
        return lib.tacit_agent_descriptor(self._handle.agent), wants, min(seconds, left)

    def wait(self) -> None:
        descriptor, wants, seconds = self._wish()
        poll = select.poll()
        if descriptor >= 0:
            reads, writes = wants & lib.TACIT_AGENT_READ, wants & lib.TACIT_AGENT_WRITE
            poll.register(descriptor, (select.POLLIN if reads else 0) | (select.POLLOUT if writes else 0))
        poll.poll(math.ceil(1000 * min(seconds, _MOST_WAIT)))

    async def wait_async(self) -> None:
        descriptor, wants, seconds = self._wish()
        if descriptor < 0 or seconds == 0:
            await asyncio.sleep(min(seconds, _MOST_WAIT))
            return
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        timer = None if seconds == math.inf else loop.call_later(seconds, ready.set)
        try:
            if wants & lib.TACIT_AGENT_READ:
                loop.add_reader(descriptor, ready.set)
            if wants & lib.TACIT_AGENT_WRITE:
                loop.add_writer(descriptor, ready.set)
            await ready.wait()
        finally:  # before the next step, in which the library may close the descriptor and get the same number again
            loop.remove_reader(descriptor)
            loop.remove_writer(descriptor)
            if timer is not None:
                timer.cancel()

    def _message(self) -> str:
        return message_of(lib.tacit_agent_message(self._handle.agent), Status.OK)

    def _result(self, number: int) -> AgentResult:
        agent, run = self._handle.agent, lib.tacit_agent_run(self._handle.agent, number)
        return AgentResult(
            name=ffi.string(lib.tacit_agent_name(agent, number)).decode(),
            x=_copy(lib.tacit_agent_answer(agent, number), lib.tacit_agent_states(agent, number)),
            condition=_CONDITIONS[lib.tacit_agent_how(agent, number)],
            rounds=lib.tacit_agent_round(agent, number),
            run=None if run == ffi.NULL else ffi.string(run).decode(),
            first_round=lib.tacit_agent_first_round(agent, number),
            outside=lib.tacit_agent_outside(agent, number),
            file_changed=bool(lib.tacit_agent_file_changed(agent, number)),
            was_over=bool(lib.tacit_agent_was_over(agent, number)),
            message=self._message(),
        )

    def results(self) -> list[AgentResult]:
        """When it is over: the result of each agent, or AgentError where not all are done."""
        results = [self._result(number) for number in range(len(self.agents))]
        warn([line for result in results for line in _oddities(result)])
        if self._condition is not AgentCondition.DONE:
            text = self._message()
            if "Slater point" in text and any(agent.path is None and agent.slater is None for agent in self.agents):
                text += ", or that was not checked: if it does, say Agent(..., slater=True)"
            raise AgentError(text, self._condition, results)
        return results

    def orphan(self) -> None:
        """In a child of fork: the connection stays the parent's. Nothing is sent on it from here, whoever goes on."""
        text = "this process was forked while agents were at work; they go on in the parent"
        self.raised.insert(0, Error(text, Status.BUSY))
        descriptor = lib.tacit_agent_descriptor(self._handle.agent) if self._handle.agent != ffi.NULL else -1
        if descriptor >= 0 and stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
            os.dup2(nothing, descriptor, inheritable=False)
            os.close(nothing)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        for place in self._places:
            _open.pop(place, None)
        lib.py_agent_close(self._handle)


def _orphan_all() -> None:
    for session in set(_open.values()):
        session.orphan()
    _open.clear()


os.register_at_fork(after_in_child=_orphan_all)


def _seconds(timeout: float) -> float:
    seconds = real(timeout, "timeout")
    if seconds < 0:
        raise ValueError("timeout is a number of seconds from 0")
    return seconds


def _oddities(result: AgentResult) -> list[str]:
    lines = []
    if result.first_round > 1:
        lines.append(
            f"agent {result.name} began at round {result.first_round} without its state file: the result is of the "
            "rounds from there on. Was the file lost, or another folder given?"
        )
    if result.file_changed:
        lines.append(
            f"agent {result.name}: its file or its data have changed since the first round of this run, which went on "
            "with what they were then; the change is used from the next run on"
        )
    if result.outside > 0:
        lines.append(
            f"agent {result.name}: in {result.outside} rounds its state lay outside the public box of the cloud's "
            "file or outside its public set, which seem to be others than here: the cloud's figures are not about this "
            "result"
        )
    return lines


def states_text(count: int) -> str:
    return "1 state" if count == 1 else f"{count} states"
