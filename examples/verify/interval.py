"""Intervals of doubles that contain the exact result: pairs (low, high).

An operation rounds to the nearest double; its error is then found exactly (Knuth's sum, Dekker's product), and the end
moves outward by one double where the exact result lies there. exp, log and real powers come from mpmath's intervals.
Where operands are so large or small that the error itself could be lost, ends move outward in any case."""

import functools
import math

from mpmath import iv, libmp

INF = math.inf
BITS = 110
iv.prec = BITS
SAFE_LEAST, SAFE_MOST = 2.0 ** -900, 2.0 ** 900
WHOLE = (-INF, INF)


# ---- one bound at a time ----

def after(x):
    return math.nextafter(x, INF)


def before(x):
    return math.nextafter(x, -INF)


def add_up(a, b):
    s = a + b
    if not -SAFE_MOST < s < SAFE_MOST:
        return after(s) if s == s and abs(s) < INF else INF
    t = s - a
    return after(s) if (a - (s - t)) + (b - t) > 0 else s


def add_down(a, b):
    return -add_up(-a, -b)


def product_error(a, b, p):
    """a b - p, exactly, for operands in the safe range."""
    c = 134217729.0 * a
    ah = c - (c - a)
    al = a - ah
    c = 134217729.0 * b
    bh = c - (c - b)
    bl = b - bh
    return ((ah * bh - p) + ah * bl + al * bh) + al * bl


def is_safe(*numbers):
    return all(SAFE_LEAST < abs(x) < SAFE_MOST for x in numbers)


def mul_up(a, b):
    if a == 0 or b == 0:
        return 0.0
    p = a * b
    size = abs(p)
    if SAFE_LEAST < size < SAFE_MOST and SAFE_LEAST < abs(a) < SAFE_MOST and SAFE_LEAST < abs(b) < SAFE_MOST:
        return after(p) if product_error(a, b, p) > 0 else p
    return after(p) if size < INF else INF


def mul_down(a, b):
    return -mul_up(-a, b)


def div_up(a, b):
    if a == 0 and b != 0:
        return 0.0
    if b == 0 or b != b or a != a:
        return INF
    if math.isinf(b):
        return INF if math.isinf(a) else (0.0 if (a > 0) != (b > 0) else 5e-324)
    q = a / b
    if is_safe(a, b, q):
        p = q * b
        rest = (a - p) - product_error(q, b, p)
        return after(q) if rest != 0 and (rest > 0) == (b > 0) else q
    return after(q) if abs(q) < INF else INF


def div_down(a, b):
    return -div_up(-a, b)


def sqrt_up(a):
    if not a >= 0:
        return INF
    if a == 0 or math.isinf(a):
        return a
    r = math.sqrt(a)
    if not is_safe(a):
        return after(r)
    p = r * r
    return after(r) if (a - p) - product_error(r, r, p) > 0 else r


def sqrt_down(a):
    if not a > 0:
        return 0.0
    if math.isinf(a):
        return 1e154
    r = math.sqrt(a)
    if not is_safe(a):
        return max(0.0, before(r))
    p = r * r
    return before(r) if (a - p) - product_error(r, r, p) < 0 else r


# ---- intervals ----

def point(x):
    return (x, x)


def magnitude(a):
    return max(abs(a[0]), abs(a[1]))


def mignitude(a):
    return a[0] if a[0] > 0 else -a[1] if a[1] < 0 else 0.0


def width_up(a):
    return add_up(a[1], -a[0])


def symmetric(size):
    return (-size, size)


def hull(a, b):
    return (min(a[0], b[0]), max(a[1], b[1]))


def meet(a, b):
    """Of two intervals that contain the same value."""
    c = (max(a[0], b[0]), min(a[1], b[1]))
    return c if c[0] <= c[1] else a


def is_finite(a):
    return -INF < a[0] and a[1] < INF


def add(a, b):
    return (add_down(a[0], b[0]), add_up(a[1], b[1]))


def neg(a):
    return (-a[1], -a[0])


def sub(a, b):
    return add(a, neg(b))


