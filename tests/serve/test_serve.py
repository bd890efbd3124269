"""tacit serve as its operator meets it: a whole run over TLS, signals, starting again, and what it refuses."""

import json
import re
import shutil
import signal
import socket
import threading
import time
import unittest
import urllib.request

import parties
import wire
from parties import PATIENCE

PROBLEM = """agent a { state x in [-10, 10]
  private minimize (x - 3)^2
  gap 100
  slater x = -1 }
agent b { state x in [-10, 10]
  private minimize (x - 2)^2
  gap 100
  slater x = -1 }
constraint c: a.x + b.x <= 1
privacy { mechanism laplace; epsilon 1; adjacency one 1 }
schedule { rounds ROUNDS }
"""


def problem(rounds):
    return PROBLEM.replace("ROUNDS", str(rounds))


class Agents:
    """Two agents in threads that walk towards 1, whatever they are answered."""

    def __init__(self, place, book=None):
        self.place, self.book = place, book or wire.Book()
        self.agents = [wire.RawAgent(name, book=self.book, move=self.move) for name in place.names]
        self.threads, self.errors = [], []

    @staticmethod
    def move(name, k, x, message):
        return [x[0] + (1 - x[0]) / (k + 1)]

    def go(self, rounds=None):
        self.threads = [threading.Thread(target=self.serve, args=(agent, rounds)) for agent in self.agents]
        for thread in self.threads:
            thread.start()

    def serve(self, agent, rounds):
        try:
            agent.open(self.place.port, self.place.key_folders.get(agent.names[0]))
            agent.enrol()
            agent.run(rounds)
        except (wire.Closed, OSError) as error:  # it was killed, or is done
            self.errors.append(error)
        finally:
            if rounds is None:
                agent.close()

    def wait(self):
        for thread in self.threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()

    def stop_cloud(self):
        """SIGTERM; the agents hear of it and go."""
        self.place.cloud.signal(signal.SIGTERM)
        for agent in self.agents:
            assert agent.link.expect(wire.END).reason == wire.STOPPED
            agent.close()
        return self.place.cloud.wait()


def get(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=PATIENCE) as answer:
        return answer.read().decode()


