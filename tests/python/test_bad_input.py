"""Whatever is given as data: a clear exception or the right numbers, never a crash."""
# labels: not-clang
import datetime
import fractions

import numpy as np
import pytest

import tacit

TEXT = """
data u = given
param q = given
agents a over u {
  state x[2] in [-9, 9]
  private minimize sumsq(x - w) + n * sum(x) + q[1] * x[1]
}
"""


def load(w=((1.0, 2.0), (3.0, 4.0)), n=(0.0, 0.0), q=(0.0, 0.0), **more):
    return tacit.Problem(text=TEXT, data={"u": {"w": w, "n": n}, "q": q, **more})


def test_a_column_that_nobody_uses_may_hold_anything():
    wanted = load().solve().objective
    for unused in (["Ulm", "Bonn"], [0.0, np.nan], [None, 1], np.array(["2020-01-01"] * 2, dtype="M8[D]"), [[1], [2, 3]]):
        columns = {"w": [[1.0, 2.0], [3.0, 4.0]], "n": [0.0, 0.0], "town": unused}
        assert tacit.Problem(text=TEXT, data={"u": columns, "q": [0.0, 0.0]}).solve().objective == wanted
        m = tacit.Model()
        family = m.family("a", data={"w": [1.0, 2.0], "town": unused})
        family.minimize((family.state("x", lower=0, upper=3) - family.w) ** 2)
        assert m.solve().holds
        for use in (lambda: family.town, lambda: family["town"], lambda: family[0].town, lambda: family[0]["town"]):
            with pytest.raises(tacit.UsageError, match="column 'town' of 'a_data' (has|holds|is)"):
                use()
        with pytest.raises(tacit.UsageError, match="column 'town' of 'b_data' (has|holds|is)"):
            m.family("b", data={"w": [1.0, 2.0], "town": unused}, public=["town"])
    with pytest.raises(tacit.ProblemError, match="there is no 'z' here"):  # about something else
        tacit.Problem(text=TEXT.replace("q[1]", "z"), data={"u": columns, "q": [0.0, 0.0]})


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"w": [[1.0, np.nan], [2, 3]]}, "data\\['u'\\]\\['w'\\] has no value \\(NaN\\) in row 0, column 1"),
        ({"n": [0.0, np.inf]}, "data\\['u'\\]\\['n'\\] has an infinite value in row 1"),
        ({"n": [0.0, None]}, "\\['n'\\] has no value in row 1"),
        ({"n": ["a", "b"]}, "\\['n'\\] holds texts, not numbers"),
        ({"n": [1, "b"]}, "\\['n'\\] holds texts, not numbers"),
        ({"n": np.array([1, "b"], dtype=object)}, "\\['n'\\] holds a str in row 1, which is not a number"),
        ({"n": [2**70, 0.5]}, "beyond 2\\^53"),
        ({"n": np.array([1 + 2j, 0])}, "complex numbers"),
        ({"n": np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]")}, "dates"),
        ({"n": [datetime.date(2020, 1, 1)] * 2}, "not a number"),
        ({"n": [0.0, 0.0, 0.0]}, "'w' has 2 rows, 'n' has 3"),
        ({"n": 0.0}, "one number; a column has a number for each member"),
        ({"n": []}, "'w' has 2 rows, 'n' has 0"),
        ({"w": np.zeros((0, 2)), "n": []}, "no rows"),
        ({"w": np.zeros((2, 2, 2))}, "shape \\(2, 2, 2\\)"),
        ({"w": np.zeros((2, 0))}, "shape \\(2, 0\\)"),
        ({"w": [[1, 2], [3]]}, "\\['w'\\] is no array of numbers"),
        ({"n": [2**53 + 1, 0]}, "beyond 2\\^53"),
        ({"n": np.zeros(2, dtype=np.longdouble)}, "convert it with .astype\\(float\\)"),
        ({"n": np.ma.masked_array([1.0, 2.0], mask=[0, 1])}, "masked"),
        ({"q": np.zeros((2, 2, 2))}, "data\\['q'\\] has shape"),
        ({"q": []}, "not empty"),
        ({"q": [np.nan]}, "data\\['q'\\] has no value \\(NaN\\) in row 0"),
        ({"q": "zero"}, "holds texts"),
        ({"q": None}, "data\\['q'\\] has no value"),
    ],
)
def test_numbers_that_are_none_are_named(given, text):
    with pytest.raises(tacit.UsageError, match=text):
        load(**given)
    m = tacit.Model()
    if "q" in given:
        return
    with pytest.raises(tacit.UsageError):  # the same in a model, at the line that gives or uses them
        family = m.family("a", {"w": [[1.0, 2.0], [3.0, 4.0]], "n": [0.0, 0.0], **given})
        family.w, family.n


