#!/usr/bin/env python3
"""An agent in plain Python, written from docs/protocol.md: nothing but the standard library.

    agent.py NAME --cloud HOST:PORT --keys FOLDER --state FILE

NAME is the agent's name in the problem file, FOLDER one that `tacit keys` made for it (authority.pem, identity.pem), FILE
where it remembers what it must not forget. What this agent wants stands in the class below; write your own in its place.

Where its own arithmetic is that of the problem file, so are the bits of all its states: a double in Python is a double in
C, and the operations of a step and their order are part of the protocol."""

import argparse
import hashlib
import json
import math
import os
import pathlib
import random
import socket
import ssl
import struct
import sys
import time


class Quadratic:
    """Minimize the sum of weight (x - wish)^2 in the box [low, high]. In a problem file this agent is
    state x[2] in [0, 4]; private minimize 1.3 * (x[1] - 2.7)^2 + 0.4 * (x[2] - 0.9)^2; slater x = [0.5, 0.5]"""

    weight, wish = [1.3, 0.4], [2.7, 0.9]
    low, high = [0.0, 0.0], [4.0, 4.0]
    start, slater = [0.0, 0.0], [0.5, 0.5]

    def gradient(self, x):
        return [(2 * w) * (v - c) for w, v, c in zip(self.weight, x, self.wish)]

    def project(self, v):
        return [min(h, max(l, u)) for u, l, h in zip(v, self.low, self.high)]

    def gradient_step(self, x, p, step, regularization):
        """Method `published`: x - step (gradient + p + regularization x), projected."""
        slopes = self.gradient(x)
        return self.project([v - step * ((g + q) + regularization * v) for v, g, q in zip(x, slopes, p)])

    def proximal_step(self, x, p, step, regularization):
        """Method `tacit`: argmin of f(y) + p.y + regularization |y|^2 / 2 + |y - x|^2 / (2 step). For a quadratic
        without mixed terms in a box it is one Newton step, with 1 / (curvature + regularization + 1 / step) for step."""
        weight = regularization + 1 / step
        steps = [1 / (2 * w + weight) for w in self.weight]
        slopes = self.gradient(x)
        return self.project([v - s * ((g + q) + regularization * v) for v, s, g, q in zip(x, steps, slopes, p)])

    def slater_holds(self):
        return all(l <= v <= h for l, v, h in zip(self.low, self.slater, self.high))


# ---- frames ----

HEADER = struct.Struct("<IHHIIQ")
NO_SLOT = 0xFFFFFFFF
HELLO, ENROL, STATE, LEAVE, WELCOME, ENROLLED, ANSWER, NOTE, REFUSAL, END = 1, 2, 3, 4, 17, 18, 19, 20, 21, 22
FINAL = {2, 3, 4, 5, 6, 9, 10, 11, 15}  # refusals after which an agent does not come back by itself
NOTES = {1: "the state lay outside the public box and was moved into it", 2: "too late: the last state was used again",
         3: "no answer comes for rounds up to this one"}


def frame(kind, slot=NO_SLOT, round_=0, body=b""):
    return HEADER.pack(len(body), kind, 0, slot, 0, round_) + body


def hello():
    software = b"tacit example/python"
    return frame(HELLO, body=b"tacit\r\n\0" + struct.pack("<HHH", 1, 1, len(software)) + software)


class Broken(Exception):
    """This connection is over; another may be tried."""


class Over(Exception):
    """The agent is done, or must not go on: (exit code, sentence)."""


