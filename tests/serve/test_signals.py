"""Signals at any moment: SIGTERM ends a cloud and an agent as docs/operations.md says, whatever they are doing, and the run
goes on afterwards to the bits that it has in one process; a storm of SIGHUP is a few readings of the keys."""

import fcntl
import json
import os
import random
import signal
import socket
import struct
import subprocess
import time
import unittest

import recorders
import town
import wire
from parties import PATIENCE, TACIT, Parties, Process

LONG = os.environ.get("TACIT_LONG") == "1"
SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ, which Python 3.11 does not name everywhere


class Moments(unittest.TestCase):
    def test_sigterm_at_random_moments(self):
        """In the start, while agents shake hands and enrol, between rounds, at the end: exit 0 and a summary, or, before the
        program has begun to serve, the signal's own end."""
        rng, ends = random.Random(15), []
        with Parties(town.problem(3), options=town.options(2000)) as p:
            p.start_cloud("--log", "json", seed=town.SEED, trace=False)
            port = p.port
            p.cloud.stop()
            p.start_agents(trace=False)
            for i in range(60 if LONG else 15):
                cloud = p.start_cloud("--log", "json", "--listen", f"127.0.0.1:{port}", seed=town.SEED, trace=False, ready=None)
                if i % 2 == 0:  # on a slow machine the others may all come before it serves
                    town.await_event(cloud, "started")
                if i % 3 == 2:  # an agent too
                    time.sleep(rng.uniform(0, 0.1))
                    agent = p.start_agent(rng.choice(list(p.names)), trace=False)  # the first one has the state file: this one is refused
                    agent.signal(signal.SIGTERM)
                    self.assertIn(agent.wait(), (0, 3, -signal.SIGTERM), agent.err)
                time.sleep(rng.choice([rng.uniform(0, 0.05), rng.uniform(0, 0.3), rng.uniform(0, 1)]))
                for _ in range(rng.choice([1, 1, 1, 2])):
                    cloud.signal(signal.SIGTERM)
                code = cloud.wait()
                if code == -signal.SIGTERM and not town.events(cloud, "started"):
                    ends.append("before")
                    continue
                self.assertEqual(code, 0, cloud.err[-2000:])
                ends.append(cloud.json()["outcome"])
                kind = "stopped" if ends[-1] == "stopped" else "done"
                self.assertTrue(town.events(cloud, kind), cloud.err[-2000:])
                if ends[-1] == "done":
                    break
            self.assertTrue({"stopped", "done"} & set(ends), ends)
            for name in p.names:  # those that ended because another had their file
                if not p.agents[name].is_running():
                    p.start_agent(name, trace=False)
            p.start_cloud("--log", "json", "--listen", f"127.0.0.1:{port}", seed=town.SEED, trace=False, ready=None)
            self.assertEqual(p.cloud.wait(), 0, p.cloud.err[-2000:])
            alone = p.in_process(seed=town.SEED)
            self.assertEqual(p.cloud.json()["answer"], alone["mu"])

    def stuck(self, arguments, is_over, log):
        """A program whose output nobody reads, at its end; SIGTERM comes then, and what it has to say is whole."""
        reader, writer = os.pipe()
        fcntl.fcntl(writer, SET_PIPE_SIZE, 4096)
        os.set_blocking(writer, False)
        filled = 0
        while True:
            try:
                filled += os.write(writer, b" " * 4096)
            except BlockingIOError:
                break
        os.set_blocking(writer, True)
        with open(log, "wb") as errors:
            child = subprocess.Popen(list(map(str, arguments)), stdin=subprocess.DEVNULL, stdout=writer, stderr=errors)
        os.close(writer)
        try:
            Parties.wait_for(is_over, what="the end")
            time.sleep(0.5)  # until it writes
            self.assertIsNone(child.poll())
            child.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            self.assertIsNone(child.poll())
            with os.fdopen(reader, "rb") as output:
                said = output.read()[filled:]
            self.assertEqual(child.wait(PATIENCE), 0)
            return json.loads(said)
        finally:
            if child.poll() is None:
                child.kill()
            child.wait(PATIENCE)

    def test_sigterm_while_the_last_words_are_written(self):
        with Parties(town.problem(2), options=town.options(5)) as p:
            p.start_cloud("--log", "json", seed=town.SEED, trace=False)
            p.start_agent("a1", trace=False)
            p.states.mkdir(mode=0o700, exist_ok=True)
            agent = [TACIT, "agent", p.names["a2"], "--cloud", f"127.0.0.1:{p.port}", "--keys", p.key_folders["a2"], "--state",
                     p.states / "a2", "--json"]
            log = p.folder / "stuck.log"
            self.assertEqual(self.stuck(agent, lambda: not p.cloud.is_running(), log)["outcome"], "done")
            found = self.stuck(p.cloud.arguments, lambda: '"all-told"' in log.read_text(), log)
            self.assertEqual((found["outcome"], found["was_over"]), ("done", True))

    def test_a_storm_of_sighup_is_a_few_readings(self):
        """And none is lost: the keys of the last one are in force in the end."""
        with Parties(town.problem(2), options=town.options(5)) as p:
            p.start_cloud("--log", "json", seed=town.SEED, trace=False)
            began = time.monotonic()
            for _ in range(300):
                p.cloud.signal(signal.SIGHUP)
                time.sleep(0.002)
            p.tacit("keys", "renew", p.keys, "--all")
            p.cloud.signal(signal.SIGHUP)
            town.await_event(p.cloud, "reloaded")
            renewed = subprocess.run(["openssl", "x509", "-in", p.keys / "cloud/identity.pem", "-noout", "-serial"],
                                     capture_output=True, text=True, check=True, timeout=PATIENCE).stdout.strip().split("=")[1]

            def is_in_force():
                with wire.connect(p.port, context=wire.client_context(p.key_folders["a1"])) as stream:
                    return stream.getpeercert()["serialNumber"] == renewed
            Parties.wait_for(is_in_force, what="the new certificate")
            passed = time.monotonic() - began
            self.assertLessEqual(len(town.events(p.cloud, "reloaded")), passed + 2)

    def test_an_agent_takes_up_its_new_keys_on_sighup(self):
        """And keeps its connection where they cannot be used."""
        with Parties(town.problem(2), options=town.options(5)) as p:
            p.start_cloud("--log", "json", seed=town.SEED, trace=False)
            agent, keys = p.start_agent("a1", trace=False), p.key_folders["a1"] / "identity.pem"
            town.await_event(p.cloud, "enrolled")
            good = keys.read_text()
            keys.write_text("no key")
            agent.signal(signal.SIGHUP)
            Parties.wait_for(lambda: "the new keys cannot be used, and the old ones stay in use: " in agent.err,
                             what="a word of the keys")
            keys.write_text((p.key_folders["a2"] / "identity.pem").read_text())
            agent.signal(signal.SIGHUP)
            Parties.wait_for(lambda: "does not name a1" in agent.err, what="a word of another's certificate")
            self.assertEqual(town.events(p.cloud, "left"), [])
            keys.write_text(good)
            p.tacit("keys", "renew", p.keys, "a1", "--all")
            self.assertNotEqual(keys.read_text(), good)
            for _ in range(50):
                agent.signal(signal.SIGHUP)
            town.await_event(p.cloud, "enrolled", more_than=1)
            town.await_event(p.cloud, "left")
            p.start_agent("a2", trace=False)
            town.same_bits(self, p, p.finish())

    def test_sighup_in_the_start_ends_nothing(self):
        with Parties(town.problem(2), options=town.options(5)) as p:
            for pause in (0.02, 0.05, 0.1, 0.2):
                cloud = p.start_cloud("--log", "json", seed=town.SEED, trace=False, ready=None)
                Parties.wait_for(lambda: town.events(cloud, "listening") or time.sleep(pause) or True)
                if town.events(cloud):  # it serves: before that a hang-up is one of any program
                    cloud.signal(signal.SIGHUP)
                    time.sleep(0.05)
                    self.assertTrue(cloud.is_running(), cloud.err)
                self.assertIn(cloud.stop(), (0, -signal.SIGTERM))