@pytest.mark.parametrize(
    "w",
    [
        np.array([[1, 2], [3, 4]]),
        np.array([[1, 2], [3, 4]], dtype=np.uint8),
        np.array([[1, 2], [3, 4]], dtype=np.float16),
        np.array([[1, 2], [3, 4]], dtype=">f8"),
        np.asfortranarray([[1.0, 2], [3, 4]]),
        np.array([[4.0, 3], [2, 1]])[::-1, ::-1],
        np.array([[1.0, 0, 2, 0], [9] * 4, [3, 0, 4, 0]])[::2, ::2],
        np.frombuffer(b"\0" + np.array([[1.0, 2], [3, 4]]).tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(2, 2),
        np.lib.stride_tricks.sliding_window_view(np.array([1.0, 2, 3, 4]), 2)[::2],
        [[1, 2], [3, 4]],
        ((1, np.float32(2)), (3, 4)),
        [[fractions.Fraction(1), 2], [3, 4]],
        np.ma.masked_array([[1.0, 2], [3, 4]]),
    ],
)
def test_arrays_of_any_type_and_order_are_read(w):
    if isinstance(w, np.ndarray):
        w.setflags(write=False)
    assert load(w=w).solve().x["a"].tolist() == [[1, 2], [3, 4]]


def test_rows_that_overlap_are_read():
    overlapping = np.lib.stride_tricks.sliding_window_view(np.array([1.0, 2, 3]), 2)
    assert load(w=overlapping).solve().x["a"].tolist() == [[1, 2], [2, 3]]
    assert load(w=np.broadcast_to(np.array([1.0, 2]), (2, 2))).solve().x["a"].tolist() == [[1, 2], [1, 2]]
    assert load(n=np.broadcast_to(2.0, 2)).solve().x["a"].tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("data", "kind", "text"),
    [
        ([1, 2], TypeError, "data is a dictionary"),
        ({7: [1]}, TypeError, "the name of data is a text"),
        ({"u": {7: [1]}}, tacit.UsageError, "name is 7"),
        ({"u": {"a b": [1]}}, tacit.UsageError, "letters, digits and underscores"),
        ({"u": {"a\0": [1]}}, tacit.UsageError, "letters, digits and underscores"),
        ({"u\0": [1]}, tacit.UsageError, "zero byte"),
        ({"u": {}}, tacit.UsageError, "no columns"),
        ({"u": {"name": ["x"]}}, tacit.UsageError, "names but no numbers"),
        ({"u": {"name": ["x", 2], "w": [1, 2]}}, tacit.UsageError, "row 1 has 2"),
        ({"u": {"name": ["x", None], "w": [1, 2]}}, tacit.UsageError, "row 1 has None"),
        ({"u": {"name": ["x"], "w": [1, 2]}}, tacit.UsageError, "'w' has 2 rows, 'name' has 1"),
        ({"u": {"name": ["x", "x"], "n": [1, 2], "w": [[1, 2], [3, 4]]}, "q": 0}, tacit.ProblemError, "x"),
        ({"u": {"name": ["x", "\ud800"], "n": [1, 2], "w": [[1, 2], [3, 4]]}, "q": 0}, tacit.UsageError, "UTF-8"),
        ({"u": {"n": [1, 2]}, "q": 0}, tacit.ProblemError, "'w'"),
        ({"q": 0}, tacit.ProblemError, "no table 'u' is given"),
    ],
)
def test_tables_that_are_none_are_named(data, kind, text):
    with pytest.raises(kind, match=text):
        tacit.Problem(text=TEXT, data=data)


def test_data_that_the_problem_does_not_name_is_not_ignored():
    with pytest.raises(tacit.Error, match="homes"):
        load(homes={"need": [1.0]})


