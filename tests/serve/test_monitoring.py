"""What is shipped for monitors: alerts that fire when they should and only then, by Prometheus' own tool, and a dashboard. Both
are about metrics that a cloud has."""
# labels: once
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest
import urllib.request

import town
from parties import PATIENCE, Parties

source = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])
RULES = source / "dist" / "prometheus" / "tacit.rules.yml"
BOARD = source / "dist" / "grafana" / "tacit.json"
CASES = source / "tests" / "serve" / "alerts.yml"


def promtool(*arguments):
    return subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, timeout=300)


def metrics_in(text):
    return set(re.findall(r"\btacit_\w+", text))


def labels_in(text):
    """(metric, label) of every selector, and what is summed or matched by."""
    found = set()
    for metric, body in re.findall(r"\b(tacit_\w+)\{([^}]*)\}", text):
        found |= {(metric, label) for label in re.findall(r"(\w+)\s*=", body)}
    return {(metric, label) for metric, label in found if label not in ("job", "instance")}


def expressions():
    """Of the board: everything that is asked."""
    board = json.loads(BOARD.read_text())
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    return asked + [variable["query"]["query"] for variable in board["templating"]["list"] if variable["type"] == "query"]


class Alerts(unittest.TestCase):
    def test_rules_are_well_formed(self):
        done = promtool("check", "rules", RULES)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_alerts_fire_when_they_should_and_only_then(self):
        with tempfile.TemporaryDirectory() as folder:
            cases = pathlib.Path(folder, "alerts.yml")
            cases.write_text(CASES.read_text().replace("RULES", str(RULES)))
            done = promtool("test", "rules", cases)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_alert_is_seen_to_fire(self):
        rules = re.findall(r"^  - alert: (\w+)$", RULES.read_text(), re.MULTILINE)
        fired = set(re.findall(r"alertname: (\w+)\n    exp_alerts:\n    - exp_labels", CASES.read_text()))
        self.assertEqual(set(rules), fired)
        self.assertEqual(len(rules), len(set(rules)))

    def test_a_rule_that_joins_on_all_labels_would_be_found(self):
        """The test of the test: without on(), TacitStandsStill cannot fire."""
        broken = RULES.read_text().replace("and on (job, instance) (time() - tacit_last_round", "and (time() - tacit_last_round")
        self.assertNotEqual(broken, RULES.read_text())
        with tempfile.TemporaryDirectory() as folder:
            rules, cases = pathlib.Path(folder, "rules.yml"), pathlib.Path(folder, "alerts.yml")
            rules.write_text(broken)
            cases.write_text(CASES.read_text().replace("RULES", str(rules)))
            done = promtool("test", "rules", cases)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("TacitStandsStill", done.stdout + done.stderr)


class Metrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with Parties(town.problem(2), options=town.options(20)) as place:
            place.start_cloud("--linger", 600)
            place.start_agents(trace=False)
            url = f"http://127.0.0.1:{place.http_port}/metrics"

            def page():
                with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
                    text = answer.read().decode()
                return text if "\ntacit_last_success_time_seconds" in text else None
            cls.page = place.wait_for(page, what="a page of a run that is done")
        cls.names = set(re.findall(r"^(tacit_\w+)", cls.page, re.MULTILINE))

    def expect_known(self, text, where):
        self.assertEqual(metrics_in(text) - self.names, set(), where)
        for metric, label in labels_in(text):
            self.assertRegex(self.page, rf'(?m)^{metric}\{{(.*,)?{label}="', where)

    def test_alerts_are_about_metrics_that_there_are(self):
        asked = "\n".join(line for line in RULES.read_text().splitlines() if not line.lstrip().startswith("#"))
        self.expect_known(asked, RULES.name)

    def test_the_dashboard_is_about_metrics_that_there_are(self):
        self.assertGreater(len(expressions()), 20)
        for expression in expressions():
            self.assertTrue(metrics_in(expression), expression)
            self.expect_known(expression, expression)

    def test_labels_of_legends_are_those_of_the_metrics(self):
        for panel in json.loads(BOARD.read_text())["panels"]:
            for target in panel["targets"]:
                for label in re.findall(r"\{\{\s*(\w+)\s*\}\}", target["legendFormat"]):
                    metric, = metrics_in(target["expr"])
                    self.assertRegex(self.page, rf'(?m)^{metric}\{{(.*,)?{label}="', panel["title"])

    def test_the_dashboards_questions_are_well_formed(self):
        """As rules, since promtool parses those."""
        lines = ["groups:", "- name: board", "  rules:"]
        for number, expression in enumerate(expressions()):
            if expression.startswith("label_values("):
                continue
            asked = expression.replace("$__rate_interval", "5m").replace("$instance", "a")
            lines += [f"  - record: q{number}", f"    expr: {json.dumps(asked)}"]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "board.yml")
            path.write_text("\n".join(lines) + "\n")
            done = promtool("check", "rules", path)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_panels_have_a_place_of_their_own(self):
        panels = json.loads(BOARD.read_text())["panels"]
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        taken = set()
        for panel in panels:
            at = panel["gridPos"]
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            self.assertFalse(cells & taken, panel["title"])
            self.assertLessEqual(at["x"] + at["w"], 24)
            taken |= cells


if __name__ == "__main__":
    unittest.main()
