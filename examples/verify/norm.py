"""Whether the spectral norm of a matrix, known by intervals, is at most a number: by proof.

A matrix is a list of (weight, {row: interval}), its columns; one of weight w stands for w equal ones. Bounds are tried from cheap
to dear; docs/proofs/lipschitz.md says why each holds. That a symmetric matrix is positive definite is shown by elimination in
intervals: the pivots of every matrix within are within the computed ones."""

import math
from fractions import Fraction

import interval as I

BITS = 200
EXACT_LIMIT = 160  # rows of a Gram matrix that is eliminated


def frobenius_square(columns):
    total = 0.0
    for weight, entries in columns:
        part = 0.0
        for value in entries.values():
            size = I.magnitude(value)
            part = I.add_up(part, I.mul_up(size, size))
        total = I.add_up(total, I.mul_up(float(weight), part))
    return total


def row_and_column_sums(columns):
    rows, most = {}, 0.0
    for weight, entries in columns:
        total = 0.0
        for key, value in entries.items():
            size = I.magnitude(value)
            total = I.add_up(total, size)
            rows[key] = I.add_up(rows.get(key, 0.0), I.mul_up(float(weight), size))
        most = max(most, total)
    return max(rows.values(), default=0.0), most


def connected(columns):
    """The columns, cut into blocks that share no row."""
    parent = {}

    def root(key):
        while parent[key] != key:
            parent[key] = parent[parent[key]]
            key = parent[key]
        return key
    for _, entries in columns:
        first = None
        for key in entries:
            parent.setdefault(key, key)
            if first is None:
                first = key
            else:
                parent[root(key)] = root(first)
    blocks = {}
    for column in columns:
        if column[1]:
            blocks.setdefault(root(next(iter(column[1]))), []).append(column)
    return list(blocks.values())


def at_most(columns, target):
    """Whether the norm is at most target."""
    if not target >= 0 or any(not I.is_finite(v) for _, entries in columns for v in entries.values()):
        return False
    columns = [(w, {k: v for k, v in entries.items() if v != (0.0, 0.0)}) for w, entries in columns]
    square = I.mul_down(target, target)
    return all(block_at_most(block, target, square) for block in connected(columns))


def block_at_most(columns, target, square):
    if frobenius_square(columns) <= square:
        return True
    row, column = row_and_column_sums(columns)
    if I.mul_up(row, column) <= square:
        return True
    rows = {key for _, entries in columns for key in entries}
    if len(rows) > len(columns):
        columns = transposed(columns)
        rows = {key for _, entries in columns for key in entries}
    if len(rows) > EXACT_LIMIT:
        return by_iteration(columns, square)
    return by_gram(columns, sorted(rows, key=repr), target, square)


def transposed(columns):
    found = {}
    for n, (weight, entries) in enumerate(columns):
        scale = (I.sqrt_down(float(weight)), I.sqrt_up(float(weight)))
        for key, value in entries.items():
            found.setdefault(key, {})[n] = I.mul(scale, value) if weight != 1 else value
    return [(1, entries) for entries in found.values()]


# ---- Gram matrices ----

def gram(columns, rows, product):
    """J J' as a matrix of intervals."""
    place, n = {key: i for i, key in enumerate(rows)}, len(rows)
    made = [[(0.0, 0.0)] * n for _ in range(n)]
    for weight, entries in columns:
        listed = [(place[key], value) for key, value in entries.items()]
        for i, a in listed:
            for j, b in listed:
                if j <= i:
                    value = product(a, b, i == j)
                    if weight != 1:
                        value = I.mul(I.point(float(weight)), value)
                    made[i][j] = I.add(made[i][j], value)
    for i in range(n):
        for j in range(i):
            made[j][i] = made[i][j]
    return made


def interval_product(a, b, same):
    return I.square(a) if same else I.mul(a, b)


def middle(a):
    return a[0] / 2 + a[1] / 2


def radius(a):
    m = middle(a)
    return 0.0 if a[0] == a[1] else max(I.add_up(a[1], -m), I.add_up(m, -a[0]))


