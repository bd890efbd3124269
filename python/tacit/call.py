"""One call of the library: options, progress, Ctrl-C, and exceptions that come out as themselves."""

from __future__ import annotations

import os
import re
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, Protocol, TypedDict, TypeVar

import numpy as np

from ._binding import ffi, lib
from .errors import Status, TacitWarning, error_of, interrupted

Made = TypeVar("Made")
Progress = bool | None | Callable[[str, float], object]

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Work(TypedDict, total=False):
    """How to work: keywords of every function that may take long.

    threads: how many threads may work; all processors unless given. No result depends on it. check, solve, run, sweep and
        bound spread large work over them; plan, advise, audit and split use one.
    tolerance: how exact the reference solution is; 1e-8 unless given.
    full: texts name every agent, state and constraint, however many.
    progress: True shows a bar, False none. Unless given there is one in a terminal and in a notebook, after half a
        second. A function gets what is done (a text) and how much of it (0 to 1), and may raise to end the work.
    """

    threads: int
    tolerance: float
    full: bool
    progress: Progress


class Shows(Protocol):
    """What draws a progress bar."""

    def draw(self, what: str, fraction: float) -> None: ...

    def clear(self) -> None: ...


class TerminalBar:
    """A bar in the last line of standard error."""

    def draw(self, what: str, fraction: float) -> None:
        done = int(30 * fraction)
        sys.stderr.write(f"\r[{'=' * done}{' ' * (30 - done)}] {100 * fraction:3.0f} % {what[:38]:<38}")
        sys.stderr.flush()

    def clear(self) -> None:
        sys.stderr.write("\r\033[K")
        sys.stderr.flush()


class NotebookBar:
    """A bar below the cell, which goes away when the work is done."""

    def __init__(self) -> None:
        from IPython.display import display

        self._handle: Any = display(self._page("", 0.0), display_id=True)

    @staticmethod
    def _page(what: str, fraction: float) -> Any:
        from IPython.display import HTML

        return HTML(f'<progress value="{fraction:.3f}" max="1"></progress> {100 * fraction:.0f} % {what}')

    def draw(self, what: str, fraction: float) -> None:
        self._handle.update(self._page(what, fraction))

    def clear(self) -> None:
        from IPython.display import HTML

        self._handle.update(HTML(""))


def _bar() -> Callable[[], Shows] | None:
    """Where a bar can be seen: in a notebook, in a terminal, or nowhere."""
    shell = sys.modules.get("IPython")
    if shell is not None:
        running = shell.get_ipython()
        if running is not None and type(running).__name__ == "ZMQInteractiveShell":
            return NotebookBar
    if sys.stderr is not None and sys.stderr.isatty():
        return TerminalBar
    return None


class Monitor:
    """Takes what the library tells of its progress to a bar or to a function of the caller's."""

    WAIT, BETWEEN = 0.5, 0.1  # seconds until the bar is shown, and between two drawings

    def __init__(self, tell: Callable[[str, float], object] | None, bar: Callable[[], Shows] | None) -> None:
        self.raised: list[BaseException] = []
        self._tell = tell
        self._new_bar = bar
        self._bar: Shows | None = None
        self._next = time.monotonic() + self.WAIT

    def told(self, what: str, fraction: float) -> None:
        if self._tell is not None:
            self._tell(what, fraction)
            return
        now = time.monotonic()
        if now < self._next or self._new_bar is None:
            return
        self._next = now + self.BETWEEN
        if self._bar is None:
            self._bar = self._new_bar()
        self._bar.draw(what, fraction)

    def end(self) -> None:
        if self._bar is not None:
            self._bar.clear()


def _monitor(progress: Progress) -> Monitor | None:
    if callable(progress):
        return Monitor(progress, None)
    if progress is None:
        bar = _bar()
        return None if bar is None else Monitor(None, bar)
    return Monitor(None, _bar() or TerminalBar) if progress else None


@ffi.def_extern(error=1, onerror=lambda *_: None)  # type: ignore[misc]
def py_progress(callbacks: Any, what: Any, fraction: float) -> int:
    monitor: Monitor = ffi.from_handle(callbacks)
    try:
        monitor.told(ffi.string(what).decode(), fraction)
    except BaseException as error:  # all of them go to the caller, after the library has returned
        monitor.raised.append(error)
        return 1
    return 0


_OPTION = re.compile(r"--([a-z][a-z0-9-]*[a-z0-9])(?:[ =]([a-z]+:[0-9.]+|[0-9.]+(?:e-?[0-9]+)?(?!,?[0-9a-z])|none|laplace|gaussian|auto|published|tacit|hold))?(?![a-z])")


