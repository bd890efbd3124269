"""The price of Gaussian noise, with proved bounds.

For means that differ by mu in units of the deviation, delta(epsilon) = Q(a) - e^epsilon Q(b), a = epsilon/mu - mu/2, b = a + mu,
Q the upper tail of the normal law. With Mills' ratio M = Q / density, that is density(a) (M(a) - M(b)), since
e^epsilon density(b) = density(a). The difference cancels; so it is formed with many digits, in mpmath's intervals."""

import functools

from mpmath import iv

BITS = 170


def mills(x):
    """M at an interval x; it falls, so its ends are taken at the ends of x."""
    low, high = mills_at(x.b), mills_at(x.a)
    return iv.mpf([low.a, high.b])


def mills_at(x):
    x = iv.mpf(x)
    if x.b < 3:
        return tail_by_series(x) / density(x)
    # t_k = x + (k + 1) / t_(k+1) exactly, t_0 = 1 / M, and x <= t_k <= x + (k + 1) / x
    steps = 40 + int(1500 / float(x.a) ** 2)
    t = iv.mpf([x.a, (x + (steps + 1) / x).b])
    for k in range(steps - 1, -1, -1):
        t = x + (k + 1) / t
    return 1 / t


def density(x):
    return iv.exp(-x * x / 2) / iv.sqrt(2 * iv.pi)


def tail_by_series(x):
    """Q(x) = 1/2 - density(x) (x + x^3/3 + x^5/(3 5) + ...); for x < 0, 1 - Q(-x)."""
    if x.b < 0:
        return 1 - tail(-x)
    term, total, square, n = x, x, x * x, 1
    while n < 20000:
        n += 2
        term = term * square / n
        total = total + term
        if n > 2 * float(square.b) + 10 and term.b < iv.mpf(2) ** (-BITS) * (total.b + 1):
            break
    # from here on each term is below half the one before: the rest is below the last
    total = iv.mpf([total.a, (total + term).b])
    return iv.mpf("0.5") - density(x) * total


def tail(x):
    return tail_by_series(x) if x.b < 3 else density(x) * mills_at(x)


@functools.lru_cache(maxsize=10000)
def delta_above(epsilon, mu):
    """A proved upper bound of delta, as a fraction of mpmath; epsilon and mu are doubles."""
    if mu == 0:
        return iv.mpf(0).b
    kept = iv.prec
    try:
        iv.prec = BITS
        e, m = iv.mpf(epsilon), iv.mpf(mu)
        a = e / m - m / 2
        b = e / m + m / 2
        if a.a < -40:  # Q(a) is 1 but for less than 1e-300; and the second term only helps
            return iv.mpf(1).b
        first = iv.mpf([tail_end(a.b).a, tail_end(a.a).b])
        value = first - density(a) * mills(b)
        return value.b if value.b > 0 else iv.mpf(0).b
    finally:
        iv.prec = kept


def tail_end(x):
    return tail(iv.mpf(x))


def keeps(epsilon, mu, delta):
    """Whether delta(epsilon; mu) <= delta for certain."""
    return bool(delta_above(epsilon, mu) <= iv.mpf(delta).a)


def kappa_keeps(epsilon, kappa, delta, slack):
    """Whether Q(epsilon kappa - 1/(2 kappa)) <= delta (1 + slack): the published formula's own condition."""
    kept = iv.prec
    try:
        iv.prec = BITS
        k = iv.mpf(kappa)
        at = iv.mpf(epsilon) * k - 1 / (2 * k)
        return bool(tail_end(at.a).b <= (iv.mpf(delta) * (1 + iv.mpf(slack))).a)
    finally:
        iv.prec = kept
