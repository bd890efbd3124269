"""The agent in Python: what docs/protocol.md asks of an agent, against a cloud that a script plays; and among agents in C
against the real cloud, with the same bits."""
# labels: not-clang

import contextlib
import importlib.util
import io
import json
import os
import pathlib
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

import parties
import proxy
import wire
from parties import PATIENCE

SOURCE = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])
PROGRAM = SOURCE / "examples" / "python" / "agent.py"

spec = importlib.util.spec_from_file_location("python_agent", PROGRAM)
python_agent = importlib.util.module_from_spec(spec)
spec.loader.exec_module(python_agent)


class ScriptedCloud:
    """The cloud's end of a connection, for one agent at a time."""

    def __init__(self, keys):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3
        self.context.load_cert_chain(keys / "cloud/identity.pem")
        self.context.load_verify_locations(keys / "cloud/authority.pem")
        self.context.verify_mode = ssl.CERT_REQUIRED
        self.context.set_alpn_protocols(["tacit/1"])
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(PATIENCE)
        self.port = self.listener.getsockname()[1]

    def meet(self, epoch=(1, bytes(16)), run=bytes(16)):
        """A connection up to its ENROL."""
        plain, _ = self.listener.accept()
        plain.settimeout(PATIENCE)
        link = wire.Link(self.context.wrap_socket(plain, server_side=True))
        greeting = link.expect(wire.HELLO)
        assert (greeting.slot, greeting.round, greeting.lowest, greeting.highest) == (wire.NO_SLOT, 0, 1, 2)
        link.send(wire.welcome(epoch=epoch, run=run))
        return link

    def close(self):
        self.listener.close()


