"""Cards in HTML for notebooks: what ``_repr_html_`` of a problem and of each result gives.

They take the notebook's own text colour, so that they can be read on light and on dark paper. All style is inline,
there are no scripts, and nothing is loaded. Whatever comes from a user is escaped.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import Error
from .facts import Facts
from .figures import price_text
from .results import Audit, Bound, Check, Ledger, Plan, Result, Solution, Split
from .runs import Run, Sweep

if TYPE_CHECKING:
    from .problem import Family, Problem
    from .runs import OneRun, Trace

# 3:1 or more against white and against the dark papers of notebooks; a test computes it.
GREEN, RED, BLUE = "#0a8566", "#c95309", "#1a7fbf"
RULE = "rgba(128,128,128,.4)"
PANEL = "rgba(128,128,128,.1)"

MOST_ROWS = 8
MOST_NAMES = 8
LONGEST_NAME = 48
DASH = "\N{EN DASH}"


# ---- parts of a card ----


def _text(value: object, most: int | None = None) -> str:
    """Escaped text. What no HTML page may have becomes a replacement sign."""
    text = "".join(one if one.isprintable() or one == "\n" else "\N{REPLACEMENT CHARACTER}" for one in str(value))
    if most is not None and len(text) > most:
        text = text[: most - most // 2 - 1] + "…" + text[len(text) - most // 2 :]
    return html.escape(text)


def _number(value: Any, digits: int = 4) -> str:
    """As the report writes numbers: 4 digits, thousands apart, a dash for none."""
    if value is None or math.isnan(value):
        return DASH
    if math.isinf(value):
        return "no bound" if value > 0 else "\N{MINUS SIGN}∞"
    if value == int(value) and abs(value) < 1e9:
        text = f"{int(value):,}"
    elif 1e-4 <= abs(value) < 1e9:
        whole = math.floor(math.log10(abs(value))) + 1
        text = f"{value:,.{max(0, digits - whole)}f}"
    else:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        text = f"{mantissa}e{int(exponent)}"
    return text.replace("-", "\N{MINUS SIGN}")


def _short(value: float) -> str:
    """As the command writes it: "0.95", "1e-06"."""
    return f"{value:.4g}" if math.isfinite(value) else _number(value)


def _count(number: int, word: str) -> str:
    many = word[:-1] + "ies" if word.endswith("y") else word + "s"
    return f"{number:,} {word if number == 1 else many}"


def _card(title: str, *parts: str) -> str:
    """title and parts are HTML."""
    head = f'<div style="font-size:1.05em;margin-bottom:4px">{title}</div>'
    style = (
        f"border:1px solid {RULE};border-radius:4px;padding:8px 12px;max-width:52em;font-size:13px;line-height:1.45;"
        "color:inherit;background:transparent;overflow-x:auto"
    )
    return f'<div class="tacit" style="{style}">{head}{"".join(part for part in parts if part)}</div>'


def _title(what: str, about: str = "") -> str:
    return f'<strong>{_text(what)}</strong>{" " + about if about else ""}'


def _line(words: str) -> str:
    return f'<div style="margin:3px 0">{words}</div>'


def _note(words: str) -> str:
    return f'<div style="margin:3px 0;opacity:.8;font-size:12px">{words}</div>'


def _promise(holds: bool, words: str) -> str:
    """The bar of the report: green where it holds, red where not. words is HTML."""
    style = f"margin:6px 0;padding:5px 10px;border-left:4px solid {GREEN if holds else RED};background:{PANEL}"
    return f'<div style="{style}">{words}</div>'


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], text_columns: int = 1) -> str:
    """Cells are HTML; the first columns are text, the others numbers."""

    def cell(tag: str, content: str, column: int, border: str) -> str:
        side = "left" if column < text_columns else "right"
        style = (
            f"text-align:{side};padding:2px 14px 2px 0;border:0;border-bottom:{border};background:transparent;"
            "color:inherit;vertical-align:top;font-variant-numeric:tabular-nums"
        )
        scope = ' scope="col"' if tag == "th" else ""
        return f'<{tag}{scope} style="{style}">{content}</{tag}>'

    def line(tag: str, cells: Sequence[str], border: str) -> str:
        inner = "".join(cell(tag, content, i, border) for i, content in enumerate(cells))
        return f'<tr style="background:transparent">{inner}</tr>'

    body = "".join(line("td", row, f"1px solid {RULE}") for row in rows)
    style = "border-collapse:collapse;margin:6px 0;font-size:12.5px;color:inherit;border:0"
    head = line("th", [_text(one) for one in heads], "1.5px solid currentColor")
    return f'<table style="{style}"><thead>{head}</thead><tbody>{body}</tbody></table>' if body else ""


def _list(items: Iterable[str]) -> str:
    rows = "".join(f'<li style="margin:1px 0">{_text(one)}</li>' for one in items)
    return f'<ul style="margin:2px 0 4px;padding-left:1.4em">{rows}</ul>' if rows else ""


def _folded(title: str, content: str) -> str:
    if not content:
        return ""
    summary = f'<summary style="cursor:pointer">{_text(title)}</summary>'
    return f'<details style="margin:4px 0">{summary}{content}</details>'


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(f"<code>{_text(one, LONGEST_NAME)}</code>" for one in names[:MOST_NAMES])
    return shown + (f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else "")


def _stopped(result: Result) -> str:
    """A line for what did not come to its end, or did not hold."""
    if result.interrupted:
        return _promise(False, "<strong>Interrupted:</strong> this is what was done until then.")
    return ""


# ---- the problem ----


def _states(family: Family) -> str:
    each = [one.name if one.is_scalar else f"{one.name}[{one.length}]" for one in family.variables]
    return _names(each)


def _family_names(group: Sequence[Family]) -> str:
    names = [f"<code>{_text(one.name, LONGEST_NAME)}</code>" for one in group]
    return ", ".join(names) if len(names) <= 3 else f"{names[0]}, {names[1]} and {len(names) - 2:,} more"


def problem(value: Problem) -> str:
    """What a problem has: agents, states, constraints."""
    name = f"<code>{_text(value.name, LONGEST_NAME)}</code>"
    try:
        families, constraints = value.families, value.constraints
        counts = _count(value.agents, "agent"), _count(value.states, "state"), _count(len(constraints), "constraint")
    except ValueError:
        return _card(_title("Problem", name), _note("This problem was closed."))
    # Single agents with the same states share a row.
    alike: dict[tuple[Any, ...], list[Family]] = {}
    for one in families.values():
        alike.setdefault((one.name,) if one.is_family else one.variables, []).append(one)
    rows = [
        [_family_names(group), _states(group[0]), f"{sum(one.members for one in group):,}", f"{group[0].states:,}"]
        for group in list(alike.values())[:MOST_ROWS]
    ]
    more = len(alike) - MOST_ROWS
    return _card(
        _title("Problem", name),
        _line(", ".join(counts)),
        _table(["agents", "states", "how many", "states each"], rows, 2),
        _note(f"and {_count(more, 'family')} more") if more > 0 else "",
        _line(f"Constraints: {_names(constraints)}") if constraints else _line("No constraints."),
    )


# ---- plans ----


def _guarantee(plan: Plan, reasons: Sequence[str] = (), about_run: bool = False) -> str:
    """The card's headline, and why it is none where it is none."""
    if plan.impossible is not None:
        return _promise(False, f"<strong>No plan:</strong> {_text(plan.impossible)}")
    of_what = " of what was released" if about_run and plan.private else ""
    words = f"<strong>Guarantee{of_what}:</strong> {_text(plan.headline or 'no plan')}"
    if reasons:
        words += ": " + _text("; ".join(reasons[:2]))
        words += f"; and {_count(len(reasons) - 2, 'reason')} more" if len(reasons) > 2 else ""
    return _promise(plan.private, words)


