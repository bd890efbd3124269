"""Figures with matplotlib, which look like those of the report: its colours, dashes, markers and words.

Each function draws into ``ax``, or into a figure of its own, and returns the axes. None shows a figure, and none
changes matplotlib's settings. On dark axes the report's dark colours are used.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .errors import Error, UsageError
from .facts import Facts, need
from .figures import (
    LEVEL,
    STYLES,
    THIN,
    Palette,
    axes_for,
    draw_band,
    draw_legend,
    draw_level,
    draw_line,
    end_labels,
    extent,
    finish_ticks,
    first_style,
    halo,
    include,
    plain_name,
    positive,
    price_text,
    set_rounds,
    set_ticks,
    set_titles,
    text_size,
    wrapped,
)

if TYPE_CHECKING:
    from .results import Advice, Array, Plan
    from .runs import OneRun, Run, Sweep, Trace

MOST_BARS = 12
PLACES = 600  # points of a median's line, as in the report
LONGEST_NAME = 14  # beside a line
FIGURES = {
    "x_error": "$|x-x_0|$ after the last round",
    "mu_error": r"$|\mu-\mu_0|$ after the last round",
    "penalty": "penalty",
    "max_violation": "largest violation at the end",
}


# ---- runs ----


def _grid(traces: Sequence[Trace]) -> Array:
    """The rounds to draw: those of the longest run, from 1 on, and of many runs at most PLACES."""
    k: Array = max(traces, key=len).k.astype(np.float64)
    k = k[k > 0]
    if len(traces) > 1 and len(k) > PLACES and k[-1] > 1:
        places = np.floor(np.log(k) / math.log(k[-1]) * PLACES)
        k = k[np.append(places[1:] != places[:-1], True)]
    return k


def _table(traces: Sequence[Trace], k: Array, values: Sequence[Array]) -> Array:
    """The values by run and round; NaN where a run has no such round, or no finite value."""
    table = np.full((len(traces), len(k)), np.nan)
    for row, trace, column in zip(table, traces, values):
        _, ours, theirs = np.intersect1d(k, trace.k, assume_unique=True, return_indices=True)
        row[ours] = column[theirs]
    table[~np.isfinite(table)] = np.nan
    return table


def _quantiles(table: Array) -> tuple[Array, Array, Array]:
    """10 %, median and 90 % over the runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # rounds that no run has
        function = np.nanquantile if np.isnan(table).any() else np.quantile
        low, median, high = function(table, [0.1, 0.5, 0.9], axis=0)
    return low, median, high


def _traces(result: Run) -> list[Trace]:
    traces = [one.trace for one in result.runs if len(one.trace) > 0]
    if not traces:
        raise Error(f"there is nothing to draw: {result.reason or 'no round was kept'}")
    if not (max(traces, key=len).k > 0).any():
        raise Error("there is nothing to draw: the run ended before its first round")
    return traces


def _how_many(runs: Sequence[OneRun]) -> str:
    ended = sum(1 for one in runs if one.outcome == "done")
    return f"{len(runs)} runs" if ended == len(runs) else f"{len(runs)} runs, {ended} to the end"


def run(result: Run, what: str, ax: Any, label: str | None = None) -> Any:
    """Draws "errors", "constraints" or "multipliers" of one run or of many. label: goes before those of the legend."""
    if what == "errors":
        return _errors(result, ax, label)
    if what == "constraints":
        return _by_constraint(result, ax, lambda trace: trace.g, "constraint $g_j(x(k))$", limit=True)
    if what == "multipliers":
        return _by_constraint(result, ax, lambda trace: trace.mu, r"multiplier $\mu_j(k)$", limit=False)
    raise ValueError(f"a run draws 'errors', 'constraints' or 'multipliers', not {what!r}")