class Connection:
    def __init__(self, host, port, keys, most_body):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_verify_locations(keys / "authority.pem")
        context.load_cert_chain(keys / "identity.pem")
        context.set_alpn_protocols(["tacit/1"])
        plain = socket.create_connection((host, port), timeout=10)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        try:
            self.stream = context.wrap_socket(plain, server_hostname="cloud.tacit.internal")
        except BaseException:
            plain.close()
            raise
        if self.stream.selected_alpn_protocol() != "tacit/1":
            raise Broken("the other side does not speak tacit/1")
        self.stream.settimeout(None)  # a round may take as long as its slowest agent
        self.most_body = most_body

    def send(self, data):
        self.stream.sendall(data)

    def read(self, count):
        data = bytearray()
        while len(data) < count:
            part = self.stream.recv(count - len(data))
            if not part:
                raise Broken("the cloud has closed the connection")
            data += part
        return bytes(data)

    def receive(self):
        length, kind, flags, slot, zero, round_ = HEADER.unpack(self.read(HEADER.size))
        if flags or zero or round_ >= 1 << 48 or length > max(512, self.most_body):
            raise Broken("bytes that are no frame")
        return kind, slot, round_, self.read(length)

    def close(self):
        self.stream.close()


# ---- what must not be forgotten ----


class Memory:
    """run, plan, the highest epoch that a state was sent to, the last round whose answer was taken, x for the next, and
    the average. Replaced whole, before the state that follows from it is sent."""

    def __init__(self, path, name, start):
        self.path, self.name = pathlib.Path(path), name
        self.run = self.plan = ""
        self.epoch, self.answered, self.x, self.average = (0, "00" * 16), 0, list(start), list(start)
        if self.path.exists():
            kept = json.loads(self.path.read_text())
            digest = kept.pop("sha256")
            if digest != self.digest(kept) or kept["name"] != name or len(kept["x"]) != len(start):
                raise Over(2, f"{path}: damaged, or another agent's")
            self.run, self.plan, self.epoch = kept["run"], kept["plan"], tuple(kept["epoch"])
            self.answered = kept["answered"]
            self.x, self.average = ([float.fromhex(v) for v in kept[key]] for key in ("x", "average"))

    @staticmethod
    def digest(kept):
        return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()

    def save(self):
        kept = {"name": self.name, "run": self.run, "plan": self.plan, "epoch": list(self.epoch), "answered": self.answered,
                "x": [v.hex() for v in self.x], "average": [v.hex() for v in self.average]}
        kept["sha256"] = self.digest(kept)
        new = self.path.with_suffix(".new")
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
            out.write(json.dumps(kept, sort_keys=True))
        os.replace(new, self.path)


# ---- the agent ----