def in_python(text: str, in_model: bool = False) -> str:
    """The words of the command as Python has them. in_model: the problem was made of objects.

    >>> in_python("give --epsilon and --adjacency, or --mechanism none; tacit check says where")
    "give epsilon= and adjacency=, or mechanism='none'; check() says where"
    >>> in_python("or --rounds 1000, for example --delta 1e-6")
    'or rounds=1000, for example delta=1e-6'
    """

    flags = {"new-run": "new_run=True", "force": "replace=True", "full": "full=True", "states": "states=True"}

    def keyword(found: re.Match[str]) -> str:
        if found[1] in flags:
            return flags[found[1]] + (f" {found[2]}" if found[2] else "")
        value = found[2] or ""
        return found[1].replace("-", "_") + "=" + (value if value == "" or value[0].isdigit() else repr(value))

    def quoted(found: re.Match[str]) -> str:
        arguments = re.findall(r"\b\w+=\S+", found[2])
        return f"{found[1]}({', '.join(arguments)})"

    text = _OPTION.sub(keyword, text)
    text = re.sub(r"`tacit (check|solve|plan|run|sweep|advise|bound|audit)\b([^`]*)`", quoted, text)
    text = re.sub(r"\btacit (check|solve|plan|run|sweep|advise|bound|audit)\b", r"\1()", text)
    for written, called in _OF_MODELS if in_model else ():
        text = re.sub(written, called, text)
    return text


# What a file or a text would be told to write, and what a model calls.
_OF_MODELS = (
    (r"add (?:it|'[^']*') to the (?:file|privacy block|schedule(?: in the file)?), or (?=\w+=)", "pass "),
    (r"for example '[^']*' in the privacy block, or (?=\w+=)", "for example "),
    (r"(?:add|write) 'dual radius R'(?: to the file)?", "call dual_radius(R)"),
    (r"'gap' and 'slater' to every agent", "gap() and slater() of every agent"),
    (r"leave 'slater' and 'gap' out", "leave slater() and gap() out"),
    (r"add 'slater'", "call slater()"),
    (r"the file has no privacy block, and no options say what to promise: give", "nothing says what to promise: pass"),
    (r"to the privacy block, or", "to privacy(), or"),
    (r"'slater ([^']*)'", r"slater() \1"),
)


def message_of(text: Any, status: int, in_model: bool = False) -> str:
    """A message of the library; where it has none, what the status means."""
    if text == ffi.NULL:
        return str(ffi.string(lib.tacit_status_text(status)).decode())
    return in_python(ffi.string(text).decode(errors="replace"), in_model)


_BUSY = (
    "this problem is at work in another thread, or in the call whose callback this is. One problem is for one thread at "
    "a time: load one for each thread"
)


def raise_status(status: int, text: Any, in_model: bool = False) -> None:
    """Raises the exception of a status; returns where it is OK."""
    if status == Status.OK:
        return
    if status == Status.BUSY:
        raise error_of(status, _BUSY)
    if status == Status.NO_MEMORY:
        raise MemoryError(message_of(text, status).rstrip("\n"))
    raise error_of(status, message_of(text, status, in_model))


def new_load() -> Any:
    """Room for a problem and a message, which go when it goes."""
    return ffi.gc(ffi.new("py_load *"), lib.py_load_free)