def _errors(result: Run, ax: Any, label: str | None) -> Any:
    traces = _traces(result)
    k = _grid(traces)
    both = [("$|x(k) - x_0|$", _table(traces, k, [one.x_error for one in traces]))]
    if traces[0].mu.shape[1]:
        both.append((r"$|\mu(k) - \mu_0|$", _table(traces, k, [one.mu_error for one in traces])))
    if all(np.isnan(table).all() for _, table in both):
        raise Error(
            "there are no errors to draw: this run had no exact solution to compare with. Run without "
            'no_reference=True, or draw "constraints" or "multipliers"'
        )
    ax, palette = axes_for(ax, "plot()")
    first = first_style(ax)
    handles, labels = ([], []) if first == 0 else ax.get_legend_handles_labels()
    for style, (sign, table) in enumerate(both, first):
        low, median, high = _quantiles(table)
        name = sign if label is None else f"{plain_name(label, 30)}: {sign}"
        if not (median > 0).any():
            name += " is 0"
        if len(traces) > 1:
            draw_band(ax, palette, style, k, np.maximum(low, np.finfo(float).tiny), positive(high))
        handles.append(draw_line(ax, palette, style, k, positive(median), name))
        labels.append(name)
    ax.set_yscale("log")
    set_rounds(ax, k)
    shown = np.concatenate([positive(array) for _, table in both for array in _quantiles(table)])
    include(ax, shown)
    set_titles(ax, palette, "round k (log scale)", "distance to the solution")
    title = f"median, and 10 to 90 % of {_how_many(result.runs)}" if len(traces) > 1 else None
    draw_legend(ax, palette, handles, labels, title)
    finish_ticks(ax)
    return ax


def _by_constraint(result: Run, ax: Any, values: Callable[[Trace], Array], title: str, limit: bool) -> Any:
    """The largest at the end in colours, in the problem's order; the others grey."""
    traces = _traces(result)
    names, k = result.problem.constraints, _grid(traces)
    if not names:
        raise Error("there is nothing to draw: the problem has no constraints")
    curves = [_quantiles(_table(traces, k, [values(one)[:, j] for one in traces])) for j in range(len(names))]
    ends = np.array([_last(median) for _, median, _ in curves])
    falling = np.argsort(np.where(np.isnan(ends), np.inf, -ends), kind="stable")
    chosen = sorted(int(j) for j in falling[:STYLES])
    others = [j for j in range(len(names)) if j not in set(chosen)]
    ax, palette = axes_for(ax, "plot()")
    for j in others:
        ax.plot(k, curves[j][1], color=palette.muted, linewidth=THIN, alpha=0.5, zorder=1.5, label="_nolegend_")
    for style, j in enumerate(chosen):
        low, median, high = curves[j]
        if len(traces) > 1 and len(chosen) <= 3:
            draw_band(ax, palette, style, k, low, high)
        draw_line(ax, palette, style, k, median, plain_name(names[j]))
    many = ""
    if len(traces) > 1:
        many = f", median of {_how_many(result.runs)}" if len(chosen) > 3 else f", {_how_many(result.runs)}"
    set_titles(ax, palette, "round k (log scale)", title + many)
    set_rounds(ax, k)
    bottom, top = ax.get_ylim()
    ax.set_ylim(min(bottom, 0.0), max(top, 0.0))
    entries = [(ends[j], plain_name(names[j], LONGEST_NAME), palette.series[style]) for style, j in enumerate(chosen)]
    if others:
        entries.append((float(np.nanmedian(ends[others])), f"{len(others)} others", palette.muted))
    if limit:
        ax.plot(k[[0, -1]], [0, 0], color=palette.ink, linewidth=0.8, linestyle=LEVEL, zorder=2.5, label="limit")
        ax.annotate(
            "limit", (float(k[0]), 0), (4, 3), textcoords="offset points", color=palette.ink,
            fontsize=0.9 * text_size(), path_effects=halo(palette), zorder=4,
        )  # fmt: skip
    end_labels(ax, palette, float(k[-1]), [entry for entry in entries if np.isfinite(entry[0])])
    return ax


def _last(values: Array) -> float:
    found = values[np.isfinite(values)]
    return float(found[-1]) if len(found) > 0 else math.nan


