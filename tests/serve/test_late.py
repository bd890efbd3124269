"""Agents that are late, silent, slow to read or gone, under both policies; and signals while a round waits for them."""
# labels: long not-clang

import contextlib
import json
import os
import signal
import socket
import ssl
import threading
import time
import unittest

import town
import wire
from parties import PATIENCE, Parties

LONG = os.environ.get("TACIT_LONG") == "1"
ROUNDS = 12
DEADLINE = 5  # seconds in which agents that are not late say their states on any machine


class Case(unittest.TestCase):
    """Two agents in C, a1 and a2, and a3, which is driven from here."""

    def start(self, *more, rounds=ROUNDS, seed=town.SEED):
        self.parties = p = Parties(town.problem(3), options=town.options(rounds))
        self.addCleanup(p.close)
        self.more = ["--log", "json", *map(str, more)]
        p.start_cloud(*self.more, seed=seed, trace=False)
        for name in ("a1", "a2"):
            p.start_agent(name, trace=False)
        self.third = town.Resident(p, ["a3"], p.key_folders["a3"], pace=0)
        self.third.connect()
        self.addCleanup(lambda: self.third.agent.close())
        return p

    def rounds(self, count):
        for _ in range(count):
            self.third.round()

    def finish(self):
        """The rest of the run."""
        self.third.start()
        answers = self.third.finish()
        return self.parties.finish(), answers

    def message(self, kind, **fields):
        found = self.third.agent.link.receive()
        self.third.agent.take(found)
        self.assertEqual(found.type, kind, found)
        for key, value in fields.items():
            self.assertEqual(getattr(found, key), value, found)
        return found


class Waiting(Case):
    def test_a_round_waits_says_for_whom_and_goes_on(self):
        """After the deadline, and then after twice and four times as long, until the agent is back."""
        p = self.start("--deadline", 0.2)
        self.rounds(3)
        self.third.agent.link.close()
        line = town.await_event(p.cloud, "waiting", more_than=2, round=4)
        self.assertEqual((line["agents"], line["missing"], line["level"]), ("a3", 1, "warning"))
        spoken = [line["seconds"] for line in town.events(p.cloud, "waiting", round=4)]
        self.assertTrue(all(0.2 * 2**i <= s < 0.2 * 2**i + PATIENCE for i, s in enumerate(spoken)), spoken)
        for text in (town.page(p.http_port, "status"), town.page(p.http_port, "metrics")):
            self.assertNotRegex(text, r"\ba3\b")  # an id may have the letters in it
        self.assertEqual(town.page(p.http_port, "healthz"), "running\n")
        self.third.connect()
        summary, answers = self.finish()
        town.same_bits(self, p, summary, answers)
        self.assertEqual(summary["held"], 0)

    def test_before_the_first_round_too(self):
        """Nobody has been there yet: the log names them."""
        with Parties(town.problem(3), options=town.options(3)) as p:
            p.start_cloud("--log", "json", "--deadline", "0.2", seed=town.SEED, trace=False)
            p.start_agent("a2", trace=False)
            line = town.await_event(p.cloud, "waiting", missing=2)
            self.assertEqual((line["agents"], line["round"]), ("a1, a3", 1))
            p.start_agents(["a1", "a3"], trace=False)
            town.same_bits(self, p, p.finish())

    def test_at_most_twenty_are_named(self):
        with Parties(town.problem(23), options=town.options(3), tls=False) as p:
            p.start_cloud("--log", "json", "--deadline", "0.2", trace=False)
            line = town.await_event(p.cloud, "waiting", missing=23)
            self.assertEqual(line["agents"], ", ".join(f"a{i}" for i in range(1, 21)) + " and 3 more")

    def test_sigterm_while_a_round_waits_and_the_run_goes_on_later(self):
        """Nothing of the round was released; agents hear that the cloud stops, and come back."""
        p = self.start("--deadline", 0.2)
        self.rounds(4)
        town.await_event(p.cloud, "waiting", round=5)
        stopped = p.cloud
        stopped.signal(signal.SIGTERM)
        self.message(wire.END, reason=wire.STOPPED, round=4)
        self.assertEqual(stopped.wait(), 0)
        summary = stopped.json()
        self.assertEqual((summary["outcome"], summary["rounds"]), ("stopped", 4))
        town.await_event(stopped, "stopped", round=4)
        # The agents in C look for the port that they were given: the same one again.
        port = p.port
        p.start_cloud(*self.more, "--listen", f"127.0.0.1:{port}", seed=town.SEED, trace=False)
        town.await_event(p.cloud, "resumed", round=4)
        self.third.connect()
        self.assertEqual(self.third.agent.enrolled[0].round, 5)
        summary, answers = self.finish()
        self.assertEqual((summary["epoch"], summary["rounds_here"]), (2, ROUNDS - 4))
        town.same_bits(self, p, summary, answers)

    def test_after_the_end_an_agent_that_was_away_is_waited_for_beyond_the_deadline_until_somebody_stops_that(self):
        """Its pause between two attempts may be longer than the deadline."""
        p = self.start("--deadline", 0.2)
        self.rounds(ROUNDS - 1)
        self.third.agent.send_state()
        self.third.agent.link.close()  # without the answer
        time.sleep(1)
        self.assertTrue(p.cloud.is_running())
        p.cloud.signal(signal.SIGTERM)
        self.assertEqual(p.cloud.wait(), 0)
        self.assertEqual(town.await_event(p.cloud, "untold")["agents"], "a3")
        # The same command gives it the answer, and then there is nothing left to do.
        p.start_cloud("--log", "json", seed=town.SEED, trace=False)
        self.third.connect()
        self.third.agent.run()
        self.third.agent.close()
        Parties.wait_for(lambda: json.loads(town.page(p.http_port, "status"))["enrolled"] == 0, what="its leave")
        p.cloud.signal(signal.SIGTERM)
        self.assertEqual(p.cloud.wait(), 0)
        self.assertEqual(town.await_event(p.cloud, "untold")["agents"], "a1, a2")