class Limits(unittest.TestCase):
    def test_few_descriptors_are_exit_3_and_a_message(self):
        """With fewer than four no program of this system starts."""
        with Parties(town.problem(1), options=town.options(5)) as p:
            ends, limited = {"cloud": set(), "agent": set()}, p.folder / "limited"
            limited.touch(0o700)
            commands = {
                "cloud": ["serve", p.parts / "cloud.tacit", *p.options, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0",
                          "--keys", p.keys / "cloud", "--state"],
                "agent": ["agent", p.names["a1"], "--cloud", "127.0.0.1:9", "--keys", p.key_folders["a1"], "--state"]}
            for most in range(4, 16):
                limited.write_text(f'#!/bin/sh\nulimit -n {most}\nexec "{os.path.abspath(TACIT)}" "$@"\n')
                for name, command in commands.items():
                    party = Process(f"{name}.{most}", p.folder, [limited, *command, p.folder / f"{name}.{most}"])
                    p.others.append(party)
                    Parties.wait_for(lambda: not party.is_running() or "listening" in party.err or "trying again" in party.err,
                                     what=f"an end or a start with {most} descriptors")
                    code = party.stop()
                    self.assertIn(code, (0, 3), f"{name}, {most} descriptors: {party.err}")
                    self.assertTrue(code == 0 or "Too many open files" in party.err or "cannot be opened" in party.err,
                                    party.err)
                    ends[name].add(code)
            self.assertEqual(ends, {"cloud": {0, 3}, "agent": {0, 3}})


class Reasons(unittest.TestCase):
    def test_why_a_connection_ended_is_what_happened(self):
        with Parties(town.problem(2), options=town.options(5)) as p:
            p.start_cloud("--log", "json", "--log-level", "debug", seed=town.SEED, trace=False)
            keys = p.key_folders["a1"]

            def greeted():
                link = wire.Link(wire.connect(p.port, keys))
                link.send(wire.hello())
                link.expect(wire.WELCOME)
                return link
            # The network resets it: after the greeting, and in the handshake.
            link = greeted()
            link.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            link.close()
            town.await_event(p.cloud, "connection-failed", why="Connection reset by peer", certificate="a1")
            with socket.create_connection(("127.0.0.1", p.port)) as stream:
                stream.sendall(b"\x16\x03\x01\x02\x00\x01")
                Parties.wait_for(lambda: 'tacit_connections{state="shaking"} 1\n' in town.page(p.http_port, "metrics"),
                                 what="a handshake")
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            town.await_event(p.cloud, "connection-failed", why="Connection reset by peer", certificate=None)
            # It says no more, and nothing that could be a handshake.
            with socket.create_connection(("127.0.0.1", p.port)):
                pass
            town.await_event(p.cloud, "connection-ended", end="left", why="it said nothing")
            # It leaves when it has heard which run this is.
            greeted().close()
            town.await_event(p.cloud, "turned-away", certificate="a1")


if __name__ == "__main__":
    unittest.main()