# ---- sweeps ----


def sweep(result: Sweep, what: str, ax: Any, label: str | None = None) -> Any:
    """Draws a figure against epsilon: medians ("penalty": means) and the band of 10 to 90 % of the runs."""
    if what not in FIGURES:
        raise ValueError(f"a sweep draws {', '.join(map(repr, FIGURES))}, not {what!r}")
    points = result.points
    epsilon, middle = (np.array([point[name] for point in points], dtype=float) for name in ("epsilon", what))
    printed = [((one.get("quantiles") or {}).get(what)) or {} for one in result.json["points"]]
    low, high = (np.array([one.get(name) for one in printed], dtype=float) for name in ("q10", "q90"))
    if not np.isfinite(middle).any():
        raise Error(_nothing_of_sweep(result, what))
    is_log = bool((middle[np.isfinite(middle)] > 0).all())
    ax, palette = axes_for(ax, "plot()")
    style = first_style(ax)
    handles, labels = ([], []) if style == 0 else ax.get_legend_handles_labels()
    if is_log:
        low, middle, high = np.maximum(low, np.finfo(float).tiny), positive(middle), positive(high)
    band = draw_band(ax, palette, style, epsilon, low, high)
    name = f"{'mean' if what == 'penalty' else 'median'}, and 10 to 90 %"
    line = draw_line(ax, palette, style, epsilon, middle, name if label is None else plain_name(label, 40), each=True)
    handles.append((band, line))
    labels.append(line.get_label())
    ax.set_xscale("log")
    if is_log:
        ax.set_yscale("log")
    free = (result.json.get("without_noise") or {}).get(what)
    nothing = None if result.baseline is None else result.baseline.get(what)
    named = [("without noise", free, LEVEL), ("doing nothing", nothing, (0, (1, 2.5)))]
    shown = [(name, float(level), dashes) for name, level, dashes in named if level is not None and (level > 0 or not is_log)]
    levels = [level for _, level, _ in shown]
    for name, level, dashes in shown:
        handles.append(draw_level(ax, palette, level, name, dashes))
        labels.append(name)
    if is_log:
        include(ax, np.concatenate([low[low > np.finfo(float).tiny], middle, high, levels]))
    if what == "penalty":
        _slopes(ax, palette, result, epsilon, middle, handles, labels)
    title = _about_sweep(result, what)
    set_titles(ax, palette, "epsilon (log scale)", FIGURES[what])
    draw_legend(ax, palette, handles, labels, title)
    finish_ticks(ax)
    return ax


def advice(result: Advice, ax: Any) -> Any:
    """Draws the doubt in the worst constraint against epsilon, by unit and law of noise, and what is tolerable."""
    if not result.table:
        raise Error(f"there is nothing to draw: {result.recommendation}")
    ax, palette = axes_for(ax, "plot()")
    handles, labels, everything = [], [], []
    def way_of(point: Any) -> tuple[str, str]:
        return f"{point.adjacency} in {point.norm}" if point.norm else str(point.adjacency), str(point.mechanism)

    ways = list(dict.fromkeys(map(way_of, result.table)))
    for style, way in enumerate(ways):
        points = [point for point in result.table if way_of(point) == way]
        doubt = positive(np.array([point.doubt for point in points], dtype=float))
        epsilon = np.array([point.epsilon for point in points], dtype=float)
        handles.append(draw_line(ax, palette, style, epsilon, doubt, f"{way[0]}, {way[1]}", each=True))
        labels.append(f"{way[0]}, {way[1]}")
        everything.append(doubt)
    ax.set_xscale("log")
    ax.set_yscale("log")
    worst = next(one for one in result.json["constraints"] if one["name"] == result.facts.constraint)
    whole = abs(worst["limit"] or 0) or worst["range"]
    share, amount = result.json["tolerable_share"], result.json["tolerable_doubt"]
    tolerable = amount if share is None else share * whole
    handles.append(draw_level(ax, palette, tolerable, "tolerable"))
    labels.append("tolerable")
    include(ax, np.concatenate([*everything, [tolerable]]))
    set_titles(ax, palette, "epsilon (log scale)", plain_name(f"doubt in {result.facts.constraint}", 40))
    draw_legend(ax, palette, handles, labels, None)
    finish_ticks(ax)
    return ax