class TestFrames:
    @pytest.fixture(autouse=True)
    def pandas(self):
        self.pandas = pytest.importorskip("pandas")

    def load(self, frame):
        text = "data u = given\nagents a over u { state x in [-9, 9]; private minimize (x - w)^2 }"
        return tacit.Problem(text=text, data={"u": frame})

    def test_missing_values_are_named_with_their_rows(self):
        frame = self.pandas.DataFrame({"w": [1.0, None, 3.0, None]})
        with pytest.raises(tacit.UsageError, match="\\['w'\\] has no value \\(NaN\\) in row 1"):
            self.load(frame)
        frame = self.pandas.DataFrame({"w": self.pandas.array([1, None, 3, None], dtype="Int64")})
        with pytest.raises(tacit.UsageError, match="has no value in rows 1, 3; drop these rows or fill them in"):
            self.load(frame)

    def test_a_text_column_is_named(self):
        with pytest.raises(tacit.UsageError, match="\\['w'\\] holds a str in row 0"):
            self.load(self.pandas.DataFrame({"w": ["Rome"], "city": ["Rome"]}))

    def test_duplicate_names_are_named(self):
        frame = self.pandas.DataFrame([[1.0, 2.0]], columns=["w", "w"])
        with pytest.raises(tacit.UsageError, match="2 columns called 'w'"):
            self.load(frame)

    def test_odd_column_names_are_named(self):
        with pytest.raises(tacit.UsageError, match="'peak load'"):
            self.load(self.pandas.DataFrame({"w": [1.0], "peak load": [2.0]}))
        with pytest.raises(tacit.UsageError, match="names are texts"):
            self.load(self.pandas.DataFrame([[1.0]]))
        columns = self.pandas.MultiIndex.from_tuples([("w", "a"), ("w", "b")])
        with pytest.raises(tacit.UsageError, match="names are texts"):
            self.load(self.pandas.DataFrame([[1.0, 2.0]], columns=columns))

    def test_cells_with_vectors_are_a_vector_column(self):
        text = "data u = given\nagents a over u { state x[2] in [-9, 9]; private minimize sumsq(x - w) }"
        frame = self.pandas.DataFrame({"w": [np.array([1.0, 2.0]), [3, 4]]})
        assert tacit.Problem(text=text, data={"u": frame}).solve().x["a"] == pytest.approx(np.array([[1, 2], [3, 4]]))
        with pytest.raises(tacit.UsageError, match="vectors of different lengths: 1 to 2"):
            tacit.Problem(text=text, data={"u": self.pandas.DataFrame({"w": [[1], [3, 4]]})})

    def test_a_named_index_gives_members_their_names(self):
        text = "data u = given\nagents a over u { state x in [-9, 9]; private minimize (x - w)^2 }"
        frame = self.pandas.DataFrame({"home": ["anna", "ben"], "w": [1.0, 2.0]}).set_index("home")
        whole = frame.set_axis(self.pandas.Index([17, 4], name="home"))
        for one, names in ((frame, ["anna", "ben"]), (whole, ["17", "4"])):
            problem = tacit.Problem(text=text, data={"u": one})
            assert problem.members("a") == names
            m = tacit.Model()
            family = m.family("a", one)
            family.minimize((family.state("x", lower=-9, upper=9) - family.w) ** 2)
            solution = m.solve()
            assert m.problem().members("a") == names and list(solution.x.frame("a").index) == names
            assert solution.x[names[1]].tolist() == [2]
        frame["name"] = ["x", "y"]  # a column of this name goes first
        assert tacit.Problem(text=text, data={"u": frame}).members("a") == ["x", "y"]
        for index in (["z", "y"], self.pandas.Index([0.5, 1], name="t"), self.pandas.RangeIndex(2)):
            assert tacit.Problem(text=text, data={"u": whole.set_axis(index)}).members("a") == ["a[1]", "a[2]"]
        with pytest.raises(tacit.UsageError, match=r"its index 'home' has 'anna' twice.*rename_axis\(None\)"):
            tacit.Problem(text=text, data={"u": frame[["w"]].iloc[[0, 0]]})

    def test_vectors_that_count_from_zero_are_refused(self):
        for names in (["w_0", "w_1", "w_2"], ["w_01", "w_02"]):
            with pytest.raises(tacit.UsageError, match="called w_1, w_2, ...: rename them"):
                self.load(self.pandas.DataFrame(np.ones((2, len(names))), columns=names))

    def test_an_empty_frame_is_refused(self):
        with pytest.raises(tacit.UsageError, match="no rows"):
            self.load(self.pandas.DataFrame({"w": []}, dtype=float))
        with pytest.raises(tacit.UsageError, match="no columns"):
            self.load(self.pandas.DataFrame())

    def test_frames_of_any_numbers_and_index_are_read(self):
        for values in ([1, 2], [True, False], [1.5, 2.5], np.array([1, 2], dtype=np.float32)):
            frame = self.pandas.DataFrame({"w": values, "more": [0.0, 0.0]}, index=["z", "y"])
            assert self.load(frame).solve().x["a"].ravel().tolist() == [float(v) for v in values]
        nullable = self.pandas.DataFrame({"w": self.pandas.array([1, 2], dtype="Int64")})
        assert self.load(nullable).solve().x["a"].ravel().tolist() == [1, 2]
        some = self.pandas.DataFrame({"w": np.arange(10.0)}).iloc[::3]
        assert self.load(some).solve().x["a"].ravel() == pytest.approx([0, 3, 6, 9])


def test_text_that_is_odd_is_refused_not_cut():
    with pytest.raises(tacit.ProblemError):
        tacit.Problem(text="agent a { state x in [0, 1]; private minimize x }\0 trailing")
    with pytest.raises(tacit.ProblemError):
        tacit.Problem(text="")
    with pytest.raises((tacit.Error, UnicodeEncodeError)):
        tacit.Problem(text="\ud800")
    with pytest.raises(tacit.UsageError, match="zero byte"):
        tacit.Problem("a\0b")


def test_random_bytes_as_text_never_crash():
    random = np.random.default_rng(7)
    words = "agent agents state param data constraint private minimize set in [ ] { } ( ) , : ; 1 2.5 x y sum given # \n ^ é".split(" ")
    for _ in range(300):
        text = " ".join(random.choice(words, size=random.integers(1, 40)))
        try:
            tacit.Problem(text=text, data={"x": [1.0]} if random.random() < 0.5 else None)
        except (tacit.Error, MemoryError):
            pass
