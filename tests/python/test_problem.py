"""A problem comes from a file, a text with arrays, or frames, and means the same."""
# labels: not-clang
import gc
import pathlib
import pickle

import numpy as np
import pytest

import tacit


def test_a_file_is_loaded_with_its_data(examples):
    problem = tacit.Problem(examples / "ev.tacit")
    assert (problem.agents, problem.states, len(problem.constraints)) == (1000, 24000, 24)
    assert problem.constraints[0] == "feeder[1]"
    family = problem.families["home"]
    assert (family.members, family.states, family.is_family) == (1000, 24, True)
    assert family.variables[0].labels[:2] == ["p[1]", "p[2]"]
    assert problem.members("home")[16] == "home[17]"
    assert "1,000 agents" in repr(problem)


def test_a_text_with_frames_means_the_same_as_the_file(examples):
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(examples / "homes.csv")
    text = (examples / "ev.tacit").read_text().replace('csv "homes.csv"', "given")
    given = tacit.Problem(text=text, data={"homes": frame})
    assert given.plan().hash == tacit.Problem(examples / "ev.tacit").plan().hash
    options = dict(rounds=50, seed=3, no_reference=True)
    assert np.array_equal(given.run(**options).x["home"], tacit.Problem(examples / "ev.tacit").run(**options).x["home"])


def test_columns_by_number_and_vectors_mean_the_same(homes_text, homes_data):
    wish = np.array(homes_data["homes"]["wish"])
    flat = {"wish_1": wish[:, 0], "wish_2": wish[:, 1], "need": homes_data["homes"]["need"]}
    structured = np.zeros(3, dtype=[("wish_1", "f8"), ("wish_2", "f8"), ("need", "f8")])
    for name, column in flat.items():
        structured[name] = column
    whole = tacit.Problem(text=homes_text, data=homes_data).solve().x["home"]
    for table in flat, structured, {"wish": np.asfortranarray(wish), "need": np.array([2, 1, 0.5], dtype=np.float32)}:
        assert np.array_equal(tacit.Problem(text=homes_text, data={"homes": table}).solve().x["home"], whole)


def test_a_frame_takes_the_place_of_a_file_that_is_not_there():
    text = 'data u = csv "missing.csv"\nagents a over u { state x in [0, 9]; private minimize (x - w)^2 }'
    assert tacit.Problem(text=text, data={"u": {"w": [4.0, 5.0]}}).solve().x["a"].tolist() == [[4.0], [5.0]]


def test_a_parameter_is_given_as_a_number_a_vector_or_a_matrix():
    text = "param q = given\nagent a { state x[2] in [-9, 9]; private minimize sumsq(x - q) }"
    assert tacit.Problem(text=text, data={"q": [1, 2]}).solve().x["a"].tolist() == [1, 2]
    assert tacit.Problem(text=text, data={"q": 3}).solve().x["a"].tolist() == [3, 3]
    matrix = "param M = given\nagent a { state x[2] in [-9, 9]; private minimize sumsq(x - M[2]) }"
    rows = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    for given in rows, np.asfortranarray(rows), rows[:, ::-1][:, ::-1], np.repeat(rows, 2, axis=1)[:, ::2]:
        assert tacit.Problem(text=matrix, data={"M": given}).solve().x["a"].tolist() == [3, 4]


def test_numbers_are_copied_so_that_a_later_change_changes_nothing(homes_text, homes_data):
    wish = np.array(homes_data["homes"]["wish"])
    problem = tacit.Problem(text=homes_text, data={"homes": {"wish": wish, "need": [2, 1, 0.5]}})
    before = problem.solve().x["home"]
    wish[:] = np.nan
    del wish
    gc.collect()
    assert np.array_equal(problem.solve().x["home"], before)


def test_members_have_the_names_of_their_column():
    text = "data u = given\nagents a over u { state x in [0, 9]; private minimize (x - w)^2 }"
    problem = tacit.Problem(text=text, data={"u": {"name": ["anna", "ben"], "w": [1, 2]}})
    assert problem.members("a") == ["anna", "ben"]
    assert problem.solve().x["ben"].tolist() == [2]
    frame = pytest.importorskip("pandas").DataFrame({"name": ["anna", "ben"], "w": [1, 2]})
    assert tacit.Problem(text=text, data={"u": frame}).members("a") == ["anna", "ben"]


def test_a_mistake_carries_file_line_column_and_caret():
    with pytest.raises(tacit.ProblemError) as caught:
        tacit.Problem(text="param speed = 3\nparam time = 2 * sped\nagent a { state x in [0, 1]; private minimize x }")
    error = caught.value
    assert (error.file, error.line, error.column) == ("problem", 2, 18)
    assert error.caret == "param time = 2 * sped\n                 ^~~~"
    assert error.status == tacit.Status.BAD_PROBLEM
    assert "did you mean 'speed'?" in str(error)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.line) == (str(error), 2)


def test_several_mistakes_are_all_there():
    text = "param a = b\nparam c = d\nagent x { state y in [0, 1]; private minimize y }"
    with pytest.raises(tacit.ProblemError) as caught:
        tacit.Problem("shop.tacit", text=text)
    assert [(one.file, one.line) for one in caught.value.diagnostics] == [("shop.tacit", 1), ("shop.tacit", 2)]


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(tacit.Error, match="none.tacit"):
        tacit.Problem(tmp_path / "none.tacit")


def test_a_problem_needs_a_source():
    with pytest.raises(TypeError, match="from a file"):
        tacit.Problem()
    with pytest.raises(TypeError, match="Problem\\(path\\)"):
        tacit.Problem(text=pathlib.Path("x"))
    with pytest.raises(TypeError):
        tacit.Problem(7)


def test_what_was_made_outlives_a_closed_problem(homes_text, homes_data):
    with tacit.Problem(text=homes_text, data=homes_data) as problem:
        run = problem.run(seed=1)
    x, mu, text = run.x["home"], run.mu, run.text
    del run
    gc.collect()
    assert x.shape == (3, 2) and len(mu) == 2 and np.isfinite(mu).all() and "rounds" in text
    assert repr(problem) == "<tacit.Problem 'problem': closed>"
    with pytest.raises(ValueError, match="was closed"):
        problem.solve()
    with pytest.raises(ValueError, match="was closed"):
        problem.agents
    problem.close()


def test_arrays_of_a_result_outlive_everything(homes_text, homes_data):
    mu = tacit.Problem(text=homes_text, data=homes_data).solve().mu
    first = mu.tolist()
    gc.collect()
    [np.ones(1000) for _ in range(1000)]
    assert mu.tolist() == first
    with pytest.raises(ValueError):
        mu[0] = 1


def test_results_and_problems_are_freed_in_any_order(homes_text, homes_data):
    for _ in range(50):
        problem = tacit.Problem(text=homes_text, data=homes_data)
        results = [problem.solve(), problem.plan()]
        results.append(results)
        problem.itself = results
        results.append(problem)
        del problem, results
    gc.collect()


def test_a_problem_is_not_pickled(homes_text, homes_data):
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(tacit.Problem(text=homes_text, data=homes_data))
