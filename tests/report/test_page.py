"""`tacit report` as a reader meets it: a page that is well formed, needs nothing else, and can be seen in a browser."""
# labels: long once
import html.parser
import json
import os
import pathlib
import re
import stat
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

import browser
import example_traces

TACIT = os.environ["TACIT"]
SOURCE = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])
VOID = {"meta", "br", "link", "img", "hr", "input"}
NOT_RELEASED = ("This page is not released data: it shows true states' errors, objective and constraints, which no "
                "guarantee covers. Share it only with those who may see the problem.")
SVG = "{http://www.w3.org/2000/svg}"


class Reader(html.parser.HTMLParser):
    """Collects elements; checks that each is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.text = [], [], []
        self.feed(text)
        self.close()
        assert self.open == [], self.open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.text.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.here = pathlib.Path(cls.folder.name)

    def write(self, name, text):
        (self.here / name).write_text(text)
        return name

    def report(self, *arguments, code=0):
        done = subprocess.run([TACIT, "report", *arguments], cwd=self.here, capture_output=True, text=True, timeout=1200)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr

    def page(self, *traces, name="page.html", options=()):
        self.assertEqual(self.report(*traces, "-o", name, *options), "")
        return (self.here / name).read_text()


class Whole(Case):
    """A page of everything: two runs with marks, one without, and a sweep."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        this = cls()
        traces = [this.write("laplace.csv", example_traces.run()), this.write("marks.csv", example_traces.marks()),
                  this.write("gaussian.csv", example_traces.run(noise=2.4, label="gaussian, published")),
                  this.write("sweep.csv", example_traces.sweep())]
        cls.traces = traces
        cls.text = this.page(*traces)
        cls.reader = Reader(cls.text)
        cls.words = re.sub(r"\s+", " ", " ".join(cls.reader.text))

    def test_it_is_well_formed(self):
        self.assertTrue(self.text.startswith("<!DOCTYPE html>\n<html lang=\"en\">"))
        ids = [attributes["id"] for _, attributes in self.reader.elements if "id" in attributes]
        self.assertEqual(len(ids), len(set(ids)))
        for link in self.reader.all("a"):
            self.assertIn(link["href"].removeprefix("#"), ids)

    def test_it_needs_nothing_else(self):
        for tag, attributes in self.reader.elements:
            for name in ("src", "srcset", "data", "action", "poster", "xlink:href"):
                self.assertNotIn(name, attributes, tag)
            self.assertTrue(attributes.get("href", "#").startswith("#"))
        self.assertEqual(self.reader.all("script") + self.reader.all("link") + self.reader.all("img"), [])
        rest = self.text.replace('xmlns="http://www.w3.org/2000/svg"', "")
        self.assertNotRegex(rest, r"(?i)https?:|//[a-z]|@import|javascript:|\son[a-z]+=")
        self.assertEqual([url for url in re.findall(r"url\(([^)]*)\)", rest) if not url.startswith("#")], [])

    def test_every_plot_is_well_formed_and_can_be_read_aloud(self):
        plots = re.findall(r"<svg.*?</svg>", self.text, re.S)
        self.assertEqual(len(plots), 4 + 2 * 8 + 3)
        for plot in plots:
            tree = xml.etree.ElementTree.fromstring(plot)
            self.assertEqual(tree.get("role"), "img")
            title, description = tree.find(SVG + "title"), tree.find(SVG + "desc")
            self.assertEqual(tree.get("aria-labelledby"), f"{title.get('id')} {description.get('id')}")
            self.assertTrue(title.text and description.text)
            self.assertNotRegex(plot, r"nan|inf\b")

    def test_the_papers_four_figures_are_there(self):
        titles = re.findall(r"<title id=\"figure[^>]*>([^<]*)", self.text)
        for title in ("Error of x, linear axes", "Error of x, log axes", "Error of μ, linear axes",
                      "Error of μ, log axes", "Constraints", "Multipliers", "Largest violation", "Objective"):
            self.assertEqual(titles.count(title), 2 + (title in ("Largest violation", "Objective")), title)
        self.assertEqual(titles.count("What privacy costs"), 1)

    def test_bands_marks_limit_and_fit_are_drawn(self):
        plots = {re.search(r"<title[^>]*>([^<]*)", plot)[1]: plot for plot in
                 reversed(re.findall(r"<svg.*?</svg>", self.text.split('id="run-1"')[1], re.S))}
        error = plots["Error of x, log axes"]
        for part in ("band s0", "thin s0", "line s0", "star s0"):
            self.assertIn(f'class="{part}"', error)
        self.assertIn(">limit</text>", plots["Constraints"])
        errors = plots["Error of x against epsilon"]  # the level's name is in the legend, off all curves
        self.assertRegex(errors, r'<path class="level" d="M4 10h26"/><text x="36" y="14">without noise</text>')
        self.assertNotIn('<text class="level"', errors)
        cost = plots["What privacy costs"]
        self.assertIn("fit: slope −1.87 (−1.93 to −1.80)", cost)
        self.assertIn("proportional to ε⁻²", cost)

    def test_captions_have_signs_and_one_percent_sign_at_a_time(self):
        self.assertIn("The interval of the slope is of 95\N{NO-BREAK SPACE}%.", self.text)
        self.assertNotIn("%%", self.words)
        self.assertIn("|z − z′|²", self.text)
        self.assertNotIn("z_free", self.text)
        self.assertIn("<dt>rounds</dt><dd>100,000</dd>", self.text)

    def test_tables_have_headers_and_figures(self):
        self.assertTrue(all(head.get("scope") in ("col", "row", "rowgroup") for head in self.reader.all("th")))
        self.assertEqual(len(self.reader.all("caption")), len(self.reader.all("table")))
        rows = [re.sub(r"<[^>]*>", "|", row) for row in re.findall(r"<tr.*?</tr>", self.text, re.S)]
        last = next(row for row in rows if "100,000" in row and "0.2706" in row)
        self.assertRegex(last, r"in the range|below all runs")
        self.assertTrue(any("0.2842" in row and "100,000" in row for row in rows))

    def test_quantiles_are_those_of_the_trace(self):
        finals = sorted(float(line.split(",")[2]) for line in (self.here / "laplace.csv").read_text().splitlines()
                        if re.match(r"\d+,100000,", line))
        median = (finals[19] + finals[20]) / 2
        q10 = finals[3] + 0.9 * (finals[4] - finals[3])
        section = self.text.split('id="run-1"')[1]
        row = next(row for row in re.findall(r"<tr>.*?</tr>", section, re.S) if ">100,000<" in row)
        cells = re.findall(r"<td[^>]*>([^<]*)</td>", row)
        for cell, value in zip(cells, (finals[0], q10, median)):
            self.assertEqual(cell, f"{value:.4g}".ljust(6, "0"))

    def test_it_says_what_is_not_released_and_how_to_repeat_it(self):
        self.assertEqual(self.words.count("Simulation: not released."), 1 + 2 + 1 + 2)
        self.assertIn("tacit run examples/paper.tacit --calibration published --constants declared --seeds 40", self.words)
        self.assertEqual(self.words.count("GUARANTEE: NOT PRIVATE"), 2)
        self.assertIn('class="promise no"', self.text)

    def test_the_page_and_every_run_say_that_it_is_not_released_data(self):
        self.assertIn(NOT_RELEASED, self.text.split("<main>")[0])
        self.assertEqual(self.text.count(NOT_RELEASED), 1 + 2)

    def test_a_sweep_says_that_it_is_not_private(self):
        sweep = self.text.split('id="sweep-1"')[1]
        self.assertIn('<p class="promise no"><strong>Guarantee:</strong> NOT PRIVATE: these are simulated runs with noise '
                      "from seeds, and whoever knows a seed knows the noise. What each epsilon would promise is what "
                      "<code>tacit plan --epsilon E</code> says.</p>", sweep)
        self.assertNotIn("guarantee of its own", sweep)

    def test_a_program_is_told_what_was_written(self):
        done = subprocess.run([TACIT, "report", *self.traces, "-o", "json.html", "--json"], cwd=self.here,
                              capture_output=True, text=True, timeout=1200)
        self.assertEqual(json.loads(done.stdout), {"file": "json.html", "runs": 2, "sweeps": 1, "marks": 1})

    def test_the_same_traces_give_the_same_page(self):
        self.assertEqual(self.page(*self.traces, name="again.html"), self.text)


