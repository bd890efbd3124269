"""The example in docs/protocol.md: its bytes are frames of the protocol, what an agent says in them follows from what it
hears by the rules of the page, and the real cloud says the same today.

    test_protocol.py --example      writes the example anew, from a real run"""

import importlib.util
import os
import pathlib
import re
import struct
import sys
import threading
import unittest

import parties
import wire

SOURCE = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])
PAGE = SOURCE / "docs" / "protocol.md"
OPTIONS = ["--method", "published", "--mechanism", "none", "--insecure-no-noise"]

spec = importlib.util.spec_from_file_location("python_agent", SOURCE / "examples" / "python" / "agent.py")
python_agent = importlib.util.module_from_spec(spec)
spec.loader.exec_module(python_agent)


def example():
    """The last section of the page: problem and frames [(side, bytes)]."""
    text = PAGE.read_text().split("## An example in bytes\n")[1]
    problem = re.search(r"```tacit\n(.*?)```", text, re.DOTALL).group(1)
    frames = []
    for side, block in re.findall(r"^(Agent|Cloud), \w+[^\n]*\n\n```hex\n(.*?)```", text, re.DOTALL | re.MULTILINE):
        frames.append((side, bytes.fromhex(re.sub(r"#.*", "", block))))
    return problem, frames


def record(problem):
    """The same conversation with the real cloud."""
    objective, frames = python_agent.Quadratic(), []
    with parties.Parties(problem, options=OPTIONS) as place:
        place.start_cloud(trace=False)
        other = wire.RawAgent("other", start=0.25)
        other.open(place.port, place.key_folders["other"])
        helper = threading.Thread(target=lambda: (other.enrol(), other.run()), daemon=True)
        helper.start()
        with wire.Link(wire.connect(place.port, place.key_folders["py"])) as link:
            def say(data):
                frames.append(("Agent", data))
                link.send(data)

            def hear(kind):
                message = link.expect(kind)
                frames.append(("Cloud", message.raw))
                return message
            say(wire.hello(software=b"python"))
            hear(wire.WELCOME)
            say(wire.enrol(0, "py", 2, slater=wire.UNASKED))
            enrolled, x = hear(wire.ENROLLED), objective.start
            for k in range(1, enrolled.rounds + 1):
                say(wire.state(0, k, [round(v * 2.0**-enrolled.exponent) for v in x]))
                answer = hear(wire.ANSWER)
                x = objective.gradient_step(x, answer.p, answer.step, answer.regularization)
            hear(wire.END)
            link.send(wire.leave())
        helper.join(10)
        other.close()
        place.cloud.wait()
    return frames


class Example(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.problem, cls.frames = example()
        cls.messages = []
        for side, data in cls.frames:
            frame, taken = wire.cut(data)
            assert frame is not None and taken == len(data), data.hex()
            cls.messages.append((side, wire.decode(frame)))

    def test_every_frame_is_one_of_its_side(self):
        kinds = [message.type for _, message in self.messages]
        self.assertEqual(kinds, [wire.HELLO, wire.WELCOME, wire.ENROL, wire.ENROLLED, wire.STATE, wire.ANSWER, wire.STATE,
                                 wire.ANSWER, wire.END])
        for side, message in self.messages:
            self.assertEqual(side, "Agent" if message.type < 16 else "Cloud")

    def test_what_the_agent_says_follows_from_what_it_hears(self):
        by_kind = {}
        for _, message in self.messages:
            by_kind.setdefault(message.type, []).append(message)
        enrol, enrolled = by_kind[wire.ENROL][0], by_kind[wire.ENROLLED][0]
        self.assertEqual((enrol.name, enrol.states, enrol.epoch), ("py", 2, wire.NO_EPOCH))
        objective = python_agent.Quadratic()
        x = objective.start
        for state, answer in zip(by_kind[wire.STATE], by_kind[wire.ANSWER]):
            self.assertEqual(state.units, [round(v * 2.0**-enrolled.exponent) for v in x])
            x = objective.gradient_step(x, answer.p, answer.step, answer.regularization)
        self.assertNotEqual(answer.p, [0, 0])
        self.assertEqual(by_kind[wire.END][0].round, 2)

    def test_the_real_cloud_says_the_same(self):
        found = record(self.problem)
        self.assertEqual(len(found), len(self.frames))
        for (_, said), (_, written) in zip(found, self.frames):
            if struct.unpack_from("<H", said, 4)[0] == wire.WELCOME:  # ids are random, and the plan's hash is not tested here
                said, written = ([*data[:32], *data[80:88]] for data in (said, written))
            self.assertEqual(said, written)


def hex_lines(data):
    rows = [data[:24], *(data[i:i + 16] for i in range(24, len(data), 16))]
    return "\n".join(row.hex(" ") for row in rows)


def write_example():
    head, text = PAGE.read_text().split("## An example in bytes\n")
    problem = re.search(r"```tacit\n(.*?)```", text, re.DOTALL).group(1)
    out = []
    for side, data in record(problem):
        message = wire.decode(wire.cut(data)[0])
        about = {wire.STATE: "units {units}", wire.ANSWER: "step {step!r}, regularization {regularization!r}, p {p}",
                 wire.ENROLLED: "e = {exponent}, method {method}, {rounds} rounds",
                 wire.WELCOME: "epoch 1", wire.END: "done"}.get(message.type, "").format(**message.fields)
        name = wire.NAMES[message.type] + (f" {message.round}" if message.type in (wire.STATE, wire.ANSWER) else "")
        out.append(f"{side}, {name}{': ' if about else ''}{about}\n\n```hex\n{hex_lines(data)}\n```\n")
    intro = text.split("\nAgent, HELLO")[0]
    PAGE.write_text(head + "## An example in bytes\n" + intro.rstrip("\n") + "\n\n" + "\n".join(out))


if __name__ == "__main__":
    if sys.argv[1:] == ["--example"]:
        write_example()
    else:
        unittest.main()