def _nothing_of_sweep(result: Sweep, what: str) -> str:
    if not result.points:
        return f"there is nothing to draw: {result.reason or 'no epsilon was finished'}"
    if what in ("x_error", "mu_error"):
        return (
            "there are no errors to draw: this sweep had no exact solution to compare with. Sweep without "
            'no_reference=True, or draw "penalty" or "max_violation"'
        )
    return f"there is nothing to draw: no run has a {what}"


def _about_sweep(result: Sweep, what: str) -> str | None:
    """The slope is the penalty's, whatever is drawn."""
    lines = []
    if what != "penalty" and math.isfinite(result.slope):
        lines.append(f"penalty: {_slope_text(result)}")
    diverged = sum(point.diverged for point in result.points)
    if diverged:
        lines.append(f"{diverged} of {len(result.runs)} runs diverged")
    return "\n".join(lines) or None


def _slope_text(result: Sweep) -> str:
    low, high = result.slope_interval
    text = f"slope {result.slope:.2f}"
    if math.isfinite(low) and math.isfinite(high):
        text += f" ({low:.2f} to {high:.2f})"
    return text.replace("-", "\N{MINUS SIGN}")


def _slopes(
    ax: Any, palette: Palette, result: Sweep, epsilon: Array, mean: Array, handles: list[Any], labels: list[str]
) -> None:
    """The fitted line, and one proportional to epsilon^-2 through the mean at the middle epsilon."""
    ends = np.array([epsilon[0], epsilon[-1]])
    intercept, middle = result.json.get("intercept"), len(epsilon) // 2
    lines = []
    if math.isfinite(result.slope) and intercept is not None:
        lines.append((np.exp(intercept + result.slope * np.log(ends)), (3.7, 1.6), f"fit: {_slope_text(result)}"))
    if len(epsilon) > 1 and mean[middle] > 0:
        name = r"proportional to $\varepsilon^{-2}$"
        lines.append((mean[middle] * (ends / epsilon[middle]) ** -2.0, (1.2, 2.5), name))
    for y, dashes, name in lines:
        (line,) = ax.plot(ends, y, color=palette.ink, linewidth=0.9, linestyle=(0, dashes), label=name, zorder=2.8)
        handles.append(line)
        labels.append(name)


# ---- plans ----


class _Bar(NamedTuple):
    who: str
    epsilon: float
    words: str = "{}"