class Odd(Case):
    def test_text_from_files_stays_text(self):
        evil = "</style><script>alert('x')</script>&<img src=x onerror=y>\""
        trace = example_traces.run(seeds=2, rounds=100, problem=evil, label=evil, names=(evil, "b"), command=evil,
                                   facts=(f"{evil} = {evil}",), note=evil, card=f"GUARANTEE: {evil}")
        marks = example_traces.marks(label=evil)
        text = self.page(self.write("evil.csv", trace), self.write("marks.csv", marks),
                         self.write("sweep.csv", example_traces.sweep(seeds=2, label=evil)), options=["--title", evil])
        reader = Reader(text)
        self.assertEqual(reader.all("script") + reader.all("img"), [])
        self.assertEqual(len(reader.all("style")), 1)
        self.assertIn("alert('x')", "".join(reader.text))
        for plot in re.findall(r"<svg.*?</svg>", text, re.S):
            xml.etree.ElementTree.fromstring(plot)

    def test_a_private_run_is_shown_as_private(self):
        trace = example_traces.single(rounds=100, card="GUARANTEE: private, unit one:1, epsilon 0.5,\n   and more\n---")
        text = self.page(self.write("one.csv", trace))
        self.assertIn('<p class="promise"><strong>Guarantee of what the run released:</strong> private, unit one:1, '
                      'epsilon 0.5, and more<br>' + NOT_RELEASED + "</p>", text)
        self.assertEqual(text.count(NOT_RELEASED), 2)  # of the page, and in the banner
        self.assertNotIn("median", text)
        self.assertNotIn("asked for", text)

    def test_fresh_noise_cannot_be_repeated(self):
        said = "Noise is fresh each time: the numbers will differ."
        fresh = self.write("fresh.csv", example_traces.single(rounds=100))
        self.assertIn(said, self.page(fresh))
        self.assertIn("<code>--seed S</code>", self.page(fresh))
        self.assertNotIn(said, self.page(self.write("seeds.csv", example_traces.run(seeds=2, rounds=100))))
        none = self.write("none.csv", example_traces.single(rounds=100, facts=["mechanism = none"]))
        self.assertNotIn(said, self.page(none))

    def test_the_banner_says_why_a_run_is_not_private(self):
        card = ("GUARANTEE: NOT PRIVATE\n---\nNOT PRIVATE     - first &\n                  foremost\n"
                "                - second\n                - third\n                - fourth\nWould be        - more\n---")
        text = self.page(self.write("void.csv", example_traces.run(seeds=1, rounds=100, card=card)))
        self.assertIn('<p class="promise no"><strong>Guarantee:</strong> NOT PRIVATE: first &amp; foremost; second; and '
                      "2 more reasons on the card below<br>" + NOT_RELEASED, text)
        self.assertIn("<dt>epsilon asked for</dt>", text)
        self.assertNotIn("<dt>epsilon</dt>", text)

    def test_a_run_without_reference_or_constraints(self):
        trace = example_traces.run(seeds=2, rounds=100, errors=False, names=(), card="", facts=())
        text = self.page(self.write("bare.csv", trace))
        self.assertIn("There is no reference solution to compare with.", text)
        self.assertNotIn("Multipliers", text)
        Reader(text)

    def test_of_many_constraints_the_largest_are_drawn(self):
        names = [f"line[{i}]" for i in range(200)]
        text = self.page(self.write("many.csv", example_traces.run(seeds=2, rounds=100, names=names)))
        self.assertIn("6 of 200: those largest at the end.", text)
        self.assertIn("The first 60 of 200; the trace has all.", text)

    def test_a_long_trace_makes_a_small_page(self):
        trace = self.write("long.csv", example_traces.single(ks=range(100001), names=("g1",)))
        self.assertLess(len(self.page(trace)), 600_000)

    def test_labels_that_are_alike_are_numbered(self):
        trace = self.write("a.csv", example_traces.run(seeds=2, rounds=100, label="same"))
        text = self.page(trace, trace)
        self.assertIn(">Run: same</h2>", text.replace("Run: same (2)</h2>", "", 1))
        self.assertIn("Run: same (2)", text)

    def test_runs_that_ended_early_do_not_count_later(self):
        lines = example_traces.run(seeds=3, rounds=100, names=("g",)).splitlines()
        lines = [line for line in lines if not re.match(r"3,(1\d|[2-9]\d|100),", line)]
        text = self.page(self.write("cut.csv", "\n".join(lines)))
        row = next(row for row in re.findall(r"<tr>.*?</tr>", text, re.S) if ">100<" in row)
        self.assertIn("<td>2</td>", row)
        self.assertIn("3 runs, each with its own noise; 2 of them came to round 100.", text)
        whole = self.write("whole.csv", example_traces.run(seeds=3, rounds=100, names=("g",)))
        text = self.page("cut.csv", whole)
        self.assertIn("3 runs, each with its own noise. In", text)
        self.assertIn("<td>2 of 3</td><td>100</td>", text)

    def test_the_published_figures_of_the_example_can_be_read(self):
        trace = self.write("a.csv", example_traces.run(seeds=2))
        for name in ("laplace", "gaussian"):
            self.assertIn(f"published, {name.title()}", self.page(trace, str(SOURCE / f"examples/published-{name}.csv")))