def _observers(plan: Plan) -> str:
    has_delta = any(one.delta > 0 for one in plan.observers)
    rows = []
    groups: dict[tuple[Any, ...], list[str]] = {}
    for one in plan.observers:
        groups.setdefault((one.about, one.epsilon, one.delta), []).append(one.who)
    for (about, epsilon, delta), who in groups.items():
        name = _text(who[0], LONGEST_NAME) if len(who) == 1 else _names_of_observers(who)
        row = [name, _text(about, LONGEST_NAME), price_text(epsilon)]
        rows.append(row + ([price_text(delta)] if has_delta else []))
    heads = ["observer", "learns about", "epsilon, at most", *(["delta"] if has_delta else [])]
    more = len(rows) - MOST_ROWS
    left = _note(f"and {_count(more, 'row')} more: <code>plan.observers</code>") if more > 0 else ""
    return _table(heads, rows[:MOST_ROWS], 2) + left


def _names_of_observers(who: Sequence[str]) -> str:
    if len(who) <= 3:
        return ", ".join(_text(one, LONGEST_NAME) for one in who)
    return f"{_text(who[0], LONGEST_NAME)}, {_text(who[1], LONGEST_NAME)} and {len(who) - 2:,} more, each"


def _plan(plan: Plan) -> str:
    if plan.impossible is not None:
        return _card(_title("Plan"), _guarantee(plan))
    facts, printed = plan.facts, plan.json
    card = printed.get("card") or {}
    noise = "no noise" if facts.mechanism == "none" else f"{facts.mechanism} noise on {facts.placement}"
    words = [noise, f"{facts.calibration} calibration", f"{facts.method} method", f"{_number(facts.rounds)} rounds"]
    hides = "Hides" if plan.private else "Would hide"
    return _card(
        _title("Plan", _text(", ".join(words))),
        _guarantee(plan, printed.get("void_reasons") or ()),
        _observers(plan),
        _part(hides, card.get("hides")),
        _part("Does not hide", card.get("does_not_hide")),
        _folded("The promise, exactly", _list(card.get("promise") or ())),
        _folded("Trusted", _list(card.get("trusted") or ())),
        _folded("Not covered", _list(card.get("exclusions") or ())),
        _warnings(plan, printed.get("warnings") or ()),
    )