class Runs(unittest.TestCase):
    def open(self, rounds, **more):
        place = parties.Parties(problem(rounds), **more)
        self.addCleanup(place.close)
        return place

    def test_a_run_over_tls_ends_with_released_quantities_and_can_be_looked_up_again(self):
        place = self.open(50)
        place.start_cloud("--deadline", "2", "--log", "json")
        status = json.loads(get(place.http_port, "/status"))
        self.assertEqual((status["agents"], status["round"]), (2, 0))
        self.assertEqual((status["rounds_per_second"], status["last_round"]), (None, None))
        crowd = Agents(place)
        crowd.go()
        crowd.wait()
        self.assertEqual(place.cloud.wait(), 0, place.cloud.err)
        summary = place.cloud.json()
        self.assertEqual((summary["outcome"], summary["rounds"], summary["epoch"]), ("done", 50, 1))
        self.assertTrue(summary["private"])
        self.assertEqual(len(summary["mu"]), 1)
        self.assertNotIn("x", summary)
        rows = (place.folder / "cloud.1.csv").read_text().splitlines()
        self.assertEqual(rows[0], "# tacit rounds 1")
        self.assertEqual([int(row.split(",")[0]) for row in rows[3:]], list(range(1, 51)))
        self.assertEqual(float(rows[-1].split(",")[3]), summary["mu"][0])
        events = [json.loads(line)["event"] for line in place.cloud.err.splitlines() if line.startswith("{")]
        for event in ("started", "listening", "enrolled", "complete", "done"):
            self.assertIn(event, events)
        self.assertNotIn("left", events)
        # Started again: everybody has had the last answer, which takes no time to say.
        place.start_cloud("--log", "json", ready=0)
        self.assertEqual(place.cloud.wait(), 0)
        self.assertIn('"all-told"', place.cloud.err)
        self.assertNotIn('"untold"', place.cloud.err)
        self.assertEqual((place.cloud.json()["was_over"], place.cloud.json()["mu"]), (True, summary["mu"]))
        # Somebody has lost it: the same answers for whoever asks.
        place.start_cloud("--after-restore")
        late = Agents(place, crowd.book)
        late.agents[0].answered["a"] = 49
        late.agents[1].answered["b"] = 50
        late.go()
        late.wait()
        self.assertEqual(place.cloud.wait(), 0)
        again = place.cloud.json()
        self.assertTrue(again["was_over"])
        self.assertEqual((again["mu"], again["run"]), (summary["mu"], summary["run"]))
        self.assertEqual(crowd.book.repeats, 1)
        self.assertIn("over", place.cloud.err)

    def test_sigterm_stops_it_and_the_same_command_goes_on_with_the_same_bits(self):
        ends = []
        for stops in ([], [7, 20]):
            place = self.open(30)
            crowd = Agents(place)
            for rounds in [*stops, None]:
                place.start_cloud("--deadline", "2", seed=3)
                crowd.go(rounds)
                crowd.wait()
                if rounds is not None:
                    self.assertEqual(crowd.stop_cloud(), 0)
                    self.assertEqual(place.cloud.json()["outcome"], "stopped")
            self.assertEqual(place.cloud.wait(), 0)
            summary = place.cloud.json()
            self.assertFalse(summary["private"])
            self.assertIn("seed", " ".join(summary["insecure"]))
            ends.append((summary["mu"], summary["answer"], crowd.book.answers))
        self.assertEqual(ends[0], ends[1])

    def test_a_second_sigterm_does_not_wait_for_agents_that_do_not_go(self):
        place = self.open(30)
        self.assertTrue(any(self.is_cut_short(place, trial) for trial in range(10)))

    def is_cut_short(self, place, trial):
        """Of two clouds, the one that is asked first waits for its agent. The other is asked later, but twice. Were its wait
        not cut short, it would never be the first to end. A stalled machine may hide that it was: hence several trials."""
        links, clouds = [], []
        for name in ("once", "twice"):
            clouds.append(place.start_cloud(state=place.folder / f"{name}.{trial}"))
            links.append(wire.Link(wire.connect(place.port, place.key_folders["a"])))
            self.addCleanup(links[-1].close)
            links[-1].send(wire.hello() + wire.enrol(0, "a", 1))
            links[-1].expect(wire.WELCOME)
            links[-1].expect(wire.ENROLLED)
        once, twice = clouds
        once.signal(signal.SIGTERM)
        self.assertEqual(links[0].expect(wire.END).reason, wire.STOPPED)
        time.sleep(0.5)
        twice.signal(signal.SIGTERM)
        self.assertEqual(links[1].expect(wire.END).reason, wire.STOPPED)
        twice.signal(signal.SIGTERM)
        self.assertEqual(twice.wait(), 0)
        is_first = once.is_running()
        self.assertEqual(once.wait(), 0)
        return is_first

    def test_kill_minus_nine_loses_no_round_and_answers_none_twice(self):
        place = self.open(40)
        crowd = Agents(place)
        for _ in range(4):
            place.start_cloud("--deadline", "2", seed=3)
            crowd.go()
            time.sleep(0.05)
            place.cloud.kill()
            crowd.wait()
            if all(agent.answered[agent.names[0]] == 40 for agent in crowd.agents):
                break
        place.start_cloud("--deadline", "2", seed=3)
        crowd.go()
        crowd.wait()
        self.assertEqual(place.cloud.wait(), 0, place.cloud.err)
        undisturbed = self.open(40)
        undisturbed.start_cloud("--deadline", "2", seed=3)
        quiet = Agents(undisturbed)
        quiet.go()
        quiet.wait()
        self.assertEqual(undisturbed.cloud.wait(), 0)
        self.assertEqual(place.cloud.json()["mu"], undisturbed.cloud.json()["mu"])
        for key, body in crowd.book.answers.items():
            self.assertEqual(quiet.book.answers[key], body)

    def test_a_trace_goes_on_with_its_own_run_alone(self):
        """Also where its last line was cut short."""
        place = self.open(20)
        for name in ("first", "second"):
            place.start_cloud("--trace", place.folder / f"{name}.csv", state=place.folder / name, trace=False)
            crowd = Agents(place)
            crowd.go(5)
            crowd.wait()
            self.assertEqual(crowd.stop_cloud(), 0)
        trace = place.folder / "first.csv"
        before = trace.read_text()
        place.start_cloud("--trace", trace, state=place.folder / "second", trace=False, ready=False)
        self.assertEqual(place.cloud.wait(), 2, place.cloud.err)
        self.assertIn(f"the trace '{trace}' is of another run: choose another name", place.cloud.err)
        self.assertEqual(trace.read_text(), before)
        for cut in (1, 9):
            (place.folder / "second.csv").write_text((place.folder / "second.csv").read_text()[:-cut])
            place.start_cloud("--trace", place.folder / "second.csv", state=place.folder / "second", trace=False)
            self.assertEqual(place.cloud.stop(), 0)
            rows = [line.split(",") for line in (place.folder / "second.csv").read_text().splitlines()[3:]]
            self.assertEqual([(row[0], len(row)) for row in rows], [(str(k), 4) for k in range(1, 6)])

    def test_a_restored_journal_is_refused_until_told_so(self):
        place = self.open(30)
        crowd = Agents(place)
        place.start_cloud()
        crowd.go(5)
        crowd.wait()
        self.assertEqual(crowd.stop_cloud(), 0)
        shutil.copytree(place.folder / "journal", place.folder / "backup")
        place.start_cloud()
        crowd.go(9)
        crowd.wait()
        self.assertEqual(crowd.stop_cloud(), 0)
        place.start_cloud(state=place.folder / "backup")
        agent = crowd.agents[0]
        agent.open(place.port, place.key_folders["a"])
        self.assertEqual(agent.welcome.epoch[0], agent.epoch[0])  # the same number: it is the other's twin
        agent.link.send(wire.enrol(0, "a", 1, answered=9, epoch=agent.epoch))
        self.assertEqual(agent.link.expect(wire.REFUSAL).code, wire.ROLLBACK)
        agent.close()
        self.assertEqual(place.cloud.wait(), 3)
        self.assertIn("--after-restore", place.cloud.err)
        place.start_cloud("--after-restore", "--deadline", "0.5", state=place.folder / "backup")
        place.wait_for(lambda: 'agents="a, b"' in place.cloud.err, what="a word on whom it waits for")
        crowd.agents[1].answered["b"] = 8  # it lacks an answer that is lost
        crowd.go()
        crowd.wait()
        self.assertEqual(place.cloud.wait(), 0, place.cloud.err)
        self.assertEqual(place.cloud.json()["rounds"], 30)
        self.assertEqual(place.cloud.json()["rounds_here"], 20)  # from 11 on: 6 to 10 were lost, and are not done here
        self.assertEqual(crowd.book.repeats, 0)

    def test_a_certificate_speaks_for_its_own_agent_alone(self):
        place = self.open(10)
        place.start_cloud()
        with wire.Link(wire.connect(place.port, place.key_folders["a"])) as link:
            link.send(wire.hello() + wire.enrol(0, "b", 1))
            link.expect(wire.WELCOME)
            self.assertEqual(link.expect(wire.REFUSAL).code, wire.IDENTITY)
            link.send(wire.enrol(0, "nobody", 1))
            self.assertEqual(link.expect(wire.REFUSAL).code, wire.IDENTITY)
        with socket.create_connection(("127.0.0.1", place.port), timeout=PATIENCE) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
            self.assertIn(b"400", plain.recv(1000))
        for line in (r" refused: .* agent=b .* address=127\.0\.0\.1:\d+ certificate=a\n",
                     r" connection-failed: .* address=127\.0\.0\.1:\d+\n"):
            place.wait_for(lambda: re.search(line, place.cloud.err), 60, line)
        place.cloud.signal(signal.SIGHUP)
        place.wait_for(lambda: "reloaded" in place.cloud.err, what="certificates")
        (place.keys / "cloud" / "identity.pem").write_text("nonsense")
        place.cloud.signal(signal.SIGHUP)
        place.wait_for(lambda: "not-reloaded" in place.cloud.err, what="a complaint")
        with wire.Link(wire.connect(place.port, place.key_folders["a"])) as link:  # the old ones serve
            link.send(wire.hello())
            link.expect(wire.WELCOME)
        self.assertEqual(place.cloud.stop(), 0)

    def test_agents_of_another_run_are_told_of_on_both_sides(self):
        """A folder that was mistyped begins a new run: its cloud says so, and who turned away."""
        place = self.open(1000000)
        place.start_cloud("--log", "json")
        agents = [place.start_agent(name, trace=False) for name in place.names]
        place.wait_for(lambda: json.loads(get(place.http_port, "/status"))["last_round"], what="a second with rounds")
        status = json.loads(get(place.http_port, "/status"))
        self.assertGreater(status["rounds_per_second"], 0)
        self.assertLess(abs(status["last_round"] - status["now"]), PATIENCE)  # both are in seconds of the same clock
        self.assertEqual(place.cloud.stop(), 0)
        self.assertEqual([agent.stop() for agent in agents], [0, 0])
        self.assertIn('"begun"', place.cloud.err)
        place.start_cloud("--log", "json", state=place.folder / "typo")
        agent = place.start_agent("a", trace=False)
        self.assertEqual(agent.wait(), 2)
        place.wait_for(lambda: '"turned-away"' in place.cloud.err, what="a word on who has left")
        lines = [json.loads(line) for line in place.cloud.err.splitlines() if line.startswith("{")]
        begun, = (line for line in lines if line["event"] == "begun")
        self.assertEqual(begun["state"], str(place.folder / "typo"))
        away, = (line for line in lines if line["event"] == "turned-away")
        self.assertEqual((away["level"], away["certificate"]), ("warning", "a"))
        self.assertRegex(away["address"], r"^127\.0\.0\.1:\d+$")
        self.assertIn("tacit_connections_turned_away_total 1\n", get(place.http_port, "/metrics"))
        for page in ("/status", "/metrics"):
            self.assertNotIn(away["address"], get(place.http_port, page))
        self.assertEqual(place.cloud.stop(), 0)
        place.start_cloud("--log", "json")
        self.assertNotIn('"begun"', place.cloud.err)
        self.assertEqual(place.cloud.stop(), 0)

    def test_the_ledger_is_written_before_the_first_answer_and_once(self):
        place = self.open(20)
        ledger = place.folder / "ledger"
        place.start_cloud("--ledger", ledger, "--budget", "1.5")
        self.assertFalse(ledger.exists())
        crowd = Agents(place)
        crowd.go(3)
        crowd.wait()
        self.assertEqual(len(ledger.read_text().splitlines()), 1)
        self.assertEqual(crowd.stop_cloud(), 0)
        place.start_cloud("--ledger", ledger, "--budget", "1.5", "--deadline", "2")
        crowd.go()
        crowd.wait()
        self.assertEqual(place.cloud.wait(), 0)
        self.assertTrue(place.cloud.json()["recorded"])
        self.assertEqual(len(ledger.read_text().splitlines()), 1)
        place.start_cloud("--ledger", ledger, "--budget", "1.5", "--new-run", ready=0)
        self.assertEqual(place.cloud.wait(), 1)
        self.assertIn("refused", place.cloud.json()["outcome"])

    def ledger_lines(self, path):
        return [json.loads(line) for line in path.read_text().splitlines()]

    def test_a_ledger_lies_in_the_state_folder_and_survives_new_runs(self):
        place = self.open(20)
        ledger = place.folder / "journal" / "ledger"
        for runs in (1, 2):
            place.start_cloud("--budget", "2.5", *(["--new-run"] if runs > 1 else []))
            self.assertEqual(ledger.exists(), runs > 1)
            crowd = Agents(place)
            crowd.go()
            crowd.wait()
            self.assertEqual(place.cloud.wait(), 0)
            self.assertEqual(len(self.ledger_lines(ledger)), runs)
            self.assertTrue(place.cloud.json()["recorded"])
        place.start_cloud("--budget", "2.5", "--new-run", ready=0)
        self.assertEqual(place.cloud.wait(), 1)
        self.assertIn("would come to 3", place.cloud.json()["reason"])
        self.assertEqual(len(self.ledger_lines(ledger)), 2)

    def test_a_budget_in_the_clouds_file_is_kept(self):
        place = self.open(20)
        cloud = place.parts / "cloud.tacit"
        cloud.write_text(cloud.read_text() + "budget { epsilon 0.5 }\n")
        place.start_cloud(ready=0)
        self.assertEqual(place.cloud.wait(), 1)
        self.assertIn("the budget of epsilon 0.5 is too small", place.cloud.json()["reason"])
        self.assertFalse((place.folder / "journal").exists())

    def test_what_is_not_for_private_data_is_entered_so(self):
        for tls, options in ((True, {"seed": 7}), (False, {})):
            place = self.open(20, tls=tls)
            place.start_cloud(**options)
            status = json.loads(get(place.http_port, "/status"))
            self.assertEqual((status["private"], status["insecure"]), (False, True))
            self.assertNotIn("epsilon", status)
            metrics = get(place.http_port, "/metrics")
            self.assertIn('private="no"', metrics)
            self.assertNotIn("tacit_epsilon", metrics)
            crowd = Agents(place)
            crowd.go()
            crowd.wait()
            self.assertEqual(place.cloud.wait(), 0)
            line, = self.ledger_lines(place.folder / "journal" / "ledger")
            self.assertEqual((line["priced"], line["epsilon"]), (False, None))
            answer = place.cloud.json()
            self.assertEqual((answer["private"], answer["card"]["private"], answer["guarantee"]["private"],
                              answer["plan"]["private"]), (False,) * 4)

    def spoil(self, place, name):
        """A file whose set does not hold the Slater point, in the place of the agent's own. Returns its text."""
        text = place.names[name].read_text()
        place.names[name].write_text(text.replace("  private minimize", "  private set x <= -2\n  private minimize", 1))
        return text

    def events(self, place, name):
        return [line for line in map(json.loads, place.cloud.err.splitlines()) if line["event"] == name]

    def test_a_run_waits_for_an_agent_that_says_no_and_begins_when_it_comes_with_another_file(self):
        place = self.open(20)
        place.start_cloud("--deadline", "0.1", "--log", "json")
        right = self.spoil(place, "a")
        other = place.start_agent("b", trace=False)
        place.wait_for(lambda: self.events(place, "enrolled"), what="b")
        before = [get(place.http_port, page) for page in ("/status", "/metrics")]
        agent = place.start_agent("a", trace=False)
        self.assertEqual(agent.wait(), 1)
        self.assertIn("the run waits for it: correct its set and start it again", " ".join((agent.out + agent.err).split()))
        self.assertEqual(agent.json()["outcome"], "no Slater point")
        count = len(self.events(place, "waiting"))
        place.wait_for(lambda: len(self.events(place, "waiting")) > count, what="another word on whom it waits for")
        told = self.events(place, "slater")
        self.assertEqual({(line["agents"], line["level"]) for line in told}, {("a", "warning")})
        self.assertEqual({line["agents"] for line in self.events(place, "waiting")[count:]}, {"a"})
        # Readers of the pages see what they saw while it was missing, beside the clock and the number of connections.
        after = [get(place.http_port, page) for page in ("/status", "/metrics")]
        for texts in zip(before, after):
            self.assertEqual(*([line for line in text.splitlines() if not re.search('"now"|connections', line)] for text in texts))
        self.assertTrue(place.cloud.is_running() and other.is_running())
        place.names["a"].write_text(right)
        place.start_agent("a", trace=False)
        place.finish()
        self.assertEqual(len(self.events(place, "enrolled")), 2)  # b was never sent away

    def test_of_a_gateways_agents_those_that_say_yes_stay(self):
        place = self.open(20)
        place.start_cloud("--log", "json")
        right = self.spoil(place, "a")
        keys = place.issue(["a", "b"], together="site")
        gateway = place.start_agent("a", "b", keys=keys, trace=False)
        place.wait_for(lambda: "the others go on" in gateway.err and self.events(place, "enrolled"), what="b")
        self.assertEqual(gateway.stop(), 1)
        place.names["a"].write_text(right)
        place.start_agent("a", "b", keys=keys, trace=False)
        place.finish()