def facts(**changed):
    """Of a run, with underscores for spaces in names."""
    values = {"mechanism": "laplace", "epsilon": "1 for all that anyone can see", "hides": "one:1", "calibration": "tight",
              "noise on": "outputs", "rounds": "100", "gamma": "0.01 k^-0.52", "alpha": "0.1 k^-0.3", "seconds": "1"}
    values.update({name.replace("_", " "): value for name, value in changed.items()})
    return [f"{name} = {value}" for name, value in values.items() if value is not None]


class Labels(Case):
    """What differs between the traces of a page is in their labels, and only that."""

    def labels(self, *runs):
        traces = [self.write(f"{i}.csv", example_traces.run(**{"seeds": 2, "rounds": 100, "names": ("g",), **run}))
                  for i, run in enumerate(runs)]
        self.text = self.page(*traces)
        Reader(self.text)
        return re.findall(r"<h2>Run: ([^<]*)</h2>", self.text)

    def of_facts(self, *changes):
        return self.labels(*[{"facts": facts(**change), "label": "laplace, tight"} for change in changes])

    def test_epsilon(self):
        self.assertEqual(self.of_facts({"epsilon": "0.1 for all that anyone can see", "seconds": "2"}, {}),
                         ["laplace, tight, epsilon 0.1", "laplace, tight, epsilon 1"])
        legend = self.text.split('id="runs"')[1].split("</svg>")[0]
        self.assertIn(">laplace, tight, epsilon 0.1</text>", legend)
        self.assertIn(">laplace, tight, epsilon 0.1</a></th>", self.text)

    def test_unit_placement_rounds_and_schedule(self):
        self.assertEqual(self.of_facts({}, {"hides": "agent"}), ["laplace, tight, unit one:1", "laplace, tight, unit agent"])
        self.assertEqual(self.of_facts({}, {"noise_on": "states"}),
                         ["laplace, tight, noise on outputs", "laplace, tight, noise on states"])
        self.assertEqual(self.of_facts({}, {"rounds": "9", "alpha": "0.2 k^-0.3"}),
                         ["laplace, tight, 100 rounds, alpha 0.1 k^-0.3", "laplace, tight, 9 rounds, alpha 0.2 k^-0.3"])

    def test_what_a_label_says_is_not_said_again(self):
        self.assertEqual(self.labels({"facts": facts(), "label": "laplace, tight"},
                                     {"facts": facts(mechanism="gaussian", delta="1e-6"), "label": "gaussian, tight"},
                                     {"facts": ["mechanism = none", "rounds = 100"], "label": "without noise"}),
                         ["laplace, tight", "gaussian, tight", "without noise"])

    def test_margins(self):
        def margins(*values):
            return self.labels(*[{"facts": facts(method="tacit", margin=value), "label": "laplace, tacit"}
                                 for value in values])
        self.assertEqual(margins(None, "auto, for 0.95", "0.1"),
                         ["laplace, tacit", "laplace, tacit, margin auto", "laplace, tacit, margin 0.1"])
        self.assertEqual(margins("auto, for 0.95", "auto, for 0.9"),
                         ["laplace, tacit, margin auto for 0.95", "laplace, tacit, margin auto for 0.9"])
        self.assertEqual(margins("0.1"), ["laplace, tacit, margin 0.1"])

    def test_seeds_where_nothing_else_differs(self):
        self.assertEqual(self.labels({"facts": facts(), "label": "a"}, {"facts": facts(), "label": "a", "seeds": 1},
                                     {"facts": facts(), "label": "b", "seeds": 1}), ["a, seeds 1 to 2", "a, seed 1", "b"])
        self.assertEqual(self.labels({"label": "a"}, {"label": "a"}), ["a", "a (2)"])

    def test_sweeps(self):
        first = self.write("a.csv", example_traces.sweep(seeds=2))
        second = self.write("b.csv", example_traces.sweep(seeds=2).replace("from 0.01 to 100", "from 0.1 to 10"))
        text = self.page(first, second)
        self.assertIn("Sweep: laplace, tight, epsilon 0.01 to 100</h2>", text)
        self.assertIn("Sweep: laplace, tight, epsilon 0.1 to 10</h2>", text)
        beside = text.split('id="sweeps"')[1].split("</section>")[0]
        self.assertIn("squared distance from its own run without noise, by its own method", beside.split("</svg>")[1])

    def test_only_runs_of_one_problem_are_side_by_side(self):
        said = "Only runs of the same problem are side by side"
        self.assertEqual(self.labels({"label": "a", "problem": "p.tacit"}, {"label": "b", "problem": "q.tacit"},
                                     {"label": "c", "problem": "p.tacit"}),
                         ["a, p.tacit", "b, q.tacit", "c, p.tacit"])
        self.assertEqual(re.findall(r"<h2>(Runs[^<]*)</h2>", self.text), ["Runs side by side: p.tacit"])
        p, q = {"label": "a", "problem": "p.tacit"}, {"label": "a", "problem": "q.tacit"}
        self.assertEqual(self.labels({**p, "facts": facts()}, {**p, "facts": facts(epsilon="2 for all")},
                                     {**q, "facts": facts(epsilon="3", gamma="1 k^-1")}),
                         ["a, epsilon 1, p.tacit", "a, epsilon 2, p.tacit", "a, q.tacit"])
        self.assertIn(said, self.text)
        self.labels({"label": "a", "problem": "p.tacit"}, {"label": "b", "problem": "q.tacit"},
                    {"label": "c", "problem": "p.tacit"})
        section = self.text.split('id="runs-of-1"')[1].split("</section>")[0]
        self.assertNotIn("b, q.tacit", section)
        self.assertIn('class="line s1"', section)  # styles are different within a comparison
        self.labels({}, {})
        self.assertNotIn(said, self.text)
        self.assertIn("<h2>Runs side by side</h2>", self.text)
        self.labels({}, {"names": ("h",)})
        self.assertNotIn("<h2>Runs side", self.text)
        self.assertIn(said, self.text)
        self.labels({}, {}, {"names": ("h",)}, {"names": ("h",)})
        self.assertEqual(re.findall(r"<h2>(Runs[^<]*)</h2>", self.text),
                         ["Runs side by side: paper.tacit", "Runs side by side: paper.tacit (2)"])

    def test_methods(self):
        self.assertEqual(self.labels({"facts": facts(method="published"), "label": "laplace, tight"},
                                     {"facts": facts(method="published"), "label": "laplace, published"},
                                     {"facts": facts(method="tacit"), "label": "laplace, tacit"}),
                         ["laplace, tight, published method", "laplace, published", "laplace, tacit"])
        self.assertEqual(self.of_facts({"method": "published"}, {"epsilon": "1 for each system", "method": "published"}),
                         ["laplace, tight", "laplace, tight (2)"])

    def test_the_start_tells_problems_apart(self):
        text = example_traces.run(seeds=2, rounds=100)
        other = re.sub(r"(?m)^(\d),0,13.19,", r"\1,0,13.2,", text)
        self.assertNotIn("<h2>Runs side", self.page(self.write("a.csv", text), self.write("b.csv", other)))


