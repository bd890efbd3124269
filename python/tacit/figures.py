"""What figures are made of: the report's colours, dashes and marks, axes, ticks, legends and names beside lines."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .facts import need

if TYPE_CHECKING:
    from .results import Array


class Palette(NamedTuple):
    """The colours of the report's pages: LIGHT and DARK of src/report/html.c."""

    paper: str
    ink: str
    muted: str
    rule: str
    warn: str
    series: tuple[str, ...]


LIGHT = Palette(
    "#ffffff", "#1a1e23", "#525c66", "#d3dae0", "#9a2c00",
    ("#0072b2", "#c24e00", "#008061", "#a8467f", "#8a6d00", "#3d4650"),
)  # fmt: skip
DARK = Palette(
    "#12161b", "#e7ebef", "#a9b4be", "#37414b", "#ffa273",
    ("#56b4e9", "#f0894a", "#2fc69a", "#e08fbd", "#f0e442", "#c3ccd4"),
)  # fmt: skip

# In pixels of the report, of which a line is 1.9 wide; matplotlib counts in widths of the line.
DASHES = ((), (9, 3), (3, 2.5), (11, 3, 2.5, 3), (6, 2, 1.5, 2, 1.5, 2), (15, 4))
MARKERS = ("o", "s", "^", "D", "v", "x")
SIZES = (4.6, 4.2, 5.0, 4.2, 5.0, 4.6)
LINE, THIN = 1.4, 0.7  # points
LEVEL = (0, (3.7, 3.7))

STYLES = len(MARKERS)


# ---- axes ----


def axes_for(ax: Any, what: str, height: float = 3.0) -> tuple[Any, Palette]:
    """The axes to draw into, and the colours for them."""
    pyplot = need("matplotlib.pyplot", what)
    if ax is None:
        ax = pyplot.subplots(figsize=(4.8, height), layout="constrained")[1]
    elif not hasattr(ax, "get_facecolor"):
        raise TypeError(f"ax is one of matplotlib's axes, not {type(ax).__name__}")
    red, green, blue, alpha = need("matplotlib.colors", what).to_rgba(ax.get_facecolor())
    is_dark = alpha > 0.5 and 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.4
    palette = DARK if is_dark else LIGHT
    if alpha > 0.5:
        palette = palette._replace(paper=need("matplotlib.colors", what).to_hex((red, green, blue)))
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.spines["bottom"].set_color(palette.muted)
    ax.tick_params(colors=palette.muted, labelsize=text_size(), which="both")
    ax.tick_params(axis="y", length=0, which="both")
    ax.set_axisbelow(True)
    ax.grid(True, axis="y", which="major", color=palette.rule, linewidth=0.6)
    ax.grid(False, axis="x")
    return ax, palette


def text_size() -> float:
    """The size of all text, in points: a little below what the user has chosen."""
    return 0.9 * float(need("matplotlib", "plot()").rcParams["font.size"])


def extent(ax: Any) -> tuple[float, float]:
    """Width and height of the axes, in points. Layout may still change it a little."""
    box = ax.get_window_extent()
    return 72 * box.width / ax.figure.dpi, 72 * box.height / ax.figure.dpi


def wrapped(text: str, points: float) -> str:
    """In lines of about equal length, none much longer than so many points."""
    characters = len(text) - text.count("$") - 3 * text.count("\\mu")
    most = max(12, int(points / (0.52 * text_size())))
    if characters <= most:
        return text
    width = max(12, -(-len(text) // -(-characters // most)) + 3)
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def set_titles(ax: Any, palette: Palette, x: str, y: str) -> None:
    ax.set_xlabel(x, color=palette.ink, fontsize=text_size())
    ax.set_ylabel(wrapped(y, extent(ax)[1]), color=palette.ink, fontsize=text_size())


def tick_label(value: float, powers: bool) -> str:
    """A tick's label."""
    if value == 0 or not powers:
        return f"{value:,.10g}".replace("-", "\N{MINUS SIGN}")
    exponent = math.floor(math.log10(abs(value)) + 1e-9)
    multiple = value / 10**exponent
    if abs(multiple - 1) < 1e-6:
        return f"$10^{{{exponent}}}$"
    return f"${multiple:.4g}\\cdot 10^{{{exponent}}}$"


def price_text(value: float) -> str:
    """A price with four digits, rounded up as on the card: what is promised is never less than what is written."""
    if not math.isfinite(value):
        return "no bound"
    if float(nearest := f"{value:.4g}") >= value:
        return nearest
    exact = Decimal(value)
    return f"{float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - 3), ROUND_CEILING)):.4g}"


def set_ticks(axis: Any, low: float, high: float, is_log: bool, wanted: int) -> None:
    """A few labelled ticks and no others: powers of ten, else 1, 2 and 5 times them, else equal steps."""
    ticker = need("matplotlib.ticker", "plot()")
    decades = math.log10(high / low) if is_log and low > 0 else 0.0
    if decades < 0.15:
        locator = ticker.MaxNLocator(wanted, steps=[1, 2, 5, 10])
    elif decades < 0.75:
        locator = ticker.LogLocator(subs=range(1, 10), numticks=wanted + 2)
    else:
        locator = ticker.LogLocator(subs=(1.0,) if decades > 2.2 else (1.0, 2.0, 5.0), numticks=wanted + 2)
    far = max(abs(low), abs(high))
    powers = far > 2e5 or (low < 9e-4 if is_log else far < 1e-3)
    axis.set_major_locator(locator)
    axis.set_minor_locator(ticker.NullLocator())
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: tick_label(value, powers)))