class Rules(unittest.TestCase):
    """What an agent does when the cloud says this or that."""

    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.keys = pathlib.Path(cls.place.name, "keys")
        for command in (["init", cls.keys], ["issue", cls.keys, "py"]):
            subprocess.run([os.environ["TACIT"], "keys", *map(str, command)], check=True, capture_output=True, timeout=PATIENCE)

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def setUp(self):
        self.cloud = ScriptedCloud(self.keys)
        self.addCleanup(self.cloud.close)
        self.state = pathlib.Path(self.place.name, self.id().rsplit(".", 1)[1] + ".json")

    def start(self):
        child = subprocess.Popen([sys.executable, str(PROGRAM), "py", "--cloud", f"127.0.0.1:{self.cloud.port}", "--keys",
                                  str(self.keys / "agents/py"), "--state", str(self.state)], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        self.addCleanup(child.communicate)
        self.addCleanup(child.kill)
        return child

    def enrol(self, next_, epoch=(1, bytes(16)), **more):
        link = self.cloud.meet(epoch)
        self.addCleanup(link.close)
        enrol = link.expect(wire.ENROL)
        link.send(wire.enrolled(enrol.slot, next_, enrol.states, **more))
        return link, enrol

    def expect_end(self, child, code, sentence):
        out, err = child.communicate(timeout=PATIENCE)
        self.assertEqual(child.returncode, code, err)
        self.assertIn(sentence, err)
        return out

    def test_a_run_from_its_first_round_to_its_end(self):
        child, objective, e = self.start(), python_agent.Quadratic(), -30
        link, enrol = self.enrol(1, exponent=e, rounds=3, method=wire.TACIT)
        self.assertEqual((enrol.name, enrol.states, enrol.round, enrol.slater), ("py", 2, 0, wire.YES))
        self.assertEqual(enrol.epoch, wire.NO_EPOCH)
        x = average = objective.start
        for k in (1, 2, 3):
            state = link.expect(wire.STATE)
            self.assertEqual((state.round, state.units), (k, [round(v * 2**-e) for v in x]))
            p, step, shrink = [-3.5 + k, 1.25], 0.3 / k, 0.01
            link.send(wire.answer(0, k, step, shrink, p, flags=wire.CLAMPED if k == 2 else 1 << 15))
            average = [a + (3 / (k + 2)) * (v - a) for a, v in zip(average, x)]
            x = objective.proximal_step(x, p, step, shrink, (0, 0))
            if k == 2:
                link.send(wire.answer(0, k, step, shrink, p))  # twice: taken once
        link.send(wire.end(3, wire.DONE))
        self.assertEqual(link.expect(wire.LEAVE).slot, wire.NO_SLOT)  # so the cloud knows that it was heard
        link.close()
        self.assertEqual(json.loads(self.expect_end(child, 0, "done"))["x"], average)
        again = self.expect_end(self.start(), 0, "this run ended before (run ")  # and needs no cloud
        self.assertEqual(json.loads(again)["x"], average)
        self.assertEqual(self.state.stat().st_mode & 0o777, 0o600)

    def test_a_round_that_was_held_counts_with_the_state_that_the_cloud_had(self):
        child, objective = self.start(), python_agent.Quadratic()
        link, _ = self.enrol(1, exponent=-30, rounds=5, method=wire.TACIT)
        x = average = objective.start
        for k, held in enumerate((False, True, False, True, True), 1):
            self.assertEqual(link.expect(wire.STATE).round, k)
            p, step, shrink = [-3.5 + k, 1.25], 0.3 / k, 0.01
            link.send(wire.answer(0, k, step, shrink, p, flags=wire.HELD if held else 0))
            used = used if held else x
            average = [a + (3 / (k + 2)) * (v - a) for a, v in zip(average, used)]
            x = objective.proximal_step(x, p, step, shrink, (0, 0))
        link.send(wire.end(5, wire.DONE))
        link.expect(wire.LEAVE)
        link.close()
        self.assertEqual(json.loads(self.expect_end(child, 0, "done"))["x"], average)

    def test_it_steps_to_the_minimum_that_the_method_asks_for(self):
        objective, x, p, step, shrink = python_agent.Quadratic(), [1.7, 0.2], [0.9, -0.4], 0.37, 0.05
        found = objective.proximal_step(x, p, step, shrink, (0, 0))

        def value(y):
            return sum(w * (v - c) ** 2 + q * v + shrink / 2 * v * v + (v - o) ** 2 / (2 * step)
                       for w, v, c, q, o in zip(objective.weight, y, objective.wish, p, x))
        for d in (-1e-4, 1e-4):
            self.assertLess(value(found), value([found[0] + d, found[1]]))
            self.assertLess(value(found), value([found[0], found[1] + d]))

    def test_after_kill_9_it_says_the_same_state_again_and_steps_once(self):
        child = self.start()
        link, _ = self.enrol(1)
        link.expect(wire.STATE)
        link.send(wire.answer(0, 1, 0.1, 0, [-4.0, 1 / 3]))
        second = link.expect(wire.STATE)
        child.kill()
        child.wait(PATIENCE)
        child = self.start()
        link, enrol = self.enrol(2)
        self.assertEqual((enrol.round, enrol.epoch), (1, (1, bytes(16))))
        self.assertEqual(link.expect(wire.STATE).raw, second.raw)
        link.close()  # the network fails: it comes back by itself; the cloud has answered meanwhile
        link, enrol = self.enrol(3, epoch=(2, b"B" * 16))
        self.assertEqual(enrol.round, 1)
        link.send(wire.answer(0, 2, 0.1, 0, [-4.0, 1 / 3]))
        third = link.expect(wire.STATE)
        self.assertEqual(third.round, 3)
        self.assertNotEqual(third.units, second.units)
        self.assertEqual(json.loads(self.state.read_text())["epoch"], [2, (b"B" * 16).hex()])

    def test_rounds_that_went_by_without_it(self):
        self.start()
        link, _ = self.enrol(5, exponent=-10)
        link.send(wire.answer(0, 4, 0.1, 0, [-10.0, 0.0]))  # the last of some: it takes that one
        state = link.expect(wire.STATE)
        self.assertEqual(state.round, 5)
        self.assertGreater(state.units[0], 0)
        link.send(wire.note(0, 8, wire.LOST))  # none comes: x stays
        again = link.expect(wire.STATE)
        self.assertEqual((again.round, again.units), (9, state.units))

    def alone(self, start=(0.0, 0.0)):
        """An agent without a connection, welcomed."""
        agent = python_agent.Agent("py", python_agent.Quadratic(), python_agent.StateFile(self.state, "py", list(start)))
        self.addCleanup(os.close, agent.file.locked)
        self.tell(agent, wire.welcome())
        return agent

    @staticmethod
    def tell(agent, data):
        frame, _ = wire.cut(data)
        return agent.hear(frame.type, frame.round, frame.flags, frame.body)

    def test_what_is_not_this_runs_or_out_of_range_is_not_taken(self):
        agent, p = self.alone(), [0.0, 0.0]
        with self.assertRaisesRegex(python_agent.Broken, "out of turn"):
            self.tell(agent, wire.answer(0, 1, 0.1, 0, p))
        first = self.tell(agent, wire.enrolled(0, 1, 2))
        for wrong in (wire.answer(0, 11, 0.1, 0, p), wire.answer(0, 1, 0.1, 0, [float("nan"), 0.0]), wire.answer(0, 1, 0.0, 0, p),
                      wire.answer(0, 1, float("inf"), 0, p), wire.answer(0, 1, 0.1, -1.0, p), wire.answer(0, 1, 0.1, 0, [0.0]),
                      wire.note(0, 11, wire.LOST), wire.note(0, 1, 2), wire.enrolled(0, 1, 2)):
            with self.assertRaises((python_agent.Broken, struct.error)):
                self.tell(agent, wrong)
        for other in ({"rounds": 11}, {"method": wire.TACIT}, {"exponent": 2000}):
            agent.is_enrolled = False
            with self.assertRaisesRegex(python_agent.Broken, "not this run's"):
                self.tell(agent, wire.enrolled(0, 1, 2, **other))
        with self.assertRaisesRegex(python_agent.Over, "not of the same problem"):
            self.tell(agent, wire.enrolled(0, 1, 3))
        self.assertEqual(self.tell(agent, wire.enrolled(0, 1, 2)), first)

    def test_what_it_says_lies_within_the_public_box(self):
        """0.55 / 2^-20 is 576716.8: the nearest point of the lattice is outside."""
        agent = self.alone([0.55, 0.1])
        agent.objective.low, agent.objective.high = [0.1, 0.1], [0.55, 0.55]
        state = self.tell(agent, wire.enrolled(0, 1, 2, exponent=-20))
        self.assertEqual(struct.unpack("<2q", state[24:]), (576716, 104858))

    def test_without_its_file_it_averages_its_own_rounds_and_says_so(self):
        agent, objective, told = self.alone(), python_agent.Quadratic(), io.StringIO()
        with contextlib.redirect_stderr(told):
            self.assertEqual(self.tell(agent, wire.enrolled(0, 5, 2, rounds=6, method=wire.TACIT)), b"")
            x, path = objective.start, []
            for k, flags in ((4, wire.HELD), (5, wire.CLAMPED), (6, wire.CLAMPED)):
                path.append(x)
                self.tell(agent, wire.answer(0, k, 0.3, 0.01, [-3.5 + k, 1.25], flags=flags))
                x = objective.proximal_step(x, [-3.5 + k, 1.25], 0.3, 0.01, (0, 0))
        self.assertEqual(told.getvalue().count("py: began at round 5 of 6 without its state file"), 1, told.getvalue())
        self.assertEqual(told.getvalue().count("py: a state lay outside the public box of the cloud's file"), 1)
        self.assertEqual(agent.file.average, [a + (3 / 4) * (v - a) for a, v in zip(path[1], path[2])])
        self.assertEqual((agent.file.x, agent.kept["unknown"], agent.is_done()), (x, 4, True))
        kept = json.loads(self.state.read_text())
        self.assertEqual((kept["unknown"], kept["answered"]), (4, 6))

    def test_after_the_last_round_there_is_no_answer_without_its_file(self):
        with self.assertRaisesRegex(python_agent.Over, "without this agent's state file there is no result"):
            self.tell(self.alone(), wire.enrolled(0, 7, 2, rounds=6))

    def test_bytes_that_are_no_message_end_the_connection_alone(self):
        self.start()
        link, _ = self.enrol(1)
        link.expect(wire.STATE)
        link.send(wire.Frame(wire.ANSWER, 0, 1, bytes(3)).encode())
        self.assertTrue(link.is_closed())
        link, _ = self.enrol(1)
        link.expect(wire.STATE)

    def test_it_runs_once_at_a_time_and_its_file_is_its_own(self):
        new = pathlib.Path(f"{self.state}.new")
        new.touch()
        new.chmod(0o666)
        self.start()
        link, _ = self.enrol(1)
        link.expect(wire.STATE)
        self.assertEqual(self.state.stat().st_mode & 0o777, 0o600)
        self.expect_end(self.start(), 3, "an agent runs once at a time")

    def test_a_damaged_file_is_refused(self):
        for text in ("", "{}", "[]", '{"sha256": 3, "name": "py", "x": []}'):
            self.state.write_text(text)
            self.expect_end(self.start(), 3, "damaged, or another agent's")

    def test_a_cloud_that_was_rolled_back_gets_no_state(self):
        child = self.start()
        link, _ = self.enrol(1, epoch=(5, b"A" * 16))
        link.expect(wire.STATE)
        link.send(wire.answer(0, 1, 0.1, 0, [0.0, 0.0]))
        link.expect(wire.STATE)
        child.kill()
        child.wait(PATIENCE)
        for epoch in ((4, b"A" * 16), (5, b"B" * 16)):
            with self.subTest(epoch=epoch):
                child = self.start()
                with self.cloud.meet(epoch) as link:
                    self.expect_end(child, 2, "a copy or an old back-up")
        child = self.start()
        self.enrol(1, epoch=(6, b"C" * 16))
        self.expect_end(child, 2, "state 1 is wanted, which was answered")
        child = self.start()
        with self.cloud.meet(run=b"another run     "):
            self.expect_end(child, 2, "another run")

    def test_after_a_refusal_it_stops_or_comes_back(self):
        child = self.start()
        for code in (wire.CROWD, 999):  # it comes back, and after what it does not know too
            with self.cloud.meet() as link:
                link.expect(wire.ENROL)
                link.send(wire.refusal(code, b"not now"))
        with self.cloud.meet() as link:
            link.expect(wire.ENROL)
            link.send(wire.refusal(wire.REPLACED, b"there is another", slot=0))
            self.expect_end(child, 2, "refused (5): there is another")

    def test_pauses_begin_anew_after_a_connection_that_held(self):
        agent = self.alone([0.0, 0.0])
        pauses, lives = [], iter([0, 0, 1.5, 0, None])

        def talk(address, keys):
            life = next(lives)
            if life is None:
                raise python_agent.Over(0, "enough")
            agent.enrolled_at = time.monotonic() - life
            raise python_agent.Broken("lost")
        agent.talk = talk
        with unittest.mock.patch.object(time, "sleep", pauses.append), self.assertRaises(python_agent.Over), \
                contextlib.redirect_stderr(io.StringIO()):
            agent.run(None, None)
        for pause, expected in zip(pauses, (0.2, 0.4, 0.2, 0.4), strict=True):
            self.assertAlmostEqual(pause, expected, delta=expected / 4)

    def test_a_stopped_cloud_is_waited_for(self):
        self.start()
        link, _ = self.enrol(1)
        link.expect(wire.STATE)
        link.send(wire.end(0, wire.STOPPED))
        link, _ = self.enrol(1)
        self.assertEqual(link.expect(wire.STATE).round, 1)

    def test_a_server_that_is_not_its_cloud_is_not_talked_to(self):
        other = pathlib.Path(self.place.name, "other")
        if not other.exists():
            subprocess.run([os.environ["TACIT"], "keys", "init", str(other)], check=True, capture_output=True, timeout=PATIENCE)
        self.cloud.close()
        self.cloud = ScriptedCloud(other)
        self.addCleanup(self.cloud.close)
        self.start()
        plain, _ = self.cloud.listener.accept()
        plain.settimeout(PATIENCE)
        with self.assertRaises(ssl.SSLError):
            stream = self.cloud.context.wrap_socket(plain, server_side=True)
            stream.recv(1)
        plain.close()


PROBLEM = """agent a { state x[2] in [0, 4]; private minimize sumsq(x - [3, 1]); gap 100; slater x = 0.5 }
agent py {
  state x[2] in [0, 4]; private minimize 1.3 * (x[1] - 2.7)^2 + 0.4 * (x[2] - 0.9)^2
  gap 100; slater x = 0.5
}
agents f[i in 1..2] { state x in [0, 3]; private minimize (x - 2)^4 + i * x / 7; gap 100; slater x = 0.5 }
constraint c: a.x[1] + py.x[1] + sum(f: x) <= 5
constraint d: sumsq(a.x - py.x) + exp(py.x[2]) <= 4
privacy { mechanism gaussian; epsilon 1; delta 1e-5; adjacency one 0.1 }
schedule { alpha 0.1 k^-0.3; gamma 0.01 k^-0.52; rounds ROUNDS }
"""


class AmongOthers(unittest.TestCase):
    """With agents in C and the real cloud: all states of all agents, and so the answer, have the bits of one process."""

    def run_with(self, method, rounds, disturb, *options):
        with parties.Parties(PROBLEM.replace("ROUNDS", str(rounds)), options=["--method", method, *options]) as place:
            place.start_cloud(seed=11, trace=False)
            for name in place.names:
                if name != "py":
                    place.start_agent(name, trace=False)
            disturb(place)
            summary = place.finish()
            self.assertEqual(summary["rounds"], rounds + ("--feasible" in options))
            self.assertNotIn("untold", place.cloud.err)
            expected = place.in_process(seed=11)["x"]
            found = {name: result["x"] if name == "py" else result["x"][name] for name, result in place.results().items()}
            self.assertEqual(found, expected)
            return summary

    def test_a_run_that_ends_with_a_move(self):
        def begin(place):
            """First one that speaks version 1 alone, which knows no move."""
            old = place.folder / "old.py"
            old.write_text(PROGRAM.read_text().replace('"<HHH", 1, 2, 6', '"<HHH", 1, 1, 6'))
            first = place.start_python("py", old)
            self.assertEqual(first.wait(), 2)
            self.assertIn("ends with a move", first.err)
            place.start_python("py", PROGRAM)
        summary = self.run_with("tacit", 60, begin, "--margin", "auto:0.99", "--adjacency", "one:1")
        self.assertTrue(summary["margin"]["moves"] and summary["feasibility"]["shown"])
        self.assertGreater(summary["feasibility"]["move"], 0)

    def test_a_run_whose_last_state_is_the_average(self):
        summary = self.run_with("tacit", 60, lambda place: place.start_python("py", PROGRAM), "--feasible", "always")
        self.assertTrue(summary["feasibility"]["certain"] and summary["feasibility"]["shown"])

    def test_gradient_steps(self):
        self.run_with("published", 50, lambda place: place.start_python("py", PROGRAM))

    def test_proximal_steps_through_a_bad_network_and_kill_9(self):
        weather = proxy.Weather(piece=40, reset=0.002, most_resets=2)

        def disturb(place):
            road = proxy.Proxy(place.port, seed=5, weather=weather)
            self.addCleanup(road.close)
            child = place.start_python("py", PROGRAM, port=road.port)
            state = place.states / "py.json"
            place.wait_for(lambda: state.exists() and json.loads(state.read_text())["answered"] > 10, what="round 10")
            child.kill()
            place.start_python("py", PROGRAM, port=road.port)
        self.run_with("tacit", 100, disturb)


if __name__ == "__main__":
    unittest.main()