class Call:
    """A call and what it made. The library's result lives as long as this object and whatever was taken from it."""

    def __init__(self, load: Any, in_model: bool = False) -> None:
        self.in_model = in_model
        self.handle = ffi.gc(ffi.new("py_call *"), lib.py_call_free)
        lib.py_call_begin(self.handle, load)

    @property
    def result(self) -> Any:
        return self.handle.result

    @property
    def problem(self) -> Any:
        """The library's problem, which this call holds."""
        problem = lib.py_call_problem(self.handle)
        if problem == ffi.NULL:
            raise ValueError("this problem was closed")
        return problem

    def options(self, work: Work) -> None:
        """Sets the options of long work."""
        options = self.handle.options
        if work.get("threads") is not None:
            options.threads = positive(work["threads"], "threads")
        if work.get("tolerance") is not None:
            options.tolerance = above_zero(work["tolerance"], "tolerance")
        options.full = bool(work.get("full", False))

    def make(self, function: Callable[..., int], arguments: tuple[Any, ...], progress: Progress) -> int:
        """Calls the library. Exceptions of callbacks and signal handlers come out here, as they are.

        Returns the status. A KeyboardInterrupt is kept for ``interrupted``, since there may be a result to go with it.
        """
        raised: list[BaseException] = []
        monitor = _monitor(progress)
        self.handle.raised = ffi.cast("void *", id(raised))
        if monitor is not None:
            handle = ffi.new_handle(monitor)
            self.handle.callbacks = handle
        try:
            status = function(self.handle, *arguments)
        finally:
            self.handle.callbacks = ffi.NULL
            self.handle.raised = ffi.NULL
            if monitor is not None:
                monitor.end()
                raised += monitor.raised
        if raised and type(raised[0]) is not KeyboardInterrupt:
            raise raised[0]
        # Without an exception: a signal came while Python entered the callback.
        self.interrupted = bool(raised) or self.handle.stops != 0
        return status

    def members(self, family: Any) -> list[str]:
        """The names of a family's agents, also where the problem was closed."""
        return member_names(self.problem, family)

    def warnings(self) -> list[str]:
        """What the library warns of: on standard error, and in the texts of the command."""
        said = lib.tacit_result_warnings(self.result), lib.tacit_result_remarks(self.result)
        return [self.words(line) for text in said for line in ffi.string(text).decode().splitlines()]

    def words(self, text: str) -> str:
        """What the library says, for who wrote the problem."""
        return in_python(text, self.in_model)

    def text(self, which: int) -> str:
        """A text that the result makes when it is first asked for."""
        into = ffi.new("const char **")
        why = new_load()
        raise_status(lib.py_text(self.handle, which, into, why), why.message)
        return str(ffi.string(into[0]).decode())

    def write(self, is_report: int, path: Any, command: Any) -> None:
        """Writes a file about the result."""
        why = new_load()
        raise_status(lib.py_write(self.handle, is_report, path, command, why), why.message)


def member_names(problem: Any, family: Any) -> list[str]:
    """The names of a family's agents."""
    text = ffi.new("char[]", 1024)
    names = []
    for agent in range(family.first_agent, family.first_agent + family.members):
        raise_status(lib.tacit_problem_agent_name(problem, agent, text, len(text)), ffi.NULL)
        names.append(ffi.string(text).decode(errors="replace"))
    return names


def perform(
    load: Any, function: Any, arguments: tuple[Any, ...], work: Work, make: Callable[[Call], Made], in_model: bool = False
) -> Made:
    """A call of the library, and the result that ``make`` builds from it."""
    call = Call(load, in_model)
    if load != ffi.NULL:
        _ = call.problem  # raises where it was closed
    call.options(work)
    status = call.make(function, arguments, work.get("progress"))
    if call.interrupted:
        raise interrupted(make(call) if status == Status.OK else None)
    if status == Status.INTERRUPTED:
        raise interrupted()
    raise_status(status, call.handle.message, in_model)
    result = make(call)
    try:
        warn(call.warnings())
    except TacitWarning as warning:  # warnings are errors: what was done is not lost
        warning.result = result
        raise
    return result


def warn(lines: list[str]) -> None:
    """Passes warnings of the library on, as of the line that called this package."""
    if not lines:
        return
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    for line in lines:
        warnings.warn(line.removeprefix("tacit: "), TacitWarning, stacklevel=level)


def whole(value: Any, what: str, most: int = 2**53) -> int:
    """A whole number from 0, of Python, NumPy or a float without a fraction."""
    try:
        number = value.__index__()
    except AttributeError:
        number = int(value) if isinstance(value, float) and value.is_integer() else None
    if number is None or isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{what} is a whole number, not {value!r}")
    if not 0 <= number <= most:
        raise ValueError(f"{what} is a whole number from 0 to {most}, not {value!r}")
    return int(number)


def positive(value: Any, what: str, most: int = 2**53) -> int:
    """A whole number from 1."""
    number = whole(value, what, most)
    if number == 0:
        raise ValueError(f"{what} is at least 1")
    return number


def above_zero(value: Any, what: str) -> float:
    """A number above 0."""
    number = real(value, what)
    if not number > 0:
        raise ValueError(f"{what} is above 0, not {value!r}")
    return number


def real(value: Any, what: str) -> float:
    """A number."""
    if isinstance(value, (bool, np.bool_, str)) or not hasattr(value, "__float__"):
        raise TypeError(f"{what} is a number, not {value!r}")
    number = float(value)
    if number != number:
        raise ValueError(f"{what} is NaN")
    return number