def _bars(observers: Sequence[Facts], most: int) -> list[_Bar]:
    """All observers, or those who pay most, with the others of each price together."""
    rows = [_Bar(plain_name(one.who, 34), float(one.epsilon)) for one in observers]
    if len(rows) <= most:
        return rows
    # Those who are no single agent come last: coalitions, the eavesdropper and the status page.
    is_single = [one.who not in ("eavesdropper", "status page") and " + " not in one.who for one in observers]
    special = [row for row, single in zip(rows, is_single) if not single]
    single = [row for row, single in zip(rows, is_single) if single]
    single.sort(key=lambda row: -row.epsilon if not math.isnan(row.epsilon) else -math.inf)
    special = special[-(most // 2) :]
    kept = single[: most - len(special) - 1]
    rest = single[len(kept) :]
    if rest:
        words = "{} each" if rest[-1].epsilon == rest[0].epsilon else "at most {}"
        kept.append(_Bar(f"… and {len(rest)} more", rest[0].epsilon, words))
    return kept + special


def plan(result: Plan, ax: Any, what: str | None = None) -> Any:
    """Draws "prices" or "doubts"; None: both, or prices into axes that are given."""
    if what not in (None, "prices", "doubts"):
        raise ValueError(f"a plan draws 'prices' or 'doubts', not {what!r}")
    rows = _doubts(result) if what == "doubts" or (what is None and ax is None) else []
    if what == "doubts":
        if not rows:
            raise Error(f"there is no doubt to draw: {result.impossible or 'noise leaves none in a constraint'}")
        return _draw_doubts(rows, ax)
    if not rows or not result.observers:
        return _prices(result, ax)
    pyplot = need("matplotlib.pyplot", "plot()")
    counts = [min(MOST_BARS, len(result.observers)), min(MOST_BARS, len(rows))]
    figure, (above, below) = pyplot.subplots(
        2, figsize=(6.4, 1.8 + 0.24 * (counts[0] + counts[1])), layout="constrained",
        height_ratios=[one + 2 for one in counts],
    )  # fmt: skip
    _prices(result, above)
    _draw_doubts(rows, below)
    return above


class _Doubt(NamedTuple):
    name: str
    share: float  # in percent
    words: str
    useless: bool


def _doubts(result: Plan) -> list[_Doubt]:
    """The doubt in each constraint, as a share of its limit, or of its range where the limit is 0."""
    rows = []
    try:
        constraints = getattr(result, "constraints", [])
    except UsageError:  # the plan of a run knows its prices alone
        constraints = []
    for one in constraints:
        whole = abs(one.limit or 0) or one.range
        if math.isfinite(one.doubt) and one.doubt > 0 and math.isfinite(whole) and whole > 0:
            words = f"{one.doubt:.3g} of {whole:,.6g}" + (": useless" if one.is_useless else "")
            rows.append(_Doubt(plain_name(one.name, 34), 100 * one.doubt / whole, words, bool(one.is_useless)))
    if len(rows) > MOST_BARS:
        rows.sort(key=lambda row: -row.share)
        rest = rows[MOST_BARS - 1 :]
        rows[MOST_BARS - 1 :] = [rest[0]._replace(name=f"… and {len(rest)} more", words=f"at most {rest[0].words}")]
    return rows


def _draw_doubts(rows: Sequence[_Doubt], ax: Any) -> Any:
    ax, palette = axes_for(ax, "plot()", 0.9 + 0.24 * len(rows))
    far, (width, _) = max(row.share for row in rows), extent(ax)
    colours = [palette.series[int(row.useless)] for row in rows]
    for patch in ax.barh(range(len(rows)), [row.share for row in rows], height=0.62, color=colours, zorder=2):
        patch.set_gid("tacit")
    for y, row in enumerate(rows):
        ax.annotate(
            row.words, (row.share, y), (4, 0), textcoords="offset points", va="center", fontsize=0.95 * text_size(),
            color=palette.warn if row.useless else palette.ink, path_effects=halo(palette), zorder=4,
        )  # fmt: skip
    ax.set_yticks(range(len(rows)), [row.name for row in rows])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    room = 0.6 * text_size() * max(len(row.words) for row in rows) / width
    ax.set_xlim(0, far / (1 - min(0.7, room)))
    ax.tick_params(axis="y", labelcolor=palette.ink)
    ax.grid(False, axis="y")
    ax.grid(True, axis="x", color=palette.rule, linewidth=0.6)
    set_titles(ax, palette, wrapped("doubt at the result, one standard deviation, in % of the limit", width), "")
    set_ticks(ax.xaxis, 0.0, ax.get_xlim()[1], False, min(6, max(3, int(width / 60))))
    return ax


def _prices(result: Plan, ax: Any) -> Any:
    """What each observer pays, and the epsilon that was promised."""
    observers = result.observers
    if not observers:
        raise Error(f"there is nothing to draw: {result.impossible or result.reason or 'the plan has no observers'}")
    ax, palette = axes_for(ax, "plot()", 0.9 + 0.24 * min(MOST_BARS, len(observers)))
    size, (width, height) = text_size(), extent(ax)
    headline = "" if result.private else wrapped(plain_name(result.headline or "NOT PRIVATE", 200), 0.66 * width)
    above = 1.3 * size * headline.count("\n")
    bars = _bars(observers, max(4, min(MOST_BARS, int((height - above) / (1.3 * size)))))
    promised = float(result.facts.epsilon) if math.isfinite(result.facts.epsilon) else None
    far = _draw_bars(ax, palette, bars, promised)
    # Layout takes the names' width from the axes.
    whole = 1.25 * width
    names = [wrapped(bar.who, 0.42 * whole) if len(bars) < 7 else bar.who for bar in bars]
    ax.set_yticks(range(len(bars)), names)
    inside = max(40.0, whole - 0.6 * size * max(len(line) for name in names for line in name.splitlines()))
    room = (0.6 * size * max(len(_price(bar)) for bar in bars) + 8) / inside
    ax.set_ylim(len(bars) - 0.4, -0.6)
    ax.set_xlim(0, far / (1 - min(0.6, room)))
    ax.tick_params(axis="y", labelcolor=palette.ink)
    ax.grid(False, axis="y")
    ax.grid(True, axis="x", color=palette.rule, linewidth=0.6)
    set_titles(ax, palette, wrapped(_price_title(result), inside), "")
    set_ticks(ax.xaxis, 0.0, ax.get_xlim()[1], False, min(6, max(3, int(inside / 40))))
    if promised is not None:
        _promised(ax, palette, result, promised)
    elif not any(math.isfinite(bar.epsilon) for bar in bars):
        ax.set_xticks([])
    if headline:
        pad = 6 if promised is None else 6 + 1.7 * size
        ax.set_title(headline, loc="left", color=palette.warn, fontsize=size, fontweight="bold", pad=pad)
    return ax


def _draw_bars(ax: Any, palette: Palette, bars: Sequence[_Bar], promised: float | None) -> float:
    """Bars with their prices: above the promise in another colour, without a bound hatched. Returns how far they go."""
    finite = [bar.epsilon for bar in bars if math.isfinite(bar.epsilon)]
    far = max([*finite, promised or 0.0]) or 1.0
    lengths = [bar.epsilon if math.isfinite(bar.epsilon) else 1.25 * far for bar in bars]
    above = [promised is not None and not bar.epsilon <= promised * (1 + 1e-9) for bar in bars]
    drawn = ax.barh(range(len(bars)), lengths, height=0.62, color=[palette.series[int(one)] for one in above], zorder=2)
    for y, (patch, bar) in enumerate(zip(drawn, bars)):
        patch.set_gid("tacit")
        if not math.isfinite(bar.epsilon):
            patch.set(facecolor="none", edgecolor=palette.warn, hatch="////", linewidth=0)
        ax.annotate(
            _price(bar), (lengths[y], y), (4, 0), textcoords="offset points", va="center", fontsize=0.95 * text_size(),
            color=palette.ink if math.isfinite(bar.epsilon) else palette.warn, path_effects=halo(palette), zorder=4,
        )  # fmt: skip
    return float(max([far, *lengths]))


def _price(bar: _Bar) -> str:
    return bar.words.format(price_text(bar.epsilon)) if math.isfinite(bar.epsilon) else "no bound"


def _price_title(result: Plan) -> str:
    deltas = {float(one.delta) for one in result.observers if math.isfinite(one.delta)}
    at = f" at delta {price_text(deltas.pop())}" if len(deltas) == 1 and 0.0 not in deltas else ""
    return f"epsilon{at}, at most"


def _promised(ax: Any, palette: Palette, result: Plan, promised: float) -> None:
    word = "promised" if result.private else "asked for"
    each = " for each released system" if result.facts.calibration == "published" else ""
    line = ax.axvline(
        promised, color=palette.ink, linewidth=0.9, linestyle=LEVEL, zorder=3,
        label=f"{word}: {price_text(promised)}{each}",
    )  # fmt: skip
    size = text_size()
    ax.legend(
        [line], [line.get_label()], loc="lower right", bbox_to_anchor=(1, 1), fontsize=0.95 * size, frameon=False,
        labelcolor=palette.ink, borderaxespad=0.1, handlelength=2.2,
    )  # fmt: skip
