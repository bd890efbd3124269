"""Expressions made by operators of Python: indices, precedence, relations and numbers."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from models import refused, small, text_of

import tacit

# ---- indices ----


def test_numbers_of_python_count_from_0_and_indices_of_the_language_from_1() -> None:
    m, home, p = small()
    M = m.param("M", [[1, 2, 3], [4, 5, 6]])
    t = tacit.index("t", 1, 2)
    assert [text_of(one) for one in (p[0], p[-1], p[0:2], p[1:], p[t], p[t + 1])] == [
        "p[1]", "p[2]", "p[1..2]", "p[2..2]", "p[t]", "p[t + 1]",
    ]  # fmt: skip
    assert [text_of(one) for one in (M[0, 1], M[-1], M[:, 2], M[0:1, 1:3], M[tacit.part(t, 2), t])] == [
        "M[1, 2]", "M[2]", "M[1..2, 3]", "M[1..1, 2..3]", "M[t..2, t]",
    ]  # fmt: skip
    assert [text_of(one) for one in (home[0].p, home[-1].cap, home[t].p[0], home[1]["p"])] == [
        "home[1].p", "home[2].cap", "home[t].p[1]", "home[2].p",
    ]  # fmt: skip
    assert p[:] is p and len(p) == 2 and [text_of(one) for one in p] == ["p[1]", "p[2]"]
    assert [M[0, 1].shape, M[0].shape, M[:, 2].shape, M[0:1, 1:3].shape, M.T.shape] == [(), (3,), (2,), (1, 2), (3, 2)]


def test_a_wrong_index_is_an_error_of_python() -> None:
    m, home, p = small()
    t = tacit.index("t", 1, 2)
    unknown = home.state("q", tacit.max(2, 3), lower=0, upper=1)
    for wrong in (2, -3, slice(1, 1), (0, 0)):
        with pytest.raises(IndexError):
            p[wrong]
    for wrong in (1.5, True, "a", None, slice(0, 2, 2), slice(t, None)):
        with pytest.raises(TypeError):
            p[wrong]
    for wrong in (-1, slice(0, None), slice(-2, 5)):
        with pytest.raises(IndexError, match="not known in Python"):
            unknown[wrong]
    assert text_of(unknown[0:2]) == "q[1..2]"
    for wrong in (2, -3):
        with pytest.raises(IndexError, match="2 members"):
            home[wrong]
    with pytest.raises(TypeError):
        iter(p[0])
    with pytest.raises(TypeError, match="tacit.constant"):
        [1, 2][t]


# ---- operators ----


def test_numpy_leaves_operators_to_expressions() -> None:
    m = tacit.Model()
    a = m.agent("a")
    x = a.state("x", 2, lower=0, upper=1)
    v, M = np.array([1.0, 2.5]), np.array([[1.0, 2], [3, 4]])
    shown = [v + x, np.float64(2) * x, v @ x, M @ x, x @ M, np.int64(3) - x, v / x, 2 / x[0], abs(v - x), [1, 2] * x]
    assert [text_of(one) for one in shown] == [
        "[1, 2.5] + x", "2 * x", "dot([1, 2.5], x)", "[[1, 2], [3, 4]] * x", "transpose([[1, 2], [3, 4]]) * x",
        "3 - x", "[1, 2.5] / x", "2 / x[1]", "abs([1, 2.5] - x)", "[1, 2] * x",
    ]  # fmt: skip
    assert text_of(v <= x) == "[1, 2.5] <= x" and text_of(np.float64(1) >= x) == "1 >= x"
    assert text_of(sum([x[0], x[1]])) == "x[1] + x[2]"
    assert text_of(as_vector := tacit.constant([x[0], 1, x[1]])) == "[x[1], 1, x[2]]" and as_vector.shape == (3,)


def test_functions_of_numpy_that_the_language_has_take_expressions() -> None:
    m = tacit.Model()
    x = m.agent("a").state("x", 2, lower=0, upper=1)
    v = np.array([1.0, 2.5])
    shown = [
        np.abs(x), np.maximum(x, v), np.minimum(3, x), np.exp(x), np.log(x), np.sqrt(x), np.square(x), np.negative(x),
        np.sum(x), np.max(x), np.min(x), np.power(x, 3), np.multiply(v, x),
    ]  # fmt: skip
    assert [text_of(one) for one in shown] == [
        "abs(x)", "maximum(x, [1, 2.5])", "minimum(3, x)", "exp(x)", "log(x)", "sqrt(x)", "x^2", "-x", "sum(x)", "max(x)",
        "min(x)", "x^3", "[1, 2.5] * x",
    ]  # fmt: skip
    assert [np.maximum(3, x).shape, np.abs(x).shape, np.max(x).shape] == [(2,), (2,), ()]
    assert [text_of(one) for one in (x.sum(), x.mean(), x.max(), x.min(), np.mean(x), (2 * x).sum())] == [
        "sum(x)", "sum(x) / 2", "max(x)", "min(x)", "sum(x) / 2", "sum(2 * x)",
    ]  # fmt: skip
    refused(lambda: np.maximum(x, [1, 2, 3]), "maximum needs equal shapes")
    for wrong in (lambda: np.sin(x), lambda: np.sum(x, axis=0), lambda: x.mean(axis=0), lambda: np.add.accumulate(x)):
        with pytest.raises(TypeError, match="the language has no numpy"):
            wrong()


def test_a_series_of_pandas_on_the_left_means_its_numbers() -> None:
    pd = pytest.importorskip("pandas")
    m = tacit.Model()
    x = m.agent("a").state("x", 2, lower=0, upper=1)
    for numbers in (pd.Series([1.0, 2.5]), pd.Index([1.0, 2.5]), pd.Series([1.0, 2.5], index=["b", "a"])):
        shown = [numbers * x, numbers + x, numbers - x, numbers / x, numbers <= x, numbers == x, x * numbers]
        assert [text_of(one) for one in shown] == [
            "[1, 2.5] * x", "[1, 2.5] + x", "[1, 2.5] - x", "[1, 2.5] / x", "x >= [1, 2.5]", "x == [1, 2.5]",
            "x * [1, 2.5]",
        ]  # fmt: skip
    assert text_of(pd.Series([1.0, 2.5]) @ x) == "1 * x[1] + 2.5 * x[2]"
    assert text_of(tacit.constant(pd.DataFrame(np.eye(2)) @ x)) == "[1 * x[1] + 0 * x[2], 0 * x[1] + 1 * x[2]]"
    assert not isinstance(x, pd.DataFrame) and not pd.api.types.is_number(x)


def test_functions_element_by_element_have_names_of_their_own() -> None:
    m = tacit.Model()
    x = m.agent("a").state("x", 3, lower=0, upper=1)
    t = tacit.index("t", 1, 3)
    each = [tacit.maximum(x, 0, [1, 2, 3]), tacit.minimum(1, x), tacit.pos(x - 1), tacit.abs(x), tacit.vector(x[t] * t, over=t)]
    assert [text_of(one) for one in each] == [
        "maximum(x, 0, [1, 2, 3])", "minimum(1, x)", "pos(x - 1)", "abs(x)", "[t in 1..3: x[t] * t]",
    ]  # fmt: skip
    assert {one.shape for one in each} == {(3,)}
    assert text_of(tacit.vector(each[-1][0] * x, over=t)) == "[t in 1..3: [t in 1..3: x[t] * t][1] * x]"
    assert tacit.vector(x, over=t).shape == (3, 3)
    one = [tacit.max(x), tacit.min(x[0], 2), tacit.norm1(x), tacit.norminf(x), tacit.norm(x)]
    assert [text_of(each) for each in one] == ["max(x)", "min(x[1], 2)", "norm1(x)", "norminf(x)", "norm(x)"]
    assert {each.shape for each in one} == {()}
    refused(lambda: tacit.maximum(x, [1, 2]), "maximum needs equal shapes")
    refused(lambda: tacit.vector(x, over=[t, tacit.index("s", 1, 2)]), "a vector has one index")
    with pytest.raises(TypeError, match="tacit.max"):
        tacit.maximum(x)
    with pytest.raises(TypeError, match="tacit.max"):
        max(x[0], x[1])


def test_a_product_of_matrices_is_written_with_an_at_sign() -> None:
    m = tacit.Model()
    x = m.agent("a").state("x", 2, lower=0, upper=1)
    M = m.param("M", np.eye(2))
    refused(lambda: M * x, "write @")
    refused(lambda: M * M, "write @")
    refused(lambda: x * np.ones((2, 2)), "write @")
    refused(lambda: 2 @ x, "write *")
    refused(lambda: M @ [1, 2, 3], "the shapes do not fit: a 2 x 2 matrix times a vector of 3")
    refused(lambda: x + [1, 2, 3], "+ needs equal shapes")
    refused(lambda: x <= [1, 2, 3], "a relation needs equal shapes")
    refused(lambda: tacit.dot(x, [1, 2, 3]), "dot needs two vectors of equal length")
    refused(lambda: x.T, "transpose needs a matrix")
    assert text_of(2 * M @ x / 3) == "2 * M * x / 3"


def test_parentheses_stand_only_where_they_are_needed() -> None:
    m = tacit.Model()
    a, b, c = (m.param(name, 2) for name in "abc")
    shown = [
        a + b + c, a + (b + c), a - (b - c), (a - b) - c, a * b + c, a * (b + c), a / (b * c), a / b * c, -(a**2),
        (-a) ** 2, a**b**c, (a**b) ** c, a**-b, -(-a), a - -b, a * -b, (-a) * b, -(a * b), -(a + b), (a + b) ** 2,
        a * -3, -3 * a, (-3 * tacit.constant(1)) ** 2, tacit.constant(-3) ** 2, 2.0**-a,
    ]  # fmt: skip
    assert [text_of(one) for one in shown] == [
        "a + b + c", "a + (b + c)", "a - (b - c)", "a - b - c", "a * b + c", "a * (b + c)", "a / (b * c)", "a / b * c",
        "-a^2", "(-a)^2", "a^b^c", "(a^b)^c", "a^-b", "-(-a)", "a - -b", "a * -b", "-a * b", "-(a * b)", "-(a + b)",
        "(a + b)^2", "a * -3", "-3 * a", "(-3 * 1)^2", "(-3)^2", "2^-a",
    ]  # fmt: skip


class Grower:
    """Random expressions, and their values by NumPy."""

    def __init__(self, seed: int, model: tacit.Model) -> None:
        self.random = np.random.default_rng(seed)
        self.leaves: list[tuple[Any, Any]] = []
        for name, shape in (("a", ()), ("b", ()), ("u", (3,)), ("v", (3,)), ("M", (3, 3))):
            value = self.random.uniform(-2, 2, shape).round(2)
            self.leaves.append((model.param(name, value), value))

    def leaf(self, ndim: int) -> tuple[Any, Any]:
        if self.random.random() < 0.4:
            value = self.random.uniform(-3, 3, (3,) * ndim).round(1)
            return tacit.constant(value), value
        fitting = [one for one in self.leaves if np.ndim(one[1]) == ndim]
        return fitting[self.random.integers(len(fitting))]

    def grow(self, ndim: int, depth: int) -> tuple[Any, Any]:
        while True:
            expression, value = self.step(ndim, depth)
            if np.isfinite(value).all() and np.abs(value).max() < 1e5:
                return expression, value

    def step(self, ndim: int, depth: int) -> tuple[Any, Any]:
        kind = self.random.integers(10) if depth > 0 else -1
        if kind < 0:
            return self.leaf(ndim)
        if kind < 5:  # element by element, or with a number on either side
            sign = (operator.add, operator.sub, operator.mul, operator.truediv, operator.sub)[kind]
            mixed = self.random.random() < 0.4 or (ndim == 2 and sign is operator.mul)
            a, b = self.grow(ndim, depth - 1), self.grow(0 if mixed else ndim, depth - 1)
            if sign is not operator.truediv and self.random.random() < 0.5:
                a, b = b, a
            if sign is operator.truediv and np.abs(b[1]).min() < 1e-2:
                b = self.leaf(0)[0] * 0 + 1.5, 1.5
            return sign(a[0], b[0]), sign(a[1], b[1])
        a = self.grow(ndim, depth - 1)
        if kind == 5:
            return -a[0], -a[1]
        if kind == 6 and ndim < 2:
            return a[0] ** 2, a[1] ** 2
        if kind == 7 and ndim < 2 and np.abs(a[1]).min() > 0.1:
            return a[0] ** -1, a[1] ** -1.0
        M, u = self.grow(2, depth - 1), self.grow(1, depth - 1)
        if kind == 8:
            left, right = {0: (u, self.grow(1, depth - 1)), 1: (M, u), 2: (M, a)}[ndim]
            return left[0] @ right[0], left[1] @ right[1]
        at = int(self.random.integers(3))
        return {0: (u[0][at], u[1][at]), 1: (M[0][at], M[1][at]), 2: (M[0].T, M[1].T)}[ndim]


def test_random_expressions_mean_the_same_in_python_and_in_the_language() -> None:
    m = tacit.Model()
    grower = Grower(20180, m)
    values = []
    for i in range(250):
        expression, value = grower.grow(i % 2, 5)
        agent = m.agent(f"z{i}")
        x = agent.state("x", *([3] if i % 2 else []), lower=expression, upper=expression + 1)
        agent.minimize(tacit.sum(x))
        values.append(value)
    printed = m._print()
    enclosed = m._write_all(m._source, parentheses=True)
    assert printed.text.count("(") < enclosed.text.count("(")
    found = m.solve().x
    same = tacit.Problem(text=enclosed.text, data=enclosed.given).solve().x
    for i, value in enumerate(values):
        assert np.allclose(found[f"z{i}"], value, rtol=1e-9, atol=1e-7), f"z{i}"
        assert (found[f"z{i}"] == same[f"z{i}"]).all()


# ---- relations ----


def test_a_relation_has_no_truth_value() -> None:
    m, home, p = small()
    with pytest.raises(TypeError, match=r"tacit.between\(0, p, 5\)"):
        0 <= p <= 5
    with pytest.raises(TypeError, match="no truth value"):
        if p == 1:
            pass
    with pytest.raises(TypeError, match="no truth value"):
        bool(p)
    with pytest.raises(TypeError, match="no truth value"):
        bool(p.isin(tacit.box(0, 1)))
    with pytest.raises(TypeError, match="write <="):
        p < 5
    with pytest.raises(TypeError, match="write >="):
        p > 5
    with pytest.raises(TypeError, match="no !="):
        p != 5
    for compare in (max, min):  # of Python, which compare by < and >
        with pytest.raises(TypeError, match="Python's own max and min.*tacit.max.*tacit.min"):
            compare(p[0], 1)
    assert (p == None) is False and (p == "p") is False and p != "p"  # noqa: E711


def test_a_relation_may_have_two_bounds() -> None:
    m, home, p = small()
    assert text_of(tacit.between(0, tacit.sum(p), home.need)) == "0 <= sum(p) <= need"
    assert text_of(tacit.between([0, 1], p, 5)) == "[0, 1] <= p <= 5"
    refused(lambda: tacit.between(0, p, [1, 2, 3]), "a relation needs equal shapes")
    with pytest.raises(TypeError, match="no truth value"):
        bool(tacit.between(0, p, 5))
    home.require(tacit.between(0, p, 5), tacit.between(1, tacit.sum(p), home.need))
    m.constraint("line", tacit.between(2, tacit.total(home, p), [8, 9]))
    assert "private set 0 <= p <= 5\n  private set 1 <= sum(p) <= need\n" in str(m)
    assert "constraint line: 2 <= sum(home: p) <= [8, 9]" in str(m)
    refused(lambda: home.require(tacit.between(0, p[0], [4.0, 2.5])), "a number for each of the 2 members")


def test_what_is_no_relation_is_refused() -> None:
    m, home, p = small()
    for wrong in (True, p, 3, None, "p <= 3"):
        with pytest.raises(TypeError):
            home.require(wrong)
        with pytest.raises(TypeError):
            m.constraint("c", wrong)
    with pytest.raises(TypeError):
        m.constraint("c", p.isin(tacit.box(0, 1)))
    with pytest.raises(TypeError):
        p.isin([0, 1])
    with pytest.raises(TypeError):
        home.minimize(p <= 3)
    with pytest.raises(TypeError):
        home.require()


# ---- numbers ----


def test_numbers_that_are_not_finite_are_refused_at_their_line() -> None:
    m, home, p = small()
    a, e = np.array([1, np.nan]), [np.inf, 1]
    refused(lambda: p - a, "NaN")
    refused(lambda: e * p, "infinite")
    refused(lambda: m.param("x", float("nan")), "NaN")
    refused(lambda: home.state("q", lower=-np.inf, upper=1), "infinite")
    refused(lambda: m.family("other", {"need": [1, np.nan]}), "'need'", "NaN")
    refused(lambda: p + 10**17, "2^53")
    refused(lambda: p + 10**400, "too large")
    refused(lambda: p + np.zeros((2, 0)), "shape")
    refused(lambda: p + np.zeros((2, 2, 2)), "shape")
    refused(lambda: tacit.constant([[1, 2], [3]]), "array")
    for wrong in (True, None, "1", {"a": 1}, b"1"):
        with pytest.raises(TypeError):
            p + wrong
    assert "other" not in str(m)


def test_numbers_keep_all_their_digits() -> None:
    values = [0.1, 1 / 3, 1e-300, -1.7976931348623157e308, 5e-324, 123456789012345.6, 1e22, -0.0, 2**53, 1e15]
    m = tacit.Model()
    a = m.agent("a")
    w = m.param("w", values)
    for i, value in enumerate(values):
        x = a.state(f"x{i}", lower=w[i], upper=value)
    a.minimize(0)
    x = m.solve().x["a"]
    assert (x == np.array(values)).all()


def test_long_arrays_are_given_beside_the_text() -> None:
    m = tacit.Model()
    a = m.agent("a")
    array_1 = m.param("array_1", 1)
    x = a.state("x", 100, lower=0, upper=5)
    wish = np.linspace(0, 4, 100)
    a.minimize(tacit.sumsq(x - wish) * array_1)
    m.constraint("c", tacit.sum(wish * x) <= 400)
    m.constraint("d", wish @ x <= 400)
    row = m.param("row", np.ones((1, 100)))
    m.constraint("e", row @ x <= 400)
    m.constraint("f", tacit.constant(np.ones((100, 1))) @ [1] >= -x)
    m.param("wide", np.ones((2, 50)), private=True)
    assert str(m) == "\n".join(
        [
            "private param array_2 = given",
            "agent a {",
            "  state x[100] in [0, 5]",
            "  private minimize sumsq(x - array_2) * array_1",
            "}",
            "",
            "param array_1 = 1",
            "param array_3 = given",
            "constraint c: sum(array_3 * a.x) <= 400",
            "constraint d: dot(array_3, a.x) <= 400",
            "param array_4 = given",
            "param row = [array_4]",
            "constraint e: row * a.x <= 400",
            "constraint f: transpose([array_4]) * [1] >= -a.x",
            "private param wide = given",
        ]
    )
    given = m._print().given
    assert (given["array_2"] == wish).all() and given["wide"].shape == (2, 50)
    wish[:] = 7  # a copy was taken
    assert m.solve().objective < 1000 and m.problem().constraints[-1] == "f[100]"


def test_a_long_array_in_a_private_line_stays_out_of_the_file_of_the_cloud() -> None:
    m = tacit.Model()
    for name in ("a", "b"):
        agent = m.agent(name)
        x = agent.state("x", 100, lower=0, upper=1)
        secret = agent.param("secret", np.full(100, 0.123 if name == "a" else 0.456), private=True)
        agent.minimize(tacit.sumsq(x - secret) + x @ np.full(100, 0.789))
        m.constraint(f"c_{name}", np.full(100, 0.5) @ x <= 20)
    m.dual_radius(10)
    parts = m.split().parts
    assert "0.5" in str({name: text for name, text in parts.items() if name.startswith("cloud")})
    for number, holders in (("0.123", "a"), ("0.456", "b"), ("0.789", "ab")):
        assert sorted(name for name, text in parts.items() if number in text) == [
            f"agents/{one}.tacit" for one in holders
        ]


def test_long_chains_are_not_nested_and_deep_nesting_is_refused() -> None:
    m = tacit.Model()
    a = m.agent("a")
    x = a.state("x", lower=0, upper=1)
    chain: Any = 0
    for i in range(20000):
        chain = chain + i * x if i % 2 else chain - x
    a.minimize(chain)
    assert len(m.problem().families) == 1
    nested = x
    with pytest.raises(tacit.ProblemError, match="nested more than 200 levels"):
        for _ in range(201):
            nested = tacit.exp(nested)
    deep = x
    for _ in range(90):
        deep = (deep + 1) ** 2
    assert repr(deep).count("(") == 90