class Methods(Case):
    """Runs of both methods: apart in table and colour, and what one gains on the other."""

    def of_both(self, *others):
        common = {"seeds": 3, "rounds": 1000, "names": ("g",)}
        runs = [("a.csv", 0.1, "tacit", "laplace"), ("b.csv", 1, "published", "laplace"), *others]
        for name, noise, method, mechanism in runs:
            self.write(name, example_traces.run(noise=noise, label=f"{mechanism}, {method}", **common,
                                                facts=facts(method=method, mechanism=mechanism)))
        self.text = self.page(*[name for name, *_ in runs])
        Reader(self.text)
        return self.text.split('id="runs"')[1].split("</section>")[0]

    def medians(self, name, k):
        rows = [line.split(",") for line in (self.here / name).read_text().splitlines() if re.match(rf"\d,{k},", line)]
        return [sorted(float(row[column]) for row in rows)[1] for column in (2, 3)]

    def test_the_table_is_grouped_by_method(self):
        section = self.of_both()
        self.assertEqual(re.findall(r'class="group">(Method \w+)<|href="#(run-\d)"', section.split("<h3>")[0]),
                         [("Method published", ""), ("", "run-2"), ("Method tacit", ""), ("", "run-1")])

    def test_the_gain_is_the_ratio_of_medians_and_a_round(self):
        gain = self.of_both().split("<h3>What the method tacit gains</h3>")[1].split("</table>")[0]
        cells = re.findall(r"<td[^>]*>([^<]*)</td>", gain)
        rounds = sorted({int(line.split(",")[1]) for line in (self.here / "a.csv").read_text().splitlines()
                         if re.match(r"\d+,", line)})
        for at, (before, after) in enumerate(zip(self.medians("b.csv", 1000), self.medians("a.csv", 1000))):
            _, _, ratio, reached = cells[4 * at:4 * at + 4]
            self.assertAlmostEqual(float(ratio), before / after, delta=0.006 * before / after)
            late = [k for k in rounds if self.medians("a.csv", k)[at] > before]
            self.assertEqual(int(reached.replace(",", "")), min(k for k in rounds if k > max(late)))

    def test_what_is_not_reached_is_said(self):
        section = self.of_both(("c.csv", 3, "tacit", "laplace"), ("d.csv", 1, "tacit", "gaussian"))
        gain = section.split("<h3>What the method tacit gains</h3>")[1].split("</table>")[0]
        self.assertIn("not reached", gain)
        self.assertEqual(gain.count("against"), 2)  # the same kind of noise alone

    def of_promises(self, published, *tacit):
        """The pairs of the table, and the words around it; changed facts of one published run and of tacit ones."""
        runs = [("published", published), *(("tacit", one) for one in tacit)]
        for i, (method, changed) in enumerate(runs):
            text = example_traces.run(seeds=1, rounds=100, names=("g",), label=f"laplace, {method}",
                                      facts=facts(method=method, **changed))
            self.write(f"{i}.csv", text)
        text = self.page(*[f"{i}.csv" for i in range(len(runs))])
        Reader(text)
        section = text.split('id="runs"')[1].split("<figure")[0]
        table = section.partition("<h3>What the method tacit gains</h3>")[2]
        return re.findall(r'class="pair"><a href="#run-(\d)">', table), section

    def test_only_runs_that_promise_the_same_are_compared(self):
        pairs, words = self.of_promises({}, {"epsilon": "8 for all that anyone can see"}, {"hides": "one:10"}, {},
                                        {"delta": "1e-6"}, {"mechanism": "gaussian"}, {"epsilon": None},
                                        {"epsilon": "10 for all that anyone can see"})
        self.assertEqual(pairs, ["4"])
        self.assertNotIn("for each system;", words)
        self.assertIn("with the same mechanism, epsilon, delta and unit, and without a margin.", words)
        self.assertEqual(self.of_promises({}, {"rounds": "9"})[0], ["2"])

    def test_the_published_calibration_is_compared_with_the_same_epsilon_and_that_is_said(self):
        pairs, words = self.of_promises({"epsilon": "1 for each system", "calibration": "published"}, {},
                                        {"epsilon": "10 for all that anyone can see"})
        self.assertEqual(pairs, ["2"])
        self.assertIn("The published calibration promises its epsilon for each system; the tacit run beside it promises "
                      "the same epsilon for all that anyone can see.", words)

    def test_runs_with_a_margin_are_not_compared(self):
        self.assertEqual(self.of_promises({}, {"margin": "auto, for 0.95"}, {}, {"margin": "0.1"})[0], ["3"])

    def test_where_no_two_runs_can_be_compared_a_sentence_says_why(self):
        said = "The methods are not compared in numbers: "
        for changed, why in (({"epsilon": "8 for all that anyone can see"}, "no two runs without a margin have the "
                              "same mechanism, epsilon, delta and unit."),
                             ({"margin": "0.1"}, "runs with a margin keep away from the solution on purpose.")):
            pairs, words = self.of_promises({}, changed)
            self.assertEqual(pairs, [])
            self.assertNotIn("tacit gains", words)
            self.assertIn(said + why, words)
        names = [self.write(f"{method}.csv", example_traces.run(seeds=1, rounds=100, errors=False,
                                                                facts=facts(method=method)))
                 for method in ("published", "tacit")]
        self.assertIn(said + "errors are not known of runs by both.", self.page(*names))

    def test_what_holds_in_round_0_holds_from_the_start(self):
        common = {"seeds": 1, "rounds": 100, "names": ("g",)}
        for method in ("published", "tacit"):
            text = example_traces.run(**common, label=f"laplace, {method}", facts=facts(method=method))
            mu = "0.0" if method == "tacit" else "1.0"
            self.write(f"{method}.csv", re.sub(r"(?m)^(1,\d+,[^,]+),[^,]+,", rf"\1,{mu},", text))
        gain = self.page("published.csv", "tacit.csv").split("tacit gains</h3>")[1].split("</table>")[0]
        self.assertEqual(gain.count('<td class="key">from the start</td>'), 1)

    def test_one_method_alone_is_not_compared(self):
        names = [self.write(f"{i}.csv", example_traces.run(seeds=2, rounds=100, facts=facts(method="tacit")))
                 for i in range(2)]
        text = self.page(*names)
        self.assertNotIn("tacit gains", text)
        self.assertNotIn("not compared in numbers", text)
        self.assertNotIn("Method tacit", text)

    def test_methods_differ_in_hue_however_many_runs_there_are(self):
        others = [(f"{i}.csv", 1, "published", "laplace") for i in range(5)]
        section = self.of_both(*others)
        self.assertIn("The plots show 6 of 7 runs", section)
        plot = section.split("<svg")[1].split("</svg>")[0]
        self.assertEqual(sorted(set(re.findall(r'class="line (s\d)"', plot))), [f"s{i}" for i in range(6)])
        section = self.of_both()
        plot = section.split("<svg")[1].split("</svg>")[0]
        self.assertEqual(re.findall(r'class="line (s\d)"', plot), ["s1", "s0"] * 2)  # legend and lines