def mul(a, b):
    if a[0] == a[1] == 1:
        return b
    if b[0] == b[1] == 1:
        return a
    if a[0] == a[1] and b[0] == b[1]:
        return (mul_down(a[0], b[0]), mul_up(a[0], b[0]))
    if a[0] >= 0 and b[0] >= 0:
        return (mul_down(a[0], b[0]), mul_up(a[1], b[1]))
    ends = [(x, y) for x in a for y in b]
    return (min(mul_down(x, y) for x, y in ends), max(mul_up(x, y) for x, y in ends))


def div(a, b):
    if b[0] <= 0 <= b[1]:
        if b[0] == 0 and b[1] > 0:
            return (div_down(a[0], b[1]) if a[0] >= 0 else -INF, div_up(a[1], b[1]) if a[1] <= 0 else INF)
        if b[1] == 0 and b[0] < 0:
            return div(neg(a), neg(b))
        return WHOLE
    ends = [(x, y) for x in a for y in b]
    return (min(div_down(x, y) for x, y in ends), max(div_up(x, y) for x, y in ends))


def square(a):
    low, high = mignitude(a), magnitude(a)
    return (mul_down(low, low), mul_up(high, high))


def sqrt(a):
    return WHOLE if a[0] < 0 else (sqrt_down(a[0]), sqrt_up(a[1]))


def whole_power_end(x, n, times):
    """x^n for x >= 0: squarings from the highest bit, so that a power that is a double stays exact."""
    power = x
    for bit in bin(n)[3:]:
        power = times(power, power)
        if bit == "1":
            power = times(power, x)
    return power


def pow_whole(a, n):
    if n == 0:
        return (1.0, 1.0)
    if n < 0:
        return WHOLE if a[0] < 0 < a[1] else div((1.0, 1.0), pow_whole(a, -n))
    if n % 2 == 0:
        return (whole_power_end(mignitude(a), n, mul_down), whole_power_end(magnitude(a), n, mul_up))

    def down(x):
        return whole_power_end(x, n, mul_down) if x >= 0 else -whole_power_end(-x, n, mul_up)

    def up(x):
        return whole_power_end(x, n, mul_up) if x >= 0 else -whole_power_end(-x, n, mul_down)
    return (down(a[0]), up(a[1]))


def from_mp(x):
    """mpmath's interval as doubles, outward."""
    low, high = x._mpi_
    return (libmp.to_float(low, rnd="f"), libmp.to_float(high, rnd="c"))


@functools.lru_cache(maxsize=200000)
def exp_at(x):
    if x == -INF:
        return (0.0, 0.0)
    if x > 709:
        return (8e307, INF)
    if x < -740:
        return (0.0, 1e-320)
    low, high = from_mp(iv.exp(iv.mpf(x)))
    return (max(low, 0.0), high)


@functools.lru_cache(maxsize=200000)
def log_at(x):
    if x <= 0:
        return (-INF, -INF)
    if math.isinf(x):
        return (700.0, INF)
    return (0.0, 0.0) if x == 1 else from_mp(iv.log(iv.mpf(x)))


def exp(a):
    return (exp_at(a[0])[0], exp_at(a[1])[1])


def log(a):
    return WHOLE if a[0] < 0 else (log_at(a[0])[0], log_at(a[1])[1])


@functools.lru_cache(maxsize=200000)
def power_at(x, p):
    """x^p, x > 0."""
    if x == 1:
        return (1.0, 1.0)
    if p == math.floor(p) and abs(p) < 2 ** 31:
        return pow_whole(point(x), int(p))
    if 2 * p == math.floor(2 * p) and abs(p) <= 32:
        root = mul(pow_whole(point(x), int(abs(p))), sqrt(point(x)))
        return root if p > 0 else div((1.0, 1.0), root)
    if math.isinf(x):
        return (0.0, INF)
    low, high = from_mp(iv.exp(iv.mpf(p) * iv.log(iv.mpf(x))))
    return (max(low, 0.0), high)


