"""`tacit agent` with the real cloud: stopped, killed, refused, several in one process; and what it says."""
# labels: not-clang
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import town
import wire
from parties import PATIENCE, Parties, Process

TACIT = os.environ["TACIT"]
SOURCE = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])

PROBLEM = """
agent a { state x in [0, 4]; private minimize (x - 3)^2; gap 9; slater x = 1 }
agent b { state y in [0, 4]; private minimize (y - 3)^2; gap 9; slater y = 1 }
agent c { state z[2] in [0, 4]; private minimize sumsq(z - [1, 2]); private set z[1] + z[2] <= 5; gap 5; slater z = 1 }
constraint shared: a.x + b.y + c.z[1] <= 4
privacy  { mechanism gaussian; epsilon ln(2); delta 1e-5; adjacency ensemble 0.5 }
schedule { alpha 0.1 k^-0.3; gamma 0.01 k^-0.52; rounds ROUNDS }
"""


def problem(rounds):
    return PROBLEM.replace("; ", "\n").replace(" }", "\n}").replace("ROUNDS", str(rounds))


def rows_of(path):
    """round, agent -> states as texts; an agent that was killed may have written a row twice, the same."""
    rows = {}
    lines = path.read_text().splitlines()
    assert lines[0].startswith("# tacit states 1"), lines[0]
    for line in lines[1:]:
        number, agent, *states = line.split(",")
        assert rows.setdefault((int(number), agent), states) == states, line
    return rows


