"""No private state is in what the cloud writes or shows: journal and its log, operator's log, status, metrics, summary,
trace. Looked for is every state of every round, as a double, as the integer that was sent, and as digits; also of
states that were outside the box, or refused."""

import struct
import unittest

import numpy as np

import town
import wire
from parties import Parties

ROUNDS = 80


class Talker:
    """One agent, driven by hand, that keeps everything private it has ever said."""

    def __init__(self, name, parties):
        self.agent = wire.RawAgent(name, town.STATES, 0.7, move=self.move)
        self.parties, self.name, self.units, self.states = parties, name, set(), set()

    def move(self, name, k, x, message):
        moved = town.move(name, k, x, message)
        return [u + 7.7 + 0.01 * k for u in moved] if k % 10 == 7 else moved  # beyond the box, where the cloud moves it back

    def connect(self):
        self.agent.open(self.parties.port, self.parties.key_folders[self.name])
        self.agent.enrol()

    def say(self, round_=None, units=None):
        units = self.agent.units(self.name) if units is None else units
        self.units.update(units)
        self.agent.send_state(0, round_, units)

    def say_much(self, k):
        """The state of round k, and by the way what the cloud refuses: another round, another length, another state."""
        agent, wrong = self.agent, [17_000_000_011 + 1013 * k, -23_000_000_017 - 1019 * k]
        self.states.update(agent.x[self.name])
        if k % 5 == 1:
            self.say(k + 9, wrong)
        if k % 5 == 2:
            self.say(k, [*wrong, 5_000_000_029 + k])
        self.say()
        if k % 5 == 3:
            self.say(k, wrong)

    def hear(self, k):
        while self.agent.answered[self.name] < k:
            message = self.agent.link.receive(10)
            if message.type != wire.REFUSAL:
                self.agent.take(message)


def patterns(talkers):
    """Those of numbers that are nobody's but an agent's."""
    found = set()
    for talker in talkers:
        found.update(struct.pack("<d", v) for v in talker.states if v not in (town.LOW, town.HIGH))
        for order in "<>":
            found.update(struct.pack(order + "q", u) for u in talker.units if abs(u) > 2**12 and u & 0xffff)
        found.update(struct.pack("<d", u * 2.0**talker.agent.enrolled[0].exponent) for u in talker.units if u & 0xffff)
    return np.array(sorted(int.from_bytes(p, "little") for p in found), dtype=np.uint64)


def digits(talkers):
    texts = {f"{abs(v):.10g}" for talker in talkers for v in talker.states if v not in (town.LOW, town.HIGH)}
    return {text for text in texts if len(text) > 9} | {str(abs(u)) for talker in talkers for u in talker.units if abs(u) > 2**20}


def contains(data, wanted):
    """Whether any eight bytes of the data, at any place, are one of these."""
    for shift in range(min(8, len(data))):
        words = np.frombuffer(data, dtype="<u8", offset=shift, count=(len(data) - shift) // 8)
        words = words[words != 0]
        if np.isin(words, wanted).any():
            return True
    return False


class Leak(unittest.TestCase):
    def test_no_private_state_is_anywhere(self):
        with Parties(town.problem(2), options=town.options(ROUNDS)) as parties:
            talkers = [Talker(name, parties) for name in parties.names]
            shown, files = [], []
            for first, last in ((1, 30), (31, ROUNDS)):
                parties.start_cloud("--log-level", "debug", "--trace", parties.folder / "cloud.csv", trace=False)
                for talker in talkers:
                    talker.connect()
                for k in range(first, last + 1):
                    for talker in talkers:
                        talker.say_much(k)
                    for talker in talkers:
                        talker.hear(k)
                    if k % 10 == 0:
                        shown += [town.page(parties.http_port, page) for page in ("status", "metrics", "healthz", "nothing")]
                if last < ROUNDS:
                    parties.cloud.kill()
                    files += [path.read_bytes() for path in (parties.folder / "journal").iterdir()]
                    shown.append(parties.cloud.err)
            for talker in talkers:
                talker.agent.link.expect(wire.END)
                talker.agent.link.close()
            self.assertEqual(parties.cloud.wait(10), 0, parties.cloud.err)
            files += [path.read_bytes() for path in (parties.folder / "journal").iterdir()]
            shown += [parties.cloud.err, parties.cloud.out, (parties.folder / "cloud.csv").read_text()]
            self.search(talkers, files, shown)

    def search(self, talkers, files, shown):
        wanted = patterns(talkers)
        self.assertGreater(len(wanted), 3 * ROUNDS)
        released = talkers[0].agent.book.answers[talkers[0].name, ROUNDS][16:24]
        self.assertTrue(any(contains(b"x" + data, np.frombuffer(released, dtype="<u8")) for data in files))  # it would be found
        for data in files + [text.encode() for text in shown]:
            self.assertFalse(contains(data, wanted))
        said, everything = digits(talkers), "\n".join(shown)
        self.assertGreater(len(said), 3 * ROUNDS)
        self.assertIn("refused", everything)
        self.assertEqual([text for text in said if text in everything], [])


if __name__ == "__main__":
    unittest.main()