def _part(title: str, items: Sequence[str] | None) -> str:
    return f"<div><strong>{_text(title)}</strong>{_list(items)}</div>" if items else ""


def _warnings(value: Result, printed: Sequence[str] = ()) -> str:
    """Those of the call, and those that the command would print with the result."""
    listed = list(dict.fromkeys([*value.warnings, *printed]))
    return _folded(_count(len(listed), "warning"), _list(listed)) if listed else ""


# ---- runs ----


def _reasons(run: Run) -> list[str]:
    """Why a run is not private, without the whole JSON, which has all states."""
    if run.plan.private:
        return []
    if run.plan.facts.mechanism == "none":
        return ["no noise was added"]
    if run.runs and run.runs[0].seed is not None:
        return ["the noise comes from a seed: whoever knows the seed knows the noise"]
    return [run.reason] if run.reason else []


def _outcome(runs: Sequence[OneRun]) -> str:
    rounds = max(one.rounds for one in runs)
    if len(runs) == 1:
        seed = "" if runs[0].seed is None else f", seed {runs[0].seed}"
        return f"{runs[0].outcome} after {_count(rounds, 'round')}{seed}"
    words = [f"{count:,} {word}" for word in ("done", "diverged", "interrupted") if (count := _ended(runs, word))]
    return f"{len(runs):,} runs ({', '.join(words)}), {_count(rounds, 'round')}"


def _ended(runs: Sequence[OneRun], word: str) -> int:
    return sum(1 for one in runs if one.outcome == word)


def _traces(run: Run) -> list[Trace]:
    """None where the problem was closed before a round was read."""
    try:
        return [one.trace for one in run.runs if len(one.trace) > 0]
    except ValueError:
        return []