class Errors(Case):
    def test_what_is_wrong_is_said_with_its_place(self):
        good = self.write("good.csv", example_traces.run(seeds=1, rounds=10))
        marks = self.write("marks.csv", example_traces.marks())
        self.assertIn("output", self.report(good, code=2))
        self.assertIn("missing.csv: error: cannot read: No such file", self.report("missing.csv", "-o", "p.html", code=2))
        self.assertIn(".: error: this is a folder", self.report(".", "-o", "p.html", code=2))
        bad = self.write("bad.csv", example_traces.run(seeds=1, rounds=10).replace("\n1,2,", "\n1,x,"))
        self.assertRegex(self.report(bad, "-o", "p.html", code=2), r"^bad.csv:\d+: error: k is not a whole number: 'x'\n$")
        self.assertIn("belong to the run before them", self.report(marks, good, "-o", "p.html", code=2))
        self.assertIn("cannot write: No such file", self.report(good, "-o", "no/p.html", code=3))
        self.assertFalse((self.here / "p.html").exists())

    def test_only_files_are_written_over(self):
        good = self.write("good.csv", example_traces.run(seeds=1, rounds=10))
        (self.here / "folder").mkdir(exist_ok=True)
        self.assertIn("folder: error: this is a folder", self.report(good, "-o", "folder", code=2))
        os.symlink("/dev/null", self.here / "link")
        self.assertIn("link: error: this is a link", self.report(good, "-o", "link", code=2))
        self.page(good, name="new.html")
        self.assertEqual(stat.S_IMODE((self.here / "new.html").stat().st_mode), 0o600)
        old = self.here / "old.html"
        old.write_text("<!DOCTYPE html>old")
        old.chmod(0o640)
        self.page(good, name="old.html")
        self.assertGreater(len(old.read_text()), 10_000)
        self.assertEqual(stat.S_IMODE(old.stat().st_mode), 0o640)
        self.assertEqual([path.name for path in self.here.iterdir() if path.name.startswith("old.html.")], [])