class Runs(unittest.TestCase):
    def expect_same(self, parties, results, seed):
        expected = parties.in_process(seed=seed)["x"]
        found = {name: x for result in results.values() for name, x in result["x"].items()}
        self.assertEqual(found, expected)

    def test_an_agent_takes_part_in_the_plan_it_agreed_to_and_in_no_other(self):
        with Parties(problem(10)) as parties:
            agreed = (parties.parts / "plan.hash").read_text().strip()
            for path in parties.names.values():
                self.assertEqual(path.read_text().splitlines()[-1], f"# plan {agreed}")
            parties.start_cloud()
            other = agreed[:-1] + ("0" if agreed[-1] != "0" else "1")
            stranger = parties.start_agent("a", more=["--plan", other])
            self.assertEqual(stranger.wait(), 2)
            self.assertIn(f"is not the one that agent a agreed to: its hash is {agreed}, not {other}", stranger.err)
            for name in parties.names:
                parties.start_agent(name, more=["--plan", agreed.upper()])
            parties.finish()
        with Parties(problem(10), options=["--epsilon", 3]) as parties:
            agreed = (parties.parts / "plan.hash").read_text().strip()
            parties.start_cloud()
            stranger = parties.start_agent("a", more=["--plan", agreed])
            self.assertEqual(stranger.wait(), 2)
            self.assertIn(f"not {agreed}", stranger.err)
            wrong = parties.start_agent("b", more=["--plan", "abc"])
            self.assertEqual(wrong.wait(), 2)
            self.assertIn("64 hexadecimal digits", wrong.err)

    def test_one_process_each_gives_the_bits_of_a_run_in_one_process(self):
        with Parties(problem(40)) as parties:
            parties.start_cloud(seed=3)
            parties.start_agents()
            parties.finish()
            results = parties.results()
            self.expect_same(parties, results, 3)
            self.assertEqual(results["a"]["outcome"], "done")
            self.assertEqual(results["a"]["agents"][0]["rounds"], 40)
            rows = rows_of(parties.trace_of("c"))
            self.assertEqual(sorted(rows), [(k, "c") for k in range(1, 42)])
            self.assertEqual([float(text) for text in rows[41, "c"]], results["c"]["agents"][0]["last"])

    def test_an_agent_moves_its_data_into_their_range_and_tells_its_owner_alone(self):
        text = problem(20).replace("private minimize (x - 3)^2", "private param goal = 7.25\n"
                                   "private minimize (x - goal)^2\nrange goal in [0, 3.5]\nprotect goal by 0.5", 1)
        said = "goal of a is 7.25, outside of its range [0, 3.5]: 3.5 is used"
        with Parties(text) as parties:
            parties.start_cloud(seed=3)
            parties.start_agents()
            parties.finish()
            self.expect_same(parties, parties.results(), 3)
            self.assertIn(said, parties.agents["a"].err)
            self.assertEqual(parties.agents["b"].err, "")
            self.assertNotIn("7.25", parties.cloud.err + parties.cloud.out + (parties.parts / "cloud.tacit").read_text())
        with Parties(text.replace("7.25", "3.5")) as parties: # as if it had been there from the first
            parties.start_cloud(seed=3)
            parties.start_agents()
            parties.finish()
            self.expect_same(parties, parties.results(), 3)
            self.assertNotIn("outside", parties.agents["a"].err)

    def test_a_gateway_gives_the_same_bits_by_either_method(self):
        for method in "tacit", "published":
            with Parties(problem(40), options=["--method", method]) as parties:
                keys = parties.issue(["a", "b", "c"], together="site")
                parties.start_cloud(seed=3)
                parties.start_agent("a", "b", "c", keys=keys)
                parties.finish()
                results = parties.results()
                self.expect_same(parties, results, 3)
                self.assertEqual({agent["method"] for agent in results["a+b+c"]["agents"]}, {method})

    def test_agents_that_are_killed_and_stopped_go_on_with_the_same_bits(self):
        chance = random.Random(5)
        with Parties(problem(2000)) as parties:
            parties.start_cloud("--durability", "process", seed=3)
            parties.start_agents("ab")
            parties.agents["a"].kill()  # while nothing can end: c is not there
            parties.start_agents("ac")
            deaths, stops = 1, 0
            while deaths + stops < 8 and all(agent.is_running() for agent in parties.agents.values()):
                time.sleep(chance.uniform(0.01, 0.06))
                name = chance.choice("abc")
                if chance.random() < 0.7:
                    parties.agents[name].kill()
                    deaths += 1
                else:
                    if parties.agents[name].stop() == 0: # else it had not quite begun yet
                        self.assertIn(parties.agents[name].json()["outcome"], ("stopped", "done"))
                    stops += 1
                parties.start_agent(name)
            parties.finish()
            self.expect_same(parties, parties.results(), 3)
            for name in "abc":
                self.assertEqual(len(rows_of(parties.trace_of(name))), 2001)

    def change_in_a_run(self, parties, change, name="a"):
        """The agent is killed after some rounds, its file changes, and it is started again."""
        parties.start_cloud(seed=7)
        others = [parties.start_agent(n) for n in ("b", "c")]
        agent = parties.start_agent(name)
        rounds = lambda: parties.trace_of(name).exists() and len(parties.trace_of(name).read_text().splitlines())
        Parties.wait_for(lambda: rounds() > 20, what="rounds")
        for other in others:
            other.signal(signal.SIGSTOP)
        agent.kill()
        change()
        agent = parties.start_agent(name)
        for other in others:
            other.signal(signal.SIGCONT)
        return agent

    def test_a_run_goes_on_with_the_agents_file_and_data_as_they_were_at_its_first_round(self):
        for what, change in (("data", lambda folder: (folder / "wish.csv").write_text("1\n")),
                             ("file", lambda folder: (folder / "a.tacit").write_text(
                                 (folder / "a.tacit").read_text().replace("minimize", "minimize 5 *"))),
                             ("no change", lambda folder: None)):
            with self.subTest(what), Parties(problem(3000)) as parties:
                own = parties.names["a"]
                own.write_text(own.read_text().replace("(x - 3)^2", "(x - wish)^2").replace(
                    "private minimize", 'private param wish = csv "wish.csv"\n  private minimize'))
                (own.parent / "wish.csv").write_text("3\n")
                agent = self.change_in_a_run(parties, lambda: change(own.parent))
                parties.finish()
                self.expect_same(parties, parties.results(), seed=7)
                is_changed, before = what != "no change", agent.json()
                self.assertEqual(agent.err.count("used from the next run on"), is_changed, agent.err)
                self.assertEqual(before["agents"][0]["file_changed"], is_changed)
                self.assertNotIn("changed", parties.cloud.err)
                copy, = (parties.states / "a").glob("*.problem*")
                self.assertEqual(copy.stat().st_mode & 0o777, 0o600)
                # The next run is of the file as it is now.
                parties.start_cloud("--new-run", seed=7)
                for name in parties.names:
                    parties.start_agent(name, trace=False, more=["--new-run"])
                parties.finish()
                after = parties.results()
                self.assertNotIn("used from the next run on", parties.agents["a"].err)
                self.assertEqual(after["a"]["agents"][0]["file_changed"], False)
                (self.assertNotEqual if is_changed else self.assertEqual)(after["a"]["x"], before["x"])
                self.assertEqual(len(list((parties.states / "a").iterdir())), 2)

    def test_a_state_folder_without_a_copy_goes_on_and_one_that_is_damaged_does_not(self):
        with Parties(problem(3000)) as parties:
            copy = parties.states / "a" / "a.problem"
            self.change_in_a_run(parties, copy.unlink)
            parties.finish()
            self.assertTrue(copy.exists())
            self.expect_same(parties, parties.results(), seed=7)
        with Parties(problem(3000)) as parties:
            copy = parties.states / "a" / "a.problem"
            agent = self.change_in_a_run(parties, lambda: copy.write_bytes(copy.read_bytes()[:-1] + b"!"))
            self.assertEqual(agent.wait(), 3, agent.err)
            self.assertIn(f"{copy}' is damaged", agent.err)

    def test_an_agent_waits_for_a_cloud_that_is_stopped_and_comes_back(self):
        with Parties(problem(3000)) as parties:
            parties.start_cloud("--durability", "process", seed=3)
            port = parties.port
            parties.start_agents()
            parties.wait_for(lambda: town.round_of(parties) > 0, what="a round")
            self.assertEqual(parties.cloud.stop(), 0)
            time.sleep(0.3)
            self.assertTrue(all(agent.is_running() for agent in parties.agents.values()))
            for agent in parties.agents.values():  # they leave no core file
                self.assertRegex(pathlib.Path(f"/proc/{agent.pid}/limits").read_text(), "Max core file size +0 +0 ")
            parties.start_cloud("--durability", "process", "--listen", f"127.0.0.1:{port}", seed=3)
            parties.finish()
            self.expect_same(parties, parties.results(), 3)


    def test_an_agent_that_lost_its_state_folder_says_so_and_answers_for_its_own_rounds(self):
        with Parties(problem(3000)) as parties:
            parties.start_cloud("--durability", "process", seed=3)
            parties.start_agents("ac", trace=False)
            pacer = wire.RawAgent("b", start=1.0)
            pacer.open(parties.port, parties.key_folders["b"])
            pacer.enrol()
            pacer.run(201)
            parties.agents["a"].kill()
            shutil.rmtree(parties.states / "a")
            parties.start_agent("a", json=False)
            pacer.run()
            pacer.close()
            parties.finish()
            agent = parties.agents["a"]
            found = re.search(r"^tacit agent: a: began at round (\d+) of 3000 without its state file: the result is an average "
                              r"of rounds \1 to 3000 only", agent.err, re.MULTILINE)
            first = int(found.group(1))
            self.assertGreater(first, 200)
            self.assertIn(f"a: done, {3001 - first} of 3000 rounds answered\n", agent.out)
            self.assertIn(f"It began with round {first}, without its state file", agent.out)
            self.assertLessEqual(max(map(len, agent.out.splitlines())), 80)
            rows = rows_of(parties.trace_of("a"))
            expected, total = 0, 0
            for j, k in enumerate(range(first, 3001), 1):
                expected += j * (j + 1) * float(rows[k, "a"][0])
                total += j * (j + 1)
            again = parties.start_agent("a", trace=False)
            self.assertEqual(again.wait(), 0)
            self.assertAlmostEqual(again.json()["x"]["a"][0], expected / total, 9)
            self.assertEqual((again.json()["agents"][0]["first_round"], again.json()["agents"][0]["answered"]), (first, 3000))

    def test_an_agents_file_without_the_public_set_is_told_and_others_are_not(self):
        text = problem(100).replace("gap 9\n", "gap 9\npublic set SUM <= 1.5\n", 2).replace("adjacency ensemble 0.5", "adjacency agent")
        text = text.replace("state x in [0, 4]", "state x[2] in [0, 4]").replace("state y in [0, 4]", "state y[2] in [0, 4]")
        text = text.replace("(x - 3)^2", "sumsq(x - 3)").replace("(y - 3)^2", "sumsq(y - 3)").replace("x = 1\n", "x = 0.5\n")
        text = text.replace("y = 1\n", "y = 0.5\n").replace("a.x + b.y", "a.x[1] + b.y[1]").replace("gap 9", "gap 18")
        text = text.replace("SUM", "sum(x)", 1).replace("SUM", "sum(y)", 1)
        with Parties(text) as parties:
            path = parties.names["b"]
            lines = path.read_text().splitlines(True)
            path.write_text("".join(line for line in lines if "public set" not in line))
            self.assertEqual(len(path.read_text().splitlines()), len(lines) - 1)
            parties.start_cloud(seed=3)
            parties.start_agents(["a", "c"])
            parties.start_agent("b", json=False)
            parties.finish()
            self.assertEqual(parties.agents["b"].err.count("or outside its public set, and was moved"), 1)
            self.assertIn("its public set, and so does this result", " ".join(parties.agents["b"].out.split()))
            for name in ("a", "c"):
                self.assertEqual(parties.agents[name].json()["agents"][0]["clamped"], 0)
                self.assertNotIn("public set", parties.agents[name].err)

    def test_an_agents_file_with_another_public_box_is_told(self):
        with Parties(problem(100)) as parties:
            text = parties.names["b"].read_text()
            parties.names["b"].write_text(text.replace("[0, 4]", "[0, 50]").replace("(y - 3)^2", "(y - 40)^2"))
            self.assertNotEqual(text, parties.names["b"].read_text())
            parties.start_cloud(seed=3)
            parties.start_agents(["a", "c"])
            parties.start_agent("b", json=False)
            parties.finish()
            agent = parties.agents["b"]
            self.assertEqual(agent.err.count("tacit agent: b: a state lay outside the public box of the cloud's file"), 1)
            self.assertRegex(agent.out, "of its states lay outside the public box of the cloud's file")
            self.assertLessEqual(max(map(len, agent.out.splitlines())), 80)
            self.assertEqual(parties.agents["a"].json()["agents"][0]["clamped"], 0)
            self.assertNotIn("public box", parties.agents["a"].err)