def _checkpoints(traces: Sequence[Trace]) -> str:
    """A few rounds: the first, powers of ten, the last. Of many runs the medians."""
    longest = max(traces, key=len).k
    tens = [k for k in longest if k > 0 and math.log10(k) == int(math.log10(k))]
    chosen = sorted({*tens[-5:], int(longest[0]), int(longest[-1])})
    names = {"x_error": "error of x", "mu_error": "error of μ", "objective": "objective", "max_violation": "violation"}
    columns = {}
    for name in names:
        columns[name] = [_median(traces, name, k) for k in chosen]
    shown = [name for name in names if not all(math.isnan(value) for value in columns[name])]
    rows = [[f"{k:,}", *(_number(columns[name][i]) for name in shown)] for i, k in enumerate(chosen)]
    return _table(["round", *(names[name] for name in shown)], rows, 0)


def _median(traces: Sequence[Trace], name: str, k: int) -> float:
    found = [getattr(one, name)[one.k == k] for one in traces]
    values = np.concatenate(found)
    values = values[np.isfinite(values)]
    return float(np.median(values)) if len(values) > 0 else math.nan


def _sparkline(traces: Sequence[Trace]) -> str:
    """The error of x against the round, both on log scales, of the first run."""
    trace = traces[0]
    kept = (trace.k > 0) & (trace.x_error > 0) & np.isfinite(trace.x_error)
    k, error = np.log(trace.k[kept]), np.log(trace.x_error[kept])
    if len(k) < 3 or k[-1] <= k[0]:
        return ""
    step = max(1, len(k) // 200)
    k, error = k[::step], error[::step]
    span = max(float(error.max() - error.min()), 1e-9)
    x, y = (k - k[0]) / (k[-1] - k[0]) * 156 + 2, (error.max() - error) / span * 30 + 3
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y))
    title = f"error of x by round{', first seed' if len(traces) > 1 else ''}, log scales"
    svg = (
        '<svg width="160" height="36" viewBox="0 0 160 36" role="img" style="vertical-align:middle">'
        f"<title>{title}</title>"
        f'<polyline points="{points}" fill="none" stroke="{BLUE}" stroke-width="1.6" stroke-linejoin="round"/></svg>'
    )
    return _note(f"{svg} {title}")


def _run(run: Run) -> str:
    if not run.runs:
        words = f"<strong>There was no run:</strong> {_text(run.reason or 'interrupted before it began')}"
        return _card(_title("Run"), _promise(False, words))
    traces = _traces(run)
    many = "Medians of the runs. " if len(traces) > 1 else ""
    broken = next((one for one in run.runs if one.reason), None)
    return _card(
        _title("Run", _text(_outcome(run.runs))),
        _guarantee(run.plan, _reasons(run), True),
        _verdict(run),
        _stopped(run),
        _promise(False, _text(broken.reason)) if broken and not run.interrupted else "",
        _checkpoints(traces) if traces else "",
        _sparkline(traces) if traces else "",
        _note(f"{many}Simulation: not released. These are true values, which no guarantee covers.") if traces else "",
        _released(run),
        _warnings(run),
    )


def _released(run: Run) -> str:
    """What released data alone say about the constraints."""
    words = run.runs[0].feasibility if len(run.runs) == 1 else None
    return "" if words is None else _line(f"Released data show: {_text(words)}.")


def _verdict(run: Run) -> str:
    """Whether it is better than doing nothing; the reasons why it is not are among the warnings, too."""
    if run.verdict is None:
        return ""
    return _promise(not run.no_better_than_nothing, _text(run.verdict))


def _worth(point: Facts) -> str:
    return "worthless" if point.no_better_than_nothing else "free" if point.privacy_is_free else ""