class Holding(Case):
    def hold(self, deadline=DEADLINE, cap=2, rounds=ROUNDS):
        return self.start("--on-late", "hold", "--deadline", deadline, "--most-holds", cap, rounds=rounds)

    def test_the_last_state_stands_in_up_to_the_cap_and_then_the_round_waits(self):
        """That agent alone is told; its next state counts anew."""
        p = self.hold()
        self.rounds(2)
        before = time.monotonic()
        self.rounds(1)
        for k in (4, 5):
            self.message(wire.ANSWER, flags=wire.HELD, round=k)
        self.assertGreater(time.monotonic() - before, 2 * DEADLINE)
        town.await_event(p.cloud, "waiting", round=6, agents="a3")
        self.assertEqual(len(town.events(p.cloud, "held", agent="a3")), 2)
        self.third.agent.send_state(round_=6)
        self.message(wire.ANSWER, round=6)
        for k in (7, 8):
            self.message(wire.ANSWER, flags=wire.HELD, round=k)
        summary, _ = self.finish()
        self.assertEqual((summary["outcome"], summary["held"]), ("done", 4))
        for result in p.results().values():
            self.assertEqual(result["agents"][0]["held"], 0)

    def test_the_deadline_counts_from_when_an_agent_is_back(self):
        """Gone for most of a deadline: it has a whole one when it is back."""
        p = self.hold(deadline=5 * DEADLINE)
        self.rounds(3)
        self.third.agent.link.close()
        time.sleep(DEADLINE)
        began = time.monotonic()
        self.third.connect()
        self.message(wire.ANSWER, flags=wire.HELD, round=4)
        self.assertGreater(time.monotonic() - began, 5 * DEADLINE)
        self.assertEqual(len(town.events(p.cloud, "held")), 1)

    def test_a_state_within_the_deadline_after_a_return_is_not_held(self):
        p = self.hold(deadline=60)
        self.rounds(3)
        self.third.agent.link.close()
        time.sleep(0.5)
        self.third.connect()
        summary, answers = self.finish()
        self.assertEqual(summary["held"], 0)
        with Parties(town.problem(3), options=town.options(ROUNDS)) as undisturbed:
            undisturbed.start_cloud("--on-late", "hold", "--most-holds", "2", seed=town.SEED, trace=False)
            undisturbed.start_agents(trace=False)
            self.assertEqual(undisturbed.finish()["answer"], summary["answer"])
            self.assertEqual(undisturbed.results()["a3"]["x"], answers)

    def test_who_comes_back_again_and_again_is_held_all_the_same(self):
        """The first return in a round gives it time, and no other."""
        p = self.hold(deadline=0.8)
        self.rounds(3)
        began = time.monotonic()
        while not town.events(p.cloud, "held", agent="a3"):
            self.assertLess(time.monotonic() - began, PATIENCE)  # for ever, if each return counted
            self.third.agent.answered["a3"] = 3
            self.third.connect()
            time.sleep(0.3)

    def test_nobody_is_held_before_its_first_state(self):
        with Parties(town.problem(2), options=town.options(3)) as p:
            p.start_cloud("--log", "json", "--on-late", "hold", "--deadline", "0.1", seed=town.SEED, trace=False)
            p.start_agent("a1", trace=False)
            silent = town.python_agent("a2")
            silent.open(p.port, p.key_folders["a2"])
            silent.enrol()
            town.await_event(p.cloud, "waiting", more_than=1, agents="a2", round=1)
            self.assertEqual(town.events(p.cloud, "held"), [])
            silent.close()

    def resident_size(self):
        """KiB; 0 under a sanitizer, which keeps what is freed."""
        with open(f"/proc/{self.parties.cloud.pid}/status") as facts:
            facts = dict(line.split(":", 1) for line in facts)
        size, resident = (int(facts[key].split()[0]) for key in ("VmSize", "VmRSS"))
        return resident if size < 1 << 30 else 0

    def test_who_never_reads_stalls_nobody_beyond_the_policy(self):
        """It asks for the last answer again and again, and takes none: it is not read any more, its state stands in, and
        nothing piles up. A little space to receive makes it quick to fill."""
        p = self.hold(deadline=2, cap=3, rounds=40)
        self.rounds(3)
        agent = self.third.agent
        again, before = wire.state(0, 3, []) * 2000, self.resident_size()
        agent.link.stream.settimeout(1)
        agent.link.stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sent, end = 0, time.monotonic() + 20
        with contextlib.suppress(socket.timeout, ssl.SSLWantWriteError, wire.Closed, OSError):
            while time.monotonic() < end:
                agent.link.stream.sendall(again)
                sent += len(again)
        Parties.wait_for(lambda: town.round_of(p) == 6, what="three rounds with its last state")
        self.assertEqual(len(town.events(p.cloud, "held", agent="a3")), 3)
        grown = self.resident_size() - before
        self.assertLess(grown, 8192, f"{sent} bytes were sent")  # KiB
        if LONG:
            town.await_event(p.cloud, "connection-refused", reason="what was sent is not being read")
        self.third.connect()  # takes over from the one that does not read
        summary, _ = self.finish()
        self.assertEqual(summary["outcome"], "done")

    def test_the_plan_and_its_card_state_the_cap_and_its_price(self):
        """A message counts 1 + H times in l1, sqrt(1 + H) times in l2; so does what anybody can learn of it, for the same
        noise, and the noise for the same epsilon."""
        with Parties(town.problem(3), options=[]) as p:
            def plan(mechanism, *more):
                given = ["--rounds", 20, "--adjacency", "one:1", "--epsilon", 2, "--mechanism", mechanism]
                given += ["--delta", 1e-6] if mechanism == "gaussian" else []
                return json.loads(p.tacit("plan", p.parts / "cloud.tacit", *given, *more, "--json").stdout)
            for mechanism, price in (("laplace", lambda h: 1 + h), ("gaussian", lambda h: (1 + h) ** 0.5)):
                free = plan(mechanism)
                self.assertEqual(free["hold_cap"], 0)
                for cap in (1, 3, 8):
                    with self.subTest(mechanism=mechanism, cap=cap):
                        held = plan(mechanism, "--on-late", "hold", "--most-holds", cap)
                        self.assertEqual(held["hold_cap"], cap)
                        self.assertEqual((held["epsilon"], held["delta"]), (free["epsilon"], free["delta"]))
                        self.assertNotEqual(held["hash"], free["hash"])
                        for one, other in zip(held["systems"], free["systems"]):
                            self.assertAlmostEqual(one["scale"] / other["scale"], price(cap), delta=1e-6 * price(cap))
                        self.check_prices(held, cap, mechanism)
                self.assertEqual(plan(mechanism, "--on-late", "hold")["hold_cap"], 3)
            card = p.tacit("plan", p.parts / "cloud.tacit", *town.options(20), "--on-late", "hold", "--most-holds", 8).stdout
            self.assertRegex(" ".join(card.split()), r"Late agents .*8 times")


    def check_prices(self, plan, cap, mechanism):
        """Of a table where more is never cheaper: what one agent could do in a round is used in 1 + H rounds, but in no
        more than the run has."""
        cost = {line["what"]: line for line in plan["prices"]}
        one = next(line for what, line in cost.items() if what.startswith("one state of one agent in one round, by all"))
        all_ = cost["everything one agent could do in one round"]
        whole = next(line for what, line in cost.items() if "in the whole run" in what)
        self.assertLessEqual(one["epsilon"], all_["epsilon"])
        self.assertLessEqual(all_["epsilon"], whole["epsilon"])
        if mechanism == "laplace":
            self.assertAlmostEqual(whole["epsilon"] / all_["epsilon"], plan["rounds"] / (1 + cap), places=6)