class Real(Case):
    def test_the_trace_of_a_sweep_says_that_it_is_not_private(self):
        subprocess.run([TACIT, "sweep", str(SOURCE / "examples/paper.tacit"), "--rounds", "20", "--seeds", "2", "--epsilons",
                        "1,2", "--trace", "sweep.csv"], cwd=self.here, capture_output=True, check=True, timeout=1200)
        card = re.findall("(?m)^# card: +(.*)", (self.here / "sweep.csv").read_text())
        self.assertEqual(card[0], "GUARANTEE: NOT PRIVATE")
        self.assertIn("noise from seeds", " ".join(card))
        self.assertIn("`tacit plan --epsilon E`", " ".join(card))
        self.assertEqual(stat.S_IMODE((self.here / "sweep.csv").stat().st_mode), 0o600)


class Summary(Case):
    """What somebody with two minutes reads."""

    def made(self, *options):
        trace, page = self.here / "run.csv", self.here / "run.html"
        done = subprocess.run([TACIT, "run", SOURCE / "examples/dispatch.tacit", "--rounds", "2000", *options, "--trace", trace,
                               "--report", page, "--json"], capture_output=True, text=True, timeout=1200)
        return json.loads(done.stdout), trace, page.read_text()

    def summary(self, text):
        return re.search(r'<section id="summary".*?</section>', text, re.DOTALL).group(0)

    def test_it_has_the_numbers_of_the_run_and_the_trace_gives_the_same_page(self):
        answer, trace, text = self.made("--seed", "3")
        self.assertEqual(self.page(str(trace), name="again.html"), text)
        words = " ".join("".join(Reader(self.summary(text)).text).split())
        self.assertIn(answer["verdict"], words)
        self.assertIn(answer["feasibility"]["sentence"], words)
        self.assertIn(answer["true_feasibility"], words)
        self.assertIn(answer["error_parts"], words)
        self.assertIn("Would be hidden, with fresh noise", words)
        rows = {name: [float(cell.replace("\u2212", "-")) for cell in re.findall(r'<td class="bar">([^<]+)', row)]
                for name, row in re.findall(r'<th scope="row">([^<]+)(.*?)</tr>', self.summary(text), re.DOTALL)}
        expected = {"Private answer": answer["final"], "Without noise": answer["noise_free"],
                    "Doing nothing": answer["baseline"], "Slater point": answer["slater_baseline"]}
        self.assertEqual(set(rows), {*expected, "Solution"})
        for name, of in expected.items():
            for cell, key in zip(rows[name], ("objective", "max_violation", "x_error")):
                self.assertAlmostEqual(cell, of[key], delta=1e-3 * abs(of[key]) + 1e-9)
        self.assertAlmostEqual(rows["Solution"][0], answer["reference"]["objective"], delta=1e-2)

    def test_what_is_worth_nothing_is_marked(self):
        answer, _, text = self.made("--seeds", "3", "--epsilon", "1e-4")
        self.assertTrue(answer["no_better_than_nothing"])
        self.assertIn('<p class="verdict no">NO BETTER THAN DOING NOTHING', text)
        self.assertIn('<p class="verdict">Better', self.made("--seeds", "3")[2])

    def test_an_older_trace_has_what_it_has(self):
        text = self.summary(self.page(self.write("old.csv", example_traces.run(seeds=2))))
        self.assertNotIn('class="verdict', text)
        self.assertNotIn("Doing nothing", text)
        self.assertIn("Solution", text)

    def test_a_sweep_has_cost_and_baselines_beside_its_epsilons(self):
        trace = self.here / "sweep.csv"
        done = subprocess.run([TACIT, "sweep", SOURCE / "examples/dispatch.tacit", "--rounds", "300", "--seeds", "3", "--epsilons",
                               "1e-4,1", "--trace", trace, "--json"], capture_output=True, text=True, timeout=1200)
        answer = json.loads(done.stdout)
        words = " ".join("".join(Reader(self.page(str(trace), name="sweep.html")).text).split())
        for sentence in answer["worth"]:
            self.assertIn(sentence, words)
        for name in ("cost f(x)", "zero prices", "Slater point", "no noise"):
            self.assertIn(name, words)