class Refusals(unittest.TestCase):
    def test_an_agent_that_the_cloud_does_not_know_ends_with_2_and_a_sentence(self):
        with Parties(problem(40)) as parties:
            stranger = parties.folder / "d.tacit"
            stranger.write_text(parties.names["a"].read_text().replace("agent a ", "agent d "))
            parties.names["d"] = stranger
            parties.issue(["d"])
            parties.start_cloud(seed=3)
            agent = parties.start_agent("d")
            self.assertEqual(agent.wait(), 2)
            self.assertIn("no such agent", agent.err)
            self.assertIn("tacit split", agent.err)
            self.assertEqual(agent.json()["outcome"], "refused")
            agent = parties.start_agent("d", json=False)
            self.assertEqual(agent.wait(), 2)
            self.assertEqual((agent.err.count("no such agent"), agent.out), (1, "d: refused, before the first round\n"))

    def test_a_certificate_for_another_agent_ends_with_2_and_a_sentence(self):
        with Parties(problem(40)) as parties:
            parties.start_cloud(seed=3)
            agent = parties.start_agent("a", keys=parties.key_folders["b"])
            self.assertEqual(agent.wait(), 2)
            self.assertIn("does not name this agent, but b; tacit keys issue", agent.err)

    def test_a_run_that_is_over_is_told_again_without_a_cloud_and_another_needs_a_wish(self):
        with Parties(problem(20)) as parties:
            parties.start_cloud(seed=3)
            parties.start_agents(trace=False)
            parties.finish()
            first = parties.results()
            agent = parties.start_agent("a", trace=False)
            self.assertEqual(agent.wait(), 0)
            again, run = agent.json(), first["a"]["agents"][0]["run"]
            self.assertRegex(run, "^[0-9a-f]{32}$")
            self.assertEqual([again["agents"][0].pop(key) for key in ("run", "was_over")], [run, True])
            self.assertEqual([first["a"]["agents"][0].pop(key) for key in ("run", "was_over")], [run, False])
            self.assertEqual(again, first["a"])
            self.assertIn(f"this run ended before (run {run}, state file {parties.states / 'a/a.state'}); the cloud was not "
                          "asked; --new-run takes part in another\n", agent.err)
            gone = parties.start_agent("a", more=["--new-run"], trace=False)  # no cloud is there to have another
            parties.wait_for(lambda: "waiting for the cloud to have another" in gone.err, what="its word")
            self.assertEqual(gone.stop(), 0)
            self.assertEqual((gone.json()["outcome"], gone.json()["x"]), ("stopped", first["a"]["x"]))
            parties.start_cloud("--new-run", seed=4)
            parties.start_agents(["b", "c"], more=["--new-run"], trace=False)
            parties.start_agent("a", more=["--new-run"], trace=False)
            parties.finish()
            self.expect_answers(parties, parties.in_process(seed=4)["x"])

    def expect_answers(self, parties, expected):
        found = {name: x for result in parties.results().values() for name, x in result["x"].items()}
        self.assertEqual(found, expected)