class Certificates(Case):
    def serial(self, context):
        with wire.connect(self.parties.port, context=context) as stream:
            return stream.getpeercert()["serialNumber"]

    def test_sighup(self):
        """New connections see the new certificate, the old ones live on; one that is not usable changes nothing."""
        p = self.start("--deadline", 5, rounds=40)
        self.rounds(3)
        context = wire.client_context(p.key_folders["a3"])
        cloud, first = p.keys / "cloud", self.serial(context)
        good = (cloud / "identity.pem").read_bytes()
        p.tacit("keys", "renew", p.keys, "--all")
        self.assertEqual(self.serial(context), first)  # not before the signal
        p.cloud.signal(signal.SIGHUP)
        town.await_event(p.cloud, "reloaded")
        second = self.serial(wire.client_context(p.key_folders["a3"]))
        self.assertNotEqual(second, first)
        self.rounds(3)
        self.assertEqual(town.events(p.cloud, "left"), [])

        fresh = (cloud / "identity.pem").read_bytes()
        key = fresh[fresh.index(b"-----BEGIN PRIVATE"):]
        broken = {"garbage": b"no certificate", "nothing": b"", "cut": fresh[:len(fresh) // 2], "key of another": None,
                  "an agent's": (p.key_folders["a3"] / "identity.pem").read_bytes()}
        broken["key of another"] = good[:good.index(b"-----BEGIN PRIVATE")] + key
        for count, (label, text) in enumerate(broken.items()):
            with self.subTest(label):
                (cloud / "identity.pem").write_bytes(text)
                p.cloud.signal(signal.SIGHUP)
                line = town.await_event(p.cloud, "not-reloaded", more_than=count)
                self.assertEqual(line["level"], "error")
                self.assertIn("identity.pem", line["why"])
                self.assertEqual(self.serial(wire.client_context(p.key_folders["a3"])), second)
                self.rounds(2)
        os.remove(cloud / "identity.pem")
        p.cloud.signal(signal.SIGHUP)
        town.await_event(p.cloud, "not-reloaded", more_than=len(broken))
        self.assertEqual(town.events(p.cloud, "left"), [])
        summary, answers = self.finish()
        town.same_bits(self, p, summary, answers)

    def test_signals_in_a_storm(self):
        """Dozens of SIGHUP in the middle of rounds and handshakes."""
        p = self.start("--deadline", 5, rounds=30)
        context, storm = wire.client_context(p.key_folders["a3"]), threading.Event()

        def shake():
            while not storm.is_set():
                with contextlib.suppress(OSError):
                    self.serial(context)
        thread = threading.Thread(target=shake, daemon=True)
        thread.start()
        for _ in range(15):
            p.cloud.signal(signal.SIGHUP)
            self.rounds(1)
        storm.set()
        thread.join(PATIENCE)
        summary, answers = self.finish()
        town.same_bits(self, p, summary, answers)
        self.assertEqual(town.events(p.cloud, "left"), [])


if __name__ == "__main__":
    unittest.main()