def finish_ticks(ax: Any) -> None:
    """Ticks for the limits as they are now."""
    width, height = extent(ax)
    for axis, limits, scale, room in (
        (ax.xaxis, ax.get_xlim(), ax.get_xscale(), width / 40),
        (ax.yaxis, ax.get_ylim(), ax.get_yscale(), height / 24),
    ):
        set_ticks(axis, min(limits), max(limits), scale == "log", min(6, max(3, int(room))))


def set_rounds(ax: Any, k: Array) -> None:
    """The axis of rounds, whose width they fill."""
    ax.set_xscale("log")
    drawn = [k, *(line.get_xdata() for line in ax.lines if line.get_gid() == "tacit")]
    first, last = min(float(one[0]) for one in drawn), max(float(one[-1]) for one in drawn)
    if first < last:
        ax.set_xlim(first, last)


def plain_name(text: str, most: int = 60) -> str:
    """A user's name as plain text of one line; what is too long loses its middle, since numbers stand at the end."""
    text = "".join(one if one.isprintable() else " " for one in text)
    if len(text) > most:
        text = text[: most - most // 2 - 1] + "…" + text[len(text) - most // 2 :]
    return text.replace("$", r"\$")


def draw_line(ax: Any, palette: Palette, style: int, x: Any, y: Any, label: str | None, each: bool = False) -> Any:
    """A line of the report: its colour, dashes and marks. each: a mark at each point, else a few along it."""
    style %= STYLES
    colour, dashes = palette.series[style], tuple(length / 1.9 for length in DASHES[style])
    is_cross = MARKERS[style] == "x"
    # matplotlib cannot space marks along a line that has no points.
    apart_marks = None if each or not np.isfinite(y).any() else (0.05 + 0.14 * style / STYLES, 0.14)
    (line,) = ax.plot(
        x, y, color=colour, linewidth=LINE, linestyle=(0, dashes) if dashes else "-", marker=MARKERS[style],
        markersize=SIZES[style], markeredgecolor=colour if is_cross else palette.paper,
        markeredgewidth=LINE if is_cross else 0.6, markevery=apart_marks,
        label="_nolegend_" if label is None else label, solid_joinstyle="round", gid="tacit", zorder=3,
    )  # fmt: skip
    return line


def draw_band(ax: Any, palette: Palette, style: int, x: Any, low: Any, high: Any) -> Any:
    colour = palette.series[style % STYLES]
    return ax.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0, zorder=2, gid="tacit")


def positive(values: Array) -> Array:
    """What a log axis can show; the line has gaps elsewhere."""
    return np.where(values > 0, values, np.nan)


def include(ax: Any, values: Array) -> None:
    """Limits of a log axis around these values, and around what was drawn before."""
    before = [line.get_ydata() for line in ax.lines if line.get_gid() == "tacit"]
    values = np.concatenate([values, *(positive(np.asarray(one, dtype=float)) for one in before)])
    values = values[np.isfinite(values)]
    if len(values) > 0:
        low, high = max(float(values.min()), 1e-280), min(float(values.max()), 1e280)
        margin = (high / low) ** 0.05 if high > low else 1.5
        ax.set_ylim(low / margin, high * margin)