class Refusals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = parties.Parties(problem(20))

    @classmethod
    def tearDownClass(cls):
        cls.place.close()

    def refused(self, code, text, *options, file=None, keys=True, state="state"):
        place = self.place
        arguments = [file or place.parts / "cloud.tacit", "--state", place.folder / state, "--listen", "127.0.0.1:0",
                     "--http", "off", *(["--keys", place.keys / "cloud"] if keys else []), *options]
        done = place.tacit("serve", *arguments, code=None)
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, code, said)
        self.assertRegex(" ".join(said.split()), text)
        return done

    def test_files_that_are_not_the_clouds(self):
        self.refused(2, "tacit split", file=self.place.problem)
        self.refused(2, "agent's file", file=self.place.names["a"])
        self.refused(2, "No such file", file=self.place.folder / "nothing.tacit")

    def test_what_is_not_private(self):
        self.refused(2, "--insecure-seed", "--seed", "1")
        self.refused(2, "--insecure-seed goes with", "--insecure-seed")
        open_file = self.place.folder / "open.tacit"
        open_file.write_text((self.place.parts / "cloud.tacit").read_text().replace("mechanism laplace", "mechanism none"))
        self.refused(1, "no noise would be added .*--insecure-no-noise", file=open_file)
        self.refused(1, "no noise would be added .*--insecure-no-noise", "--mechanism", "none")
        self.refused(1, "no noise would be added", "--mechanism", "none", "--seed", "1", "--insecure-seed")
        self.refused(2, "--insecure-no-noise goes with the mechanism none", "--insecure-no-noise")
        self.refused(2, "--c1 would change nothing: method tacit sets its steps itself", "--c1", "0.3")
        self.refused(2, "--delta would change nothing: Laplace noise", "--delta", "1e-6")
        self.refused(2, "--linger would change nothing", "--http", "off", "--linger", "5")
        self.assertFalse((self.place.folder / "state").exists())
        no_radius = self.place.folder / "no_radius.tacit"
        no_radius.write_text((self.place.parts / "cloud.tacit").read_text().replace("gap 100", ""))
        self.refused(2, "dual radius", file=no_radius)

    def test_keys(self):
        self.refused(2, "--keys DIR is needed", keys=False)
        self.refused(2, "exclude each other", "--insecure-plaintext")
        self.refused(3, "authority.pem", "--keys", self.place.folder / "nowhere", keys=False)
        self.refused(2, "does not serve as the cloud's", "--keys", self.place.key_folders["a"], keys=False)
        self.refused(2, "loopback", "--insecure-plaintext", "--listen", ":0", keys=False)

    def test_addresses_and_options(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            done = self.refused(3, "in use", "--listen", f"127.0.0.1:{port}")
            self.assertRegex(done.stderr, r"\A\S+ error failed: [^\n]*in use[^\n]*\n\Z")  # once, in the log
            done = self.refused(3, "in use", "--listen", f"127.0.0.1:{port}", "--json")
            self.assertEqual((done.stderr.count("in use"), json.loads(done.stdout)["exit_code"]), (1, 3))
            self.assertIn("in use", json.loads(done.stdout)["error"])
        self.refused(2, "HOST:PORT", "--listen", "nonsense")
        self.refused(2, "--on-late hold", "--most-holds", "2")
        self.refused(2, "give one of them", "--new-run", "--after-restore")
        self.refused(2, "--budget wants a positive number", "--budget", "1:2")
        self.refused(2, "write --budget 1:1e-6", "--budget", "1", "--mechanism", "gaussian", "--delta", "1e-6")
        self.refused(1, "the budget of epsilon 0.5 is too small", "--budget", "0.5")
        self.assertFalse((self.place.folder / "state").exists())

    def test_a_start_that_fails_begins_no_run(self):
        place, ledger = self.place, self.place.folder / "spent"
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.refused(3, "in use", "--http", f"127.0.0.1:{taken.getsockname()[1]}", state="fresh")
        for wrong in ("7575", ":99999"):
            self.refused(2, "failed: .*cannot listen at", "--listen", wrong, state="fresh")
        done = self.refused(1, "unpaid: .*the budget of epsilon", "--ledger", ledger, "--budget", "0.5", state="fresh")
        self.assertNotIn(" failed: ", done.stderr)  # nothing is wrong with the command line
        done = self.refused(3, '"event":"failed".*cannot write', "--log", "json", "--port-file",
                            place.folder / "none" / "ports", state="fresh")
        self.assertEqual([json.loads(line)["event"] for line in done.stderr.splitlines()], ["failed"])
        self.assertEqual(list((place.folder / "fresh").glob("*")), [])
        place.start_cloud("--rounds", "7", state=place.folder / "fresh")
        self.assertEqual(place.cloud.stop(), 0)
        # A run that is there stays where it is, whatever fails.
        self.refused(2, "cannot listen", "--listen", "7575", "--rounds", "7", "--new-run", state="fresh")
        self.refused(1, "the budget", "--ledger", ledger, "--budget", "0.5", "--rounds", "7", "--new-run", state="fresh")
        self.refused(3, "cannot write", "--port-file", place.folder / "none" / "ports", "--rounds", "7", state="fresh")
        self.assertEqual(sorted(file.name for file in (place.folder / "fresh").iterdir()), ["journal.db", "journal.db-wal"])  # no ledger: no round was released

    def test_journals(self):
        place = self.place
        place.start_cloud(state=place.folder / "busy")
        self.refused(3, "another process", state="busy")
        self.refused(3, "another process", "--new-run", state="busy")
        self.assertEqual(place.cloud.stop(), 0)
        self.refused(2, "another plan, whose hash is [0-9a-f]{64}, .* make [0-9a-f]{64}: .*--new-run", "--epsilon", "2", state="busy")
        (place.folder / "damaged").mkdir()
        text = bytearray((place.folder / "busy" / "journal.db").read_bytes())
        for i in range(0, len(text), 64):
            text[i] ^= 0x5A
        (place.folder / "damaged" / "journal.db").write_bytes(text)
        self.refused(3, "journal", state="damaged")
        (place.folder / "file").write_text("no folder")
        self.refused(3, "file", state="file")

    def test_a_run_goes_on_only_with_its_file_seed_margin_and_schedule(self):
        place, own = self.place, (self.place.parts / "cloud.tacit").read_text()
        methods = {"tacit": {"--margin": "0.5"},
                   "published": {"--gamma-bar": "0.1", "--alpha-bar": "0.1", "--c1": "0.3", "--c2": "0.52"}}

        def flat(options):
            return [*(word for pair in options.items() for word in pair), "--insecure-seed"]

        for method, given in methods.items():
            same = {"--method": method, "--seed": "1", **given}
            state = place.folder / method
            place.start_cloud(*flat(same), state=state)
            self.assertEqual(place.cloud.stop(), 0)
            for name in ["--seed", *given]:
                with self.subTest(method=method, other=name):
                    self.refused(2, "another file, seed, margin or schedule.*options of that run.*--new-run",
                                 *flat({**same, name: "2"}), state=method)
            for before, after in [("<= 1", "<= 1.5"), ("gap 100", "gap 200")]:
                with self.subTest(method=method, other=before):
                    changed = place.folder / "changed.tacit"
                    changed.write_text(own.replace(before, after))
                    self.refused(2, "another file, seed, margin or schedule", *flat(same), file=changed, state=method)
            place.start_cloud(*flat(same), "--threads", "1", "--deadline", "2", state=state)
            self.assertEqual(place.cloud.stop(), 0)

    def test_a_run_goes_on_only_with_the_numbers_of_its_data_files(self):
        place, own = self.place, (self.place.parts / "cloud.tacit").read_text()
        self.assertIn("<= 1\n", own)
        file, limits = place.folder / "by_hand.tacit", place.folder / "limits.csv"
        file.write_text('param limit = csv "limits.csv"\n' + own.replace("<= 1\n", "<= limit[2]\n"))
        limits.write_text("7,1\n")
        arguments = [file, "--insecure-plaintext", "--listen", "127.0.0.1:0", "--http", "off", "--state", place.folder / "csv"]

        def starts():
            ports = place.folder / "csv.ports"
            ports.unlink(missing_ok=True)
            cloud = parties.Process("by_hand", place.folder, [parties.TACIT, "serve", *arguments, "--port-file", ports])
            place.others.append(cloud)
            place.wait_for(ports.exists, what="its port")
            self.assertEqual(cloud.stop(), 0)

        starts()
        for changed in ("7,1.5\n", "7.5,1\n", "7,1,1\n", "7\n1\n"):
            with self.subTest(changed=changed):
                limits.write_text(changed)
                self.refused(2, "another file, seed, margin or schedule, or a data file has changed.*--new-run",
                             "--insecure-plaintext", file=file, keys=False, state="csv")
        limits.write_text("7.0, 1.0\n")  # the same numbers
        starts()

    def test_the_price_of_holding_is_in_the_plan(self):
        file = self.place.parts / "cloud.tacit"
        wait = json.loads(self.place.tacit("plan", file, "--json").stdout)
        hold = json.loads(self.place.tacit("plan", file, "--json", "--on-late", "hold", "--most-holds", "2").stdout)
        self.assertEqual((wait["card"]["hold_cap"], hold["card"]["hold_cap"]), (0, 2))
        self.assertAlmostEqual(hold["systems"][0]["scale"] / wait["systems"][0]["scale"], 3, places=6)
        self.assertNotEqual(hold["hash"], wait["hash"])
        self.assertIn("at most 2 times; the price counts it 3 times", hold["card"]["hold_policy"])


if __name__ == "__main__":
    unittest.main()