def pow_real(a, p):
    if a[0] < 0:
        return WHOLE

    def at(x, end):
        if x == 0:
            return 0.0 if p > 0 else INF
        return power_at(x, p)[end]
    return (at(a[0], 0), at(a[1], 1)) if p > 0 else (at(a[1], 0), at(a[0], 1))


def pow_data(a, p, order):
    """p (p-1) .. (p-order+1) a^(p-order), and 0 where that factor is 0; for one a >= 0 a power is monotone in its exponent."""
    factor = (1.0, 1.0)
    for i in range(order):
        factor = mul(factor, sub(p, point(float(i))))
    if factor == (0.0, 0.0):
        return factor
    low, high = sub(p, point(float(order)))
    if low == high == math.floor(low) and abs(low) < 2 ** 31:
        power = pow_whole(a, int(low))
    else:
        power = hull(*((1.0, 1.0) if q == 0 and a[0] >= 0 else pow_real(a, q) for q in (low, high)))
    return mul(factor, power)


# ---- functions of the language ----

def huber(a, b):
    if b[0] < 0:
        return WHOLE

    def down(size, knee):
        if size <= knee:
            return mul_down(mul_down(0.5, size), size)
        return mul_down(knee, add_down(size, -mul_up(0.5, knee)))

    def up(size, knee):
        if size <= knee:
            return mul_up(mul_up(0.5, size), size)
        return mul_up(knee, add_up(size, -mul_down(0.5, knee)))
    return (down(mignitude(a), b[0]), up(magnitude(a), b[1]))


def clamp(a, b):
    if b[0] < 0:
        return WHOLE
    return (min(a[0], b[0]) if a[0] >= 0 else max(a[0], -b[1]), min(a[1], b[1]) if a[1] >= 0 else max(a[1], -b[0]))


def inside(a, b):
    if magnitude(a) < b[0]:
        return (1.0, 1.0)
    return (0.0, 0.0) if mignitude(a) > b[1] else (0.0, 1.0)


def lse(arguments):
    """Grows with every argument."""
    ends = []
    for end, plus in ((0, add_down), (1, add_up)):
        top = max(a[end] for a in arguments)
        if math.isinf(top):
            return WHOLE
        total = 0.0
        for a in arguments:
            total = plus(total, exp_at(plus(a[end], -top))[end])
        ends.append(plus(top, log_at(total)[end]))
    return tuple(ends)


def softmax(arguments, index):
    """1 / (1 + sum of exp(u_j - u_i)): grows with u_i, falls with the others."""
    own, most, least = arguments[index], 1.0, 1.0
    for j, other in enumerate(arguments):
        if j != index:
            most = add_up(most, exp_at(add_up(other[1], -own[0]))[1])
            least = add_down(least, exp_at(add_down(other[0], -own[1]))[0])
    return (max(0.0, div_down(1.0, most)), min(1.0, div_up(1.0, least)))


def is_share(a):
    return 0 <= a[0] and a[1] <= 1


def hump(a):
    """a (1 - a), which is largest at 1/2; nothing is known of what is no share."""
    if not is_share(a):
        return WHOLE
    ends = [mul_down(x, add_down(1.0, -x)) for x in a]
    tops = [mul_up(x, add_up(1.0, -x)) for x in a]
    return (max(0.0, min(ends)), 0.25 if a[0] <= 0.5 <= a[1] else min(0.25, max(tops)))


def pair(a, b):
    """a b, where a + b <= 1."""
    if not (is_share(a) and is_share(b)):
        return WHOLE
    high = mul_up(a[1], b[1])
    if add_up(a[1], b[1]) > 1:
        edge = (max(a[0], add_down(1.0, -b[1])), min(a[1], add_up(1.0, -b[0])))
        high = min(high, hump(edge)[1] if edge[0] <= edge[1] else 0.25)
    return (mul_down(a[0], b[0]), high)


def squares(arguments, without=()):
    total = (0.0, 0.0)
    for j, a in enumerate(arguments):
        if j not in without:
            total = add(total, square(a))
    return total


def norm(arguments):
    return sqrt(squares(arguments))