def _sweep(sweep: Sweep) -> str:
    points = sweep.points
    if not points:
        words = f"<strong>Nothing was swept:</strong> {_text(sweep.reason or 'interrupted before it began')}"
        return _card(_title("Sweep"), _promise(False, words))
    columns = ("penalty", "x_error", "mu_error", "objective", "max_violation")
    rows = [
        [_short(one.epsilon), str(one.runs), *(_number(one[name]) for name in columns), _worth(one)] for one in points
    ]
    free, nothing = sweep.json.get("without_noise") or {}, sweep.baseline
    if free:
        rows.append(["no noise", "1", "0", *(_number(free.get(name)) for name in columns[1:]), ""])
    if nothing:
        rows.append(["zero prices", "", "", *(_number(nothing.get(name)) for name in columns[1:]), ""])
    low, high = sweep.slope_interval
    slope = ""
    if math.isfinite(sweep.slope):
        interval = f" (95 %: {_number(low, 3)} to {_number(high, 3)})" if math.isfinite(low) else ""
        slope = _line(f"Slope of log penalty against log epsilon: <strong>{_number(sweep.slope, 3)}</strong>{interval}")
    return _card(
        _title("Sweep", _text(f"{_count(len(points), 'epsilon')}, {_count(len(sweep.runs), 'run')}")),
        _promise(False, "<strong>NOT PRIVATE:</strong> simulated runs with noise from seeds."),
        _stopped(sweep),
        _table(["epsilon", "runs", "penalty, mean", "error of x", "error of μ", "objective", "violation", ""], rows, 0),
        *(_line(_text(sentence)) for sentence in sweep.json.get("worth") or []),
        slope,
        _note("Errors are medians. Simulation: not released."),
        _warnings(sweep),
    )


# ---- the others ----


def _check(check: Check) -> str:
    printed = check.json.get("assumptions") or {}
    rows = []
    for number, (name, verdict) in enumerate(check.assumptions.items(), 1):
        facts = printed.get(name) or {}
        reasons = [": ".join(filter(None, (one["place"], one["text"]))) for one in facts.get("reasons") or ()]
        words = " ".join(reasons[:2]) or facts.get("summary") or ""
        rows.append([str(number), _text(name), f"<strong>{_text(verdict)}</strong>", _text(words, 300)])
    constants = check.lipschitz
    verdict = "All assumptions hold." if check.holds else check.reason or "An assumption fails."
    return _card(
        _title("Check"),
        _promise(check.holds, _text(verdict)),
        _stopped(check),
        _table(["", "assumption", "", ""], rows, 4),
        _line(
            f"Constants of g, proved: {_number(constants.l1.upper)} (1-norm), {_number(constants.l2.upper)} (2-norm). "
            f"Slater margin {_number(check.slater_margin)}, dual radius {_number(check.dual_radius)}."
        ),
        _warnings(check, check.json.get("warnings") or ()),
    )


def _solution(solution: Solution) -> str:
    words = {"solved": "Solved", "infeasible_suspected": "No point seems to satisfy all constraints"}
    outcome = words.get(solution.outcome, solution.outcome.replace("_", " ").capitalize())
    try:
        names = solution.problem.constraints
        priced = [(name, float(mu)) for name, mu in zip(names, solution.mu) if mu != 0]
    except ValueError:
        names, priced = (), []
    priced.sort(key=lambda one: -abs(one[1]))
    rows = [[f"<code>{_text(name, LONGEST_NAME)}</code>", _number(mu)] for name, mu in priced[:MOST_ROWS]]
    more = len(priced) - MOST_ROWS
    return _card(
        _title("Solution"),
        _promise(solution.holds, f"<strong>{_text(outcome)}</strong>: objective {_number(solution.objective, 8)}"),
        _stopped(solution),
        _line(_text(solution.reason)) if solution.outcome == "infeasible_suspected" else "",
        _line(
            f"Largest violation {_number(solution.max_violation)}, residual {_number(solution.residual, 2)}, "
            f"|x| {_number(solution.norm_x)}, |μ| {_number(solution.norm_mu)}"
        ),
        _table(["constraint", "multiplier"], rows),
        _note(f"and {_number(more)} more with a price") if more > 0 else "",
        _note("Not private: computed from all data.")
        + ("" if solution.is_convex else _note("Convexity is not proved: the point is only stationary.")),
    )