def draw_legend(
    ax: Any, palette: Palette, handles: Sequence[Any], labels: Sequence[str], title: str | None = None
) -> None:
    size = text_size()
    for place in ("best", "upper right"):
        legend = ax.legend(
            handles, labels, loc=place, fontsize=0.95 * size, title=title, title_fontsize=0.95 * size,
            labelcolor=palette.ink, facecolor=palette.paper, edgecolor="none", framealpha=0.85, handlelength=2.6,
            borderaxespad=0.3, borderpad=0.3, labelspacing=0.35, alignment="left",
        )  # fmt: skip
        legend.get_title().set_color(palette.muted)
        legend.set_zorder(5)
        ax.figure.draw_without_rendering()  # layout, and where the legend finds most room
        if place != "best" or ax.get_yscale() != "log" or not _hides(ax, legend):
            return
        low, high = ax.get_ylim()
        share = min(0.7, (legend.get_window_extent().height + 8) / ax.get_window_extent().height)
        ax.set_ylim(low, low * (high / low) ** (1 / (1 - share)))


def _hides(ax: Any, legend: Any) -> bool:
    """Whether a legend lies on a line."""
    box = legend.get_window_extent().padded(3)
    drawn = [line.get_transform().transform(line.get_path().vertices) for line in ax.lines]
    shown = [points[np.isfinite(points).all(axis=1)] for points in drawn]
    path = need("matplotlib.path", "plot()").Path
    return any(len(points) > 0 and path(points).intersects_bbox(box, filled=False) for points in shown)


def first_style(ax: Any) -> int:
    """Styles that earlier calls have used in the same axes are not used again."""
    return sum(1 for line in ax.lines if line.get_gid() == "tacit")


def halo(palette: Palette) -> list[Any]:
    return [need("matplotlib.patheffects", "plot()").withStroke(linewidth=2.2, foreground=palette.paper)]


def draw_level(ax: Any, palette: Palette, value: float, label: str = "_nolegend_", dashes: Any = LEVEL) -> Any:
    return ax.axhline(value, color=palette.ink, linewidth=0.8, linestyle=dashes, zorder=2.5, label=label)


# ---- names at the ends of lines ----


def end_labels(ax: Any, palette: Palette, last: float, entries: list[tuple[float, str, str]]) -> None:
    """Names at the ends of the lines, moved apart where they would cover each other.

    The axis goes on behind the last round, to make room: text outside of the axes would be cut, or lie on a neighbour.
    """
    size = 0.95 * text_size()
    width, height = extent(ax)
    room = min(0.45, (0.62 * size * max((len(label) for _, label, _ in entries), default=0) + 16) / width)
    first = ax.get_xlim()[0]
    finish_ticks(ax)
    if first < last:
        set_ticks(ax.xaxis, first, last, True, min(6, max(3, int(width * (1 - room) / 40))))
        ticks = [tick for tick in ax.xaxis.get_major_locator().tick_values(first, last) if first <= tick <= last]
        ax.xaxis.set_major_locator(need("matplotlib.ticker", "plot()").FixedLocator(ticks))
        ax.set_xlim(first, first * (last / first) ** (1 / (1 - room)))
        ax.spines["bottom"].set_bounds(first, last)
    low, high = ax.get_ylim()
    places = [(value - low) / (high - low) * height for value, _, _ in entries]
    moved = apart(places, 1.15 * size, height)
    for i, (value, label, colour) in enumerate(entries):
        ax.annotate(
            label, (last, value), (12, moved[i] - places[i]), textcoords="offset points", va="center", color=colour,
            fontsize=size, annotation_clip=False, path_effects=halo(palette), zorder=4,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.7, "shrinkA": 1, "shrinkB": 2,
                        "relpos": (0, 0.5)},
        )  # fmt: skip


def apart(places: Sequence[float], least: float, most: float) -> list[float]:
    """Places at least so far apart, in the same order and as near as can be to where they were, from 0 to most."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    groups: list[tuple[float, float, int]] = []  # labels that touch: their mean place, where their centre is, how many
    for i in order:
        mean, count = places[i], 1
        while True:
            half = least * (count - 1) / 2
            centre = max(half, min(mean, most - half))
            if not groups or centre - groups[-1][1] >= least * (count + groups[-1][2]) / 2:
                break
            before, _, size = groups.pop()
            mean, count = (before * size + mean * count) / (size + count), size + count
        groups.append((mean, centre, count))
    lines = [centre + least * (i - (count - 1) / 2) for _, centre, count in groups for i in range(count)]
    moved = dict(zip(order, lines))
    return [moved[i] for i in range(len(places))]