class Limits(unittest.TestCase):
    def test_a_state_file_that_may_not_grow_ends_it_with_3_and_a_sentence(self):
        with Parties(problem(40)) as parties:
            parties.start_cloud(seed=3)
            done = subprocess.run(["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", TACIT, "agent", parties.names["a"], "--cloud",
                                   f"127.0.0.1:{parties.port}", "--keys", parties.key_folders["a"], "--state",
                                   parties.folder / "small"], capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn(f"cannot write '{parties.folder / 'small/a.state'}': File too large", done.stderr)


class Words(unittest.TestCase):
    """Without a cloud."""

    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix="tacit-agent-")
        self.folder = pathlib.Path(self.place.name)
        (self.folder / "whole.tacit").write_text(problem(10))
        self.run_tacit("split", "whole.tacit", "-o", "parts")
        self.run_tacit("keys", "init", "keys")
        self.run_tacit("keys", "issue", "keys", "a")

    def tearDown(self):
        self.place.cleanup()

    def run_tacit(self, *arguments):
        return subprocess.run([TACIT, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE)

    def agent(self, *more, file="parts/agents/a.tacit", cloud="127.0.0.1:9", keys="keys/agents/a", state="state"):
        return self.run_tacit("agent", file, "--cloud", cloud, *(["--keys", keys] if keys else []), "--state", state,
                              *more)

    def test_what_is_wrong_is_said(self):
        (self.folder / "open").mkdir()
        (self.folder / "state").mkdir(mode=0o700)
        (self.folder / "damaged").mkdir(mode=0o700)
        (self.folder / "damaged/a.state").write_text("no")
        (self.folder / "else.csv").write_text("something else\n")
        for done, code, text in [
            (self.agent(keys=None), 2, "tacit keys issue"),
            (self.agent("--insecure-plaintext"), 2, "exclude each other"),
            (self.agent(file="whole.tacit"), 2, "this is not the file of one agent, which `tacit split` makes"),
            (self.agent(file="parts/cloud.tacit"), 2, "this is the cloud's file; an agent takes its own"),
            (self.agent(cloud="nowhere"), 2, "HOST:PORT"),
            (self.agent(cloud="a:1,nowhere"), 2, "not 'nowhere', in 'a:1,nowhere'"),
            (self.agent(cloud="a:1,"), 2, "is empty"),
            (self.agent(cloud="a:1,b:1,a:1"), 2, "'a:1' is given twice"),
            (self.agent(cloud=",".join(f"a:{i}" for i in range(17))), 2, "at most 16 addresses, not 17"),
            (self.agent(keys="nokeys"), 3, "nokeys"),
            (self.agent(keys="keys/cloud"), 2, "does not serve as an agent's"),
            (self.agent(state="no/such/place"), 3, "no/such/place"),
            (self.agent(state="damaged"), 3, "--new-run"),
            (self.agent("--trace", "else.csv"), 3, "something else"),
        ]:
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(text, done.stderr)
            self.assertEqual(done.stdout, "")

    def test_it_says_once_why_it_pauses_and_stops_on_a_signal(self):
        for number in signal.SIGTERM, signal.SIGINT:
            agent = Process("agent", self.folder, [
                TACIT, "agent", self.folder / "parts/agents/a.tacit", "--cloud", "127.0.0.1:9", "--keys",
                self.folder / "keys/agents/a", "--state", self.folder / "state", "--json"])
            self.addCleanup(agent.kill)
            Parties.wait_for(lambda: "trying again" in agent.err, what="a pause")
            second = self.agent()
            self.assertEqual((second.returncode, "another process has the state file" in second.stderr), (3, True))
            self.assertTrue(second.stderr.startswith("tacit agent: another process"), second.stderr)
            time.sleep(0.5)  # for a second one, of which nothing is said
            agent.signal(number)
            self.assertEqual(agent.wait(), 0)
            self.assertEqual(agent.err.count("127.0.0.1:9"), 1, agent.err)
            answer = agent.json()
            self.assertEqual(answer["outcome"], "stopped")
            self.assertEqual(answer["agents"][0]["answered"], 0)
            self.assertEqual((self.folder / "state/a.state").stat().st_mode & 0o777, 0o600)


if __name__ == "__main__":
    unittest.main()