def direction(arguments, index):
    """a / sqrt(a^2 + q): grows with a, and goes towards 0 with q."""
    a, q = arguments[index], squares(arguments, (index,))

    def up(x, rest):
        length = sqrt_down(add_down(mul_down(x, x), rest))
        return 0.0 if x == 0 else min(1.0, div_up(x, length)) if length > 0 else 1.0

    def down(x, rest):
        return 0.0 if x == 0 else min(1.0, max(0.0, div_down(x, sqrt_up(add_up(mul_up(x, x), rest)))))
    return (down(a[0], q[1]) if a[0] >= 0 else -up(-a[0], q[0]), up(a[1], q[0]) if a[1] >= 0 else -down(-a[1], q[1]))


PEAK = 0.38490017945975053  # 2 / sqrt(27), above it


def over_cube_up(numerator, below):
    return div_up(numerator, mul_down(below, sqrt_down(below))) if below > 0 else INF


def over_cube_down(numerator, above):
    return max(0.0, div_down(numerator, mul_up(above, sqrt_up(above)))) if 0 < above < INF else 0.0


def bend(arguments, i, k):
    """Second derivatives of a norm: q / (p^2 + q)^(3/2) on the diagonal, where q is the rest's squares; beside it
    -p q / (p^2 + q^2 + r)^(3/2). docs/proofs/intervals.md, section 8, says where these are largest."""
    if i == k:
        p, q = arguments[i], squares(arguments, (i,))
        least, most = mignitude(p), magnitude(p)
        twice = mul_down(least, least)
        if least == 0:
            high = div_up(1.0, sqrt_down(q[0])) if q[0] > 0 else INF
        elif q[1] <= 2 * twice:
            high = over_cube_up(q[1], add_down(twice, q[1]))
        elif q[0] >= 2 * mul_up(least, least):
            high = over_cube_up(q[0], add_down(twice, q[0]))
        else:
            high = div_up(PEAK, least)
        low = min(over_cube_down(x, add_up(mul_up(most, most), x)) for x in q)
        return (low, high)
    p, q, r = arguments[i], arguments[k], squares(arguments, (i, k))

    def at_up(x, y):
        below = add_down(add_down(mul_down(x, x), mul_down(y, y)), r[0])
        return over_cube_up(mul_up(x, y), below) if x > 0 and y > 0 else 0.0

    def edge(x, y):
        """Largest over x in an interval, y fixed: it rises up to 2 x^2 = y^2 + r, then falls."""
        if y == 0:
            return 0.0
        least = add_down(mul_down(y, y), r[0])
        if 2 * mul_up(x[1], x[1]) <= least:
            return at_up(x[1], y)
        if 2 * mul_down(x[0], x[0]) >= add_up(mul_up(y, y), r[0]):
            return at_up(x[0], y)
        return div_up(mul_up(PEAK, y), least)

    def largest(x, y):
        """For x, y >= 0; the peak is at x = y = sqrt r."""
        def misses(z):
            return mul_up(z[1], z[1]) < r[0] or mul_down(z[0], z[0]) > r[0]
        if not misses(x) and not misses(y):
            return div_up(PEAK / 2, sqrt_down(r[0])) if r[0] > 0 else INF
        return max(edge(x, y[0]), edge(x, y[1]), edge(y, x[0]), edge(y, x[1]))

    def smallest(x, y):
        if x[0] == 0 or y[0] == 0:
            return 0.0

        def at_down(s, t):
            return over_cube_down(mul_down(s, t), add_up(add_up(mul_up(s, s), mul_up(t, t)), r[1]))
        return min(at_down(s, t) for s in x for t in y)

    def positive(z):
        return (max(z[0], 0.0), z[1])

    def product_up(x, y):
        both, neither = x[1] > 0 and y[1] > 0, x[0] < 0 and y[0] < 0
        if not both and not neither:
            return -smallest((mignitude(x), magnitude(x)), (mignitude(y), magnitude(y)))
        top = largest(positive(x), positive(y)) if both else 0.0
        return max(top, largest(positive(neg(x)), positive(neg(y)))) if neither else top
    return (-product_up(p, q), product_up(neg(p), q))
