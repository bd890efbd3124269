"""Holders of a good certificate that say whatever comes to their mind, in any order: they greet, enrol, take over, send,
leave, break off, and do not read. What they may spoil is their own agents' part. These two stand in a corner of their box,
and whatever is said in their names is moved to there: so the run must end with the bits of an undisturbed one, and nobody
else may notice. With TACIT_LONG=1 it goes on for a while; under sanitizers it looks for what is used after its end."""
# labels: not-clang

import contextlib
import os
import random
import socket
import ssl
import struct
import threading
import time
import unittest

import town
import wire
from parties import PATIENCE, Parties

LONG = os.environ.get("TACIT_LONG") == "1"
SECONDS = 60 if LONG else 3
ROUNDS = 3000 if LONG else 300
CORNER = ["a5", "a10"]


class Owner(town.Resident):
    """The honest agents in whose names others speak. Comes back whatever happens, and takes what it hears. The last rounds
    wait until the others are done."""

    may_end = False

    def round(self):
        agent = self.agent
        for slot in range(len(agent.names)):
            agent.send_state(slot)
        last = self.answered
        while agent.ended is None and self.answered == last:
            message = agent.link.receive(2)
            if message.type == wire.REFUSAL and message.code != wire.ROUND:  # its state may be there already
                raise wire.Closed(message.reason)
            if message.type != wire.REFUSAL:
                agent.take(message)

    def run(self):
        while self.agent.ended is None and self.answered < ROUNDS:
            try:
                self.connect()
                while self.agent.ended is None and self.answered < ROUNDS:
                    self.round()
                    time.sleep(self.pace)
                    while self.answered >= ROUNDS - 20 and not self.may_end:
                        time.sleep(0.01)
            except (OSError, wire.Closed, AssertionError) as error:  # refused for a while: another is quicker
                if isinstance(error, AssertionError) and "refused" not in str(error):
                    self.error = error
                    return
                time.sleep(0.1)


class Rival(threading.Thread):
    def __init__(self, port, contexts, owner, seed):
        super().__init__(daemon=True)
        self.port, self.contexts, self.owner, self.chance = port, contexts, owner, random.Random(seed)
        self.is_over, self.open, self.said, self.error = False, [], 0, None

    def run(self):
        try:
            while not self.is_over:
                with contextlib.suppress(OSError, ssl.SSLError):
                    self.visit()
                while len(self.open) > self.chance.randint(0, 12):
                    self.end(self.open.pop(0))
        except Exception as error:
            self.error = error
        for stream in self.open:
            self.end(stream)

    def visit(self):
        stream = wire.connect(self.port, context=self.chance.choice(self.contexts), timeout=2)
        self.open.append(stream)
        stream.settimeout(0.2)
        if self.chance.random() < 0.95:
            stream.sendall(wire.hello())
        for _ in range(self.chance.randint(1, 12)):
            for _ in range(self.chance.choice((1, 1, 1, 30))):
                stream.sendall(self.something())
                self.said += 1
            if self.chance.random() < 0.4:
                with contextlib.suppress(socket.timeout):
                    stream.recv(self.chance.choice((1, 100, 65536)))
            time.sleep(self.chance.choice((0, 0, 0.005, 0.03)))
        if self.chance.random() < 0.1:  # part of a frame, and nothing behind it: that would be a state of other bytes
            stream.sendall(wire.state(0, self.owner.answered + 1, [0, 0])[:self.chance.randint(1, 39)])
            self.open.remove(stream)
            time.sleep(0.02)
            stream.close()

    def end(self, stream):
        with contextlib.suppress(OSError):
            if self.chance.random() < 0.4:
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif self.chance.random() < 0.3:
                stream.sendall(wire.leave())
        stream.close()

    def something(self):
        pick, slot = self.chance.choice, self.chance.choice((0, 0, 0, 1, 1, 2, 9, 65535, 65536, wire.NO_SLOT))
        round_ = max(0, self.owner.answered + pick((-2, -1, 0, 0, 1, 1, 1, 2, 1000)))
        kind = self.chance.randint(0, 19)
        if kind < 5:
            return wire.enrol(pick((0, 0, 1, 2)), pick(CORNER), 2, max(0, self.owner.answered - pick((0, 0, 1, 2))))
        if kind < 8:
            return wire.enrol(slot, pick((*CORNER, *CORNER, *CORNER, "a1", "stranger", "\u00e9")), pick((2, 2, 2, 2, 1, 0)),
                              pick((round_, round_, 0, ROUNDS, ROUNDS + 1, 1 << 40)), pick((1, 1, 1, 1, 0, 2)),
                              pick((wire.NO_EPOCH, wire.NO_EPOCH, (1, b"?" * 16), (1 << 60, b"!" * 16))))
        if kind < 15:
            units = [pick((1 << 40, (1 << 63) - 1)), pick((0, -1, -1 << 63))]
            return wire.state(slot, round_, pick((units, units, units, [], [1], units * 9)))
        if kind < 18:
            return wire.leave(slot if slot != wire.NO_SLOT or self.chance.random() < 0.2 else 0)
        return pick((wire.hello(), self.chance.randbytes(50), wire.Frame(77).encode(), wire.welcome())) \
            if self.chance.random() < 0.1 else b""


class Rivals(unittest.TestCase):
    def test_whatever_they_say_the_others_do_not_notice(self):
        with Parties(town.problem(10), options=town.options(ROUNDS)) as p:
            others = [name for name in p.names if name not in CORNER]
            p.issue(["stranger"])
            corner, site = p.issue(CORNER, together="corner"), p.issue(others, together="site")
            p.start_cloud("--log", "json", "--deadline", "3", seed=town.SEED, trace=False)
            p.start_agent(*others, keys=site, trace=False)
            owner = Owner(p, CORNER, corner, pace=0.01)
            owner.connect()
            for _ in range(3):  # into the corner
                owner.round()
            contexts = [wire.client_context(corner)] * 6 + [wire.client_context(p.key_folders["stranger"])]
            rivals = [Rival(p.port, contexts, owner, seed) for seed in range(3)]
            for thread in (owner, *rivals):
                thread.start()
            end = time.monotonic() + SECONDS
            while p.cloud.is_running() and (sum(rival.said for rival in rivals) <= 100 or
                                            (time.monotonic() < end and owner.answered < ROUNDS - 20)):
                time.sleep(0.05)
            self.assertTrue(p.cloud.is_running(), p.cloud.err[-3000:])
            for rival in rivals:
                rival.is_over = True
            for rival in rivals:
                rival.join(PATIENCE)
                self.assertIsNone(rival.error)
            owner.may_end = True
            self.assertEqual({line["agent"] for line in town.events(p.cloud, "left")} - set(CORNER), set())
            answers = owner.finish()
            town.same_bits(self, p, p.finish(), answers)


if __name__ == "__main__":
    unittest.main()