@unittest.skipIf(browser.CHROMIUM is None, "there is no Chromium here")
class Seen(Case):
    """In Debian's Chromium."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        this = cls()
        this.page(this.write("a.csv", example_traces.run(seeds=10)), this.write("marks.csv", example_traces.marks()))
        cls.file = cls.here / "page.html"

    def look(self, width, height, dark):
        picture, console = browser.screenshot(self.file, width, height, dark)
        self.assertEqual(console, [])
        self.assertEqual((picture.width, picture.height), (width, height))
        colours = picture.colours()
        paper = max(colours, key=colours.get)
        self.assertEqual(max(paper) < 64 if dark else min(paper) > 250, True, paper)
        self.assertGreater(len(colours), 100)
        return picture, colours

    def has_ink(self, colours, line, more_than):
        """Pixels of exactly a line's colour, which only plots have so many of."""
        self.assertGreater(colours.get(bytes.fromhex(line), 0), more_than)

    def test_wide_and_light(self):
        picture, colours = self.look(1280, 2100, dark=False)
        self.has_ink(colours, "0072b2", 1500)
        left, right = picture.colours(60, 1000, 620, 2000), picture.colours(660, 1000, 1220, 2000)
        for side in (left, right):  # two plots beside each other
            self.has_ink(side, "0072b2", 500)

    def test_wide_and_dark(self):
        _, colours = self.look(1280, 2100, dark=True)
        self.has_ink(colours, "56b4e9", 1500)

    def test_narrow(self):
        """400 pixels, in a frame: a browser's own window does not get so narrow."""
        frame = self.here / "frame.html"
        frame.write_text('<!DOCTYPE html><title>frame</title><body style="margin:0"><iframe src="page.html" '
                         'style="border:0;width:400px;height:2600px"></iframe>')
        for dark, line in ((False, "0072b2"), (True, "56b4e9")):
            picture, console = browser.screenshot(frame, 600, 2600, dark)
            self.assertEqual(console, [])
            self.has_ink(picture.colours(0, 0, 400), line, 1000)
            edge = picture.colours(388, 0, 400)  # nothing runs out of the page
            self.assertLess(sum(edge.values()) - max(edge.values()), 200)

    def test_printed(self):
        paper, console = browser.pdf(self.file)
        self.assertEqual(console, [])
        self.assertTrue(paper.startswith(b"%PDF-"))
        pages = len(re.findall(rb"/Type\s*/Page\b", paper))
        self.assertTrue(2 <= pages <= 8, pages)

    def test_the_browser_keeps_every_element(self):
        text, console = browser.dom(self.file)
        self.assertEqual(console, [])
        kept, written = Reader(text), Reader(self.file.read_text())
        for tag in ("svg", "table", "th", "figure", "path", "h2", "h3", "pre"):
            self.assertEqual(len(kept.all(tag)), len(written.all(tag)), tag)


if __name__ == "__main__":
    unittest.main()