def _bound(bound: Bound) -> str:
    if bound.plan.problem is not None:
        return _card(_title("Bound"), _promise(False, f"<strong>No plan:</strong> {_text(bound.plan.problem)}"))
    facts = bound.facts
    if not bound.says_something:
        return _card(_title("Bound"), _promise(False, f"<strong>Vacuous:</strong> {_text(facts.because)}"))
    return _card(
        _title("Bound"),
        _promise(True, f"With probability 0.95 the result is within <strong>{_number(facts.radius)}</strong>."),
        _line(f"Within {_number(facts.within)} with probability {_short(facts.probability)}."),
    )


def _audit(audit: Audit) -> str:
    verdict = audit.verdict.replace("_", " ")
    because = f": {_text(audit.facts.because)}" if audit.facts.because else ""
    systems = [
        [_text(one.name, LONGEST_NAME), _text(one.verdict.replace("_", " ")), _short(one.claimed_epsilon),
         _short(one.lower_bound), f"{one.samples:,}"]
        for one in audit.systems
    ]  # fmt: skip
    points = [
        [_text(one.name), _text(one.verdict.replace("_", " ")), _text(one.why or "", 300)] for one in audit.points
    ]
    heads = ["system", "verdict", "claimed epsilon", "at least", "samples"]
    return _card(
        _title("Audit"),
        _promise(audit.verdict == "not_refuted", f"<strong>{_text(verdict.capitalize())}</strong>{because}"),
        _stopped(audit),
        _table(heads, systems[:MOST_ROWS], 2),
        _table(["tested", "verdict", ""], points, 3),
        _list(one.text for one in audit.faults),
        _note("An audit can refute a guarantee, never prove it."),
        _warnings(audit),
    )


def _ledger(ledger: Ledger) -> str:
    rows = [
        [_text(one.time or ""), _text(one.problem or "", LONGEST_NAME), _text(one.mechanism or ""),
         _text(one.adjacency or ""), price_text(one.epsilon), price_text(one.delta)]
        for one in ledger.entries[-MOST_ROWS:]
    ]  # fmt: skip
    more = len(ledger.entries) - MOST_ROWS
    return _card(
        _title("Ledger", _count(len(ledger.entries), "run")),
        _note(f"{_count(more, 'run')} before these") if more > 0 else "",
        _table(["time", "problem", "noise", "unit", "epsilon", "delta"], rows, 4),
    )


def _split(split: Split) -> str:
    rows = [[f"<code>{_text(name, LONGEST_NAME)}</code>", f"{len(text):,}"] for name, text in split.parts.items()]
    more = len(rows) - MOST_ROWS
    return _card(
        _title("Split", _text(f"{len(rows):,} files" if rows else split.reason or "written")),
        _table(["file", "characters"], rows[:MOST_ROWS]),
        _note(f"and {_count(more, 'file')} more: <code>split.parts</code>") if more > 0 else "",
    )


CARDS: dict[type[Result], Any] = {
    Plan: _plan,
    Run: _run,
    Sweep: _sweep,
    Check: _check,
    Solution: _solution,
    Bound: _bound,
    Audit: _audit,
    Ledger: _ledger,
    Split: _split,
}


def result(value: Result) -> str:
    """The card of a result; what has none of its own gets one with its text."""
    for kind, card in CARDS.items():
        if isinstance(value, kind):
            try:
                return str(card(value))
            except Error as error:
                return _card(_title(type(value).__name__), _promise(False, _text(error)))
    style = "margin:0;color:inherit;background:transparent;white-space:pre-wrap;font-size:12px"
    return _card(_title(type(value).__name__), f'<pre style="{style}">{_text(value)}</pre>')