class Agent:
    def __init__(self, objective, memory):
        self.objective, self.memory = objective, memory
        self.has_answers = False  # on this connection: the waits begin anew

    def welcome(self, body):
        version, _, _, run, plan, number, epoch = struct.unpack("<HHI16s32sQ16s", body)
        memory = self.memory
        if version != 1:
            raise Over(1, "the cloud speaks another version")
        if memory.run and (run.hex(), plan.hex()) != (memory.run, memory.plan):
            raise Over(1, "refused (11): this cloud has another run; begin with a new state file to take part in it")
        if number < memory.epoch[0] or (number == memory.epoch[0] and epoch.hex() != memory.epoch[1]):
            raise Over(1, "refused (10): this agent has served a later start of the cloud: a copy or an old back-up")
        self.epoch, memory.run, memory.plan = (number, epoch.hex()), run.hex(), plan.hex()

    def enrol(self):
        memory, name = self.memory, self.memory.name.encode()
        slater = 1 if self.objective.slater_holds() else 2
        body = struct.pack("<IIQ16sH", len(memory.x), slater, memory.epoch[0], bytes.fromhex(memory.epoch[1]), len(name))
        return frame(ENROL, 0, memory.answered, body + name)

    def enrolled(self, next_, body):
        states, self.exponent, self.method, self.rounds = struct.unpack("<IiQQ", body)
        if states != len(self.memory.x):
            raise Over(1, "the cloud's file has another number of states")
        if next_ <= self.memory.answered:
            raise Over(1, f"refused (10): round {next_} is wanted, but round {self.memory.answered} was answered already")
        return next_ == self.memory.answered + 1  # else an answer or a note follows

    def state(self):
        """The frame of the next state; the epoch that gets it is remembered first."""
        memory = self.memory
        if self.epoch != memory.epoch:
            memory.epoch = self.epoch
            memory.save()
        units = [round(v * math.ldexp(1, -self.exponent)) for v in memory.x]  # ties to even
        return frame(STATE, 0, memory.answered + 1, struct.pack(f"<{len(units)}q", *units))

    def answer(self, k, body):
        memory = self.memory
        step, regularization, *p = struct.unpack(f"<{len(memory.x) + 2}d", body)
        if k <= memory.answered:
            return False
        weight = 3 / (k + 2)
        memory.average = [a + weight * (v - a) for a, v in zip(memory.average, memory.x)]
        move = self.objective.gradient_step if self.method == 1 else self.objective.proximal_step
        memory.x = move(memory.x, p, step, regularization)
        if not all(map(math.isfinite, memory.x)):
            raise Over(3, f"round {k}: a step that is not finite")
        return self.went_on(k)

    def went_on(self, k):
        self.memory.answered = k
        self.memory.save()
        self.has_answers = True
        return k < self.rounds

    def result(self):
        return self.memory.x if self.method == 1 else self.memory.average

    def talk(self, connection):
        """Until the run is over or the connection broken."""
        connection.send(hello())
        while True:
            kind, slot, round_, body = connection.receive()
            send = False
            if kind == WELCOME:
                self.welcome(body)
                connection.send(self.enrol())
            elif kind == ENROLLED:
                send = self.enrolled(round_, body) and round_ <= self.rounds
            elif kind == ANSWER:
                send = self.answer(round_, body)
            elif kind == NOTE:
                code = struct.unpack("<H", body)[0]
                print(f"round {round_}: {NOTES.get(code, code)}", file=sys.stderr)
                send = code == 3 and round_ > self.memory.answered and self.went_on(round_)
            elif kind == REFUSAL:
                code, count = struct.unpack_from("<HH", body)
                if code in FINAL:
                    raise Over(1, f"refused ({code}): {body[4:4 + count].decode('ascii')}")
                raise Broken(f"refused ({code}): {body[4:4 + count].decode('ascii')}")
            elif kind == END:
                if body[0] == 2:
                    raise Broken("the cloud stops; it will come back")
                raise Over(0 if body[0] == 1 else 1, "done" if body[0] == 1 else "the run has diverged")
            else:
                raise Broken(f"a message of unknown type {kind}")
            if send:
                connection.send(self.state())


def run(agent, host, port, keys):
    wait = 0.2
    while True:
        agent.has_answers, connection = False, None
        try:
            connection = Connection(host, port, keys, 16 + 8 * len(agent.memory.x))
            agent.talk(connection)
        except (Broken, OSError) as error:  # ssl.SSLError is one
            why = error
        finally:
            if connection is not None:
                connection.close()
        wait = 0.2 if agent.has_answers else wait
        print(f"{why}; again in {wait:.1f} s", file=sys.stderr)
        time.sleep(wait * random.uniform(0.75, 1.25))
        wait = min(2 * wait, 30)


def main():
    options = argparse.ArgumentParser(description="a tacit agent in plain Python")
    options.add_argument("name")
    for option in ("--cloud", "--keys", "--state"):
        options.add_argument(option, required=True)
    given = options.parse_args()
    host, _, port = given.cloud.rpartition(":")
    objective = Quadratic()
    try:
        agent = Agent(objective, Memory(given.state, given.name, objective.project(objective.start)))
        run(agent, host.strip("[]"), int(port), pathlib.Path(given.keys))
    except Over as over:
        code, sentence = over.args
        print(sentence, file=sys.stderr)
        if code == 0:
            print(json.dumps({"agent": given.name, "rounds": agent.memory.answered, "x": agent.result()}))
        return code


if __name__ == "__main__":
    sys.exit(main())
