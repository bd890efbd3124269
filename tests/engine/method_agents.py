"""Proximal steps of agents, accurate to rounding, by one-dimensional searches. Each function returns a solver

    (q, h) -> argmin over X_i of f_i(x) + q.x + sum_c h_c/2 x_c^2,     h > 0

A solver in a smaller set is made from one in a larger set: the set's multiplier only changes q and h."""

import itertools
import math

import numpy as np
from scipy.optimize import brentq


def root(function, low, high):
    """Of an increasing function; an end of the interval where it has no root inside."""
    if function(low) >= 0:
        return low
    if function(high) <= 0:
        return high
    size = max(abs(low), abs(high))
    return brentq(function, low, high, xtol=1e-18 * size, rtol=4 * np.finfo(float).eps, maxiter=500)


def quadratic(weight, center, lower, upper):
    """f = weight |x - center|^2 in a box; weight 0: nothing is wished."""
    center = np.array(center, float)
    return lambda q, h: np.clip((2 * weight * center - q) / (2 * weight + h), lower, upper)


def linear(slope, lower, upper):
    slope = np.array(slope, float)
    return lambda q, h: np.clip(-(q + slope) / h, lower, upper)


def separable(slopes, lower, upper):
    """f' of each component, increasing."""
    lower, upper = np.broadcast_to(lower, len(slopes)), np.broadcast_to(upper, len(slopes))

    def solve(q, h):
        return np.array([root(lambda t: f(t) + q[c] + h[c] * t, lower[c], upper[c]) for c, f in enumerate(slopes)])

    return solve


def radial(slope, center, lower, upper):
    """f = F(|x - center|^2) in a box, F' = slope >= 0 and increasing: with F' held at u the solution is simple, and the
    distance falls with u."""
    center = np.array(center, float)
    far = np.sum(np.maximum(np.abs(lower - center), np.abs(upper - center)) ** 2)

    def solve(q, h):
        def at(u):
            return np.clip((2 * u * center - q) / (2 * u + h), lower, upper)

        return at(root(lambda u: u - slope(np.sum((at(u) - center) ** 2)), slope(0), slope(far)))

    return solve


def quadratic_form(form, center, lower, upper):
    """f = (x - center)' form (x - center): the best point of every face of the box, and of those the best."""
    form, center = np.array(form, float), np.array(center, float)
    dim = len(center)
    lower, upper = np.broadcast_to(lower, dim), np.broadcast_to(upper, dim)

    def solve(q, h):
        matrix, right = 2 * form + np.diag(h), 2 * form @ center - q
        best, point = math.inf, None
        for face in itertools.product((None, 0, 1), repeat=dim):
            x = np.array([0.0 if at is None else (lower, upper)[at][c] for c, at in enumerate(face)])
            free = [c for c, at in enumerate(face) if at is None]
            if free:
                x[free] = np.linalg.solve(matrix[np.ix_(free, free)], (right - matrix @ x)[free])
            if np.all(x >= lower) and np.all(x <= upper):
                value = x @ matrix @ x / 2 - right @ x
                if value < best:
                    best, point = value, x
        return point

    return solve


def multiplier(excess):
    """Least t >= 0 with excess(t) <= 0, excess falling."""
    if excess(0.0) <= 0:
        return 0.0
    high = 1.0
    while excess(high) > 0:
        high *= 4
    return root(lambda t: -excess(t), 0.0, high)


def in_halfspace(solve, normal, bound):
    """normal.x <= bound"""
    normal = np.array(normal, float)

    def solve_in(q, h):
        t = multiplier(lambda t: normal @ solve(q + t * normal, h) - bound)
        return solve(q + t * normal, h)

    return solve_in


def in_ball(solve, center, radius):
    center = np.array(center, float)

    def solve_in(q, h):
        t = multiplier(lambda t: np.sum((solve(q - t * center, h + t) - center) ** 2) - radius**2)
        return solve(q - t * center, h + t)

    return solve_in


def on_plane(solve, normal, value):
    """normal.x == value"""
    normal = np.array(normal, float)

    def solve_on(q, h):
        sign = 1.0 if normal @ solve(q, h) > value else -1.0
        t = sign * multiplier(lambda t: sign * (normal @ solve(q + sign * t * normal, h) - value))
        return solve(q + t * normal, h)

    return solve_on