def by_gram(columns, rows, target, square):
    product = gram(columns, rows, interval_product)
    sizes = [[I.point(I.magnitude(v)) for v in line] for line in product]
    if exceeds(square, sizes):
        return True
    centre = [[I.point(middle(v)) for v in line] for line in product]
    spread = largest_of_positive([[radius(v) for v in line] for line in product])
    if exceeds(I.add_down(square, -spread), centre):
        return True
    middles = gram(columns, rows, lambda a, b, same: I.mul(I.point(middle(a)), I.point(middle(b))))
    radii = gram(columns, rows, lambda a, b, same: I.mul(I.point(radius(a)), I.point(radius(b))))
    rest = I.add_down(target, -I.sqrt_up(largest_of_positive([[v[1] for v in line] for line in radii])))
    return rest > 0 and exceeds(I.mul_down(rest, rest), middles)


def exceeds(t, matrix):
    """Whether t is at least the largest eigenvalue of every symmetric matrix within."""
    if not t > 0:
        return False
    n = len(matrix)
    if n == 1:
        return matrix[0][0][1] <= t
    if n == 2:
        a, b, d = matrix[0][0][1], I.magnitude(matrix[0][1]), matrix[1][1][1]
        return a <= t and d <= t and I.mul_up(b, b) <= I.mul_down(I.add_down(t, -a), I.add_down(t, -d))
    # in units of t 2^-BITS, as whole numbers, rounded outward
    unit = Fraction(t) / 2 ** BITS
    rest = [[(math.floor(-Fraction(v[1]) / unit), math.ceil(-Fraction(v[0]) / unit)) for v in line] for line in matrix]
    for i in range(n):
        rest[i][i] = (rest[i][i][0] + 2 ** BITS, rest[i][i][1] + 2 ** BITS)
    for k in range(n):
        low, high = rest[k][k]
        if not low > 0:
            return False
        for i in range(k + 1, n):
            x, y = rest[i][k]
            if x == y == 0:
                continue
            factor = ((x << BITS) // (high if x >= 0 else low), -((-y << BITS) // (low if y >= 0 else high)))
            line = rest[i]
            for j in range(k + 1, i + 1):
                ends = [p * q for p in factor for q in rest[j][k]]
                line[j] = (line[j][0] - (-(-max(ends) >> BITS)), line[j][1] - (min(ends) >> BITS))
    return True


def largest_of_positive(matrix):
    """A bound, close, of the largest eigenvalue of a symmetric matrix without negative entries: for every v > 0 it is at most
    the largest (S v)_i / v_i."""
    n = len(matrix)
    sums = max((sum_up(line) for line in matrix), default=0.0)
    if sums == 0 or n == 1:
        return sums
    v, best = [1.0] * n, sums
    shift = 0.05 * sums
    for _ in range(400):
        image = [sum_up([I.mul_up(s, x) for s, x in zip(line, v) if s > 0]) for line in matrix]
        quotients = [I.div_up(y, x) for y, x in zip(image, v)]
        best = min(best, max(quotients))
        if max(quotients) <= min(quotients) * (1 + 1e-14):
            break
        v = [max(y + shift * x, 1e-200) for y, x in zip(image, v)]
        top = max(v)
        v = [max(x / top, 1e-250) for x in v]
    return best


def sum_up(values):
    total = 0.0
    for value in values:
        total = I.add_up(total, value)
    return total


def by_iteration(columns, square):
    """The same for |J| |J|' without forming it."""
    rows = {key for _, entries in columns for key in entries}
    v = {key: 1.0 for key in rows}
    for _ in range(300):
        image = dict.fromkeys(rows, 0.0)
        for weight, entries in columns:
            total = I.mul_up(float(weight), sum_up([I.mul_up(I.magnitude(a), v[k]) for k, a in entries.items()]))
            for key, a in entries.items():
                image[key] = I.add_up(image[key], I.mul_up(I.magnitude(a), total))
        quotients = [I.div_up(image[key], v[key]) for key in rows]
        if max(quotients) <= square:
            return True
        if max(quotients) <= min(quotients) * (1 + 1e-13) or not math.isfinite(max(quotients)):
            return False
        top = max(image.values())
        v = {key: max(image[key] / top, 1e-250) for key in rows}
    return False
