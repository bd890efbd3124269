#!/usr/bin/env python3
"""An agent in plain Python, written from docs/protocol.md: nothing but the standard library.

    agent.py NAME --cloud HOST:PORT --keys FOLDER --state FILE

NAME is the agent's name in the problem file, FOLDER its folder of `tacit keys`, FILE its state file. The class below says
what this agent wants; write your own in its place.

Exit codes: 0 the run is done, 1 it diverged, 2 the agent or the cloud refused the other, 3 the state file is damaged or
in use. A state file is of one run: give another one for the next run.

Its states have the bits that `tacit agent` has for the same problem: a double in Python is a double in C, and the
operations of a step and their order are part of the protocol."""

import argparse
import fcntl
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
    """Minimize the sum of weight (x - wish)^2 in the box [low, high]. In a problem file this is
    state x[2] in [0, 4]; private minimize 1.3 * (x[1] - 2.7)^2 + 0.4 * (x[2] - 0.9)^2; slater x = 0.5"""

    weight, wish = [1.3, 0.4], [2.7, 0.9]
    low, high = [0.0, 0.0], [4.0, 4.0]
    start, slater = [0.0, 0.0], [0.5, 0.5]

    def gradient(self, x):
        return [(2 * w) * (v - c) for w, v, c in zip(self.weight, x, self.wish)]

    def project(self, v):
        return [l if u < l else h if u > h else u for u, l, h in zip(v, self.low, self.high)]

    def move(self, steps, x, p, regularization):
        """x - step (gradient + p + regularization x), projected."""
        slopes = zip(x, steps, self.gradient(x), p)
        return self.project([v - s * ((g + q) + regularization * v) for v, s, g, q in slopes])

    def gradient_step(self, x, p, step, regularization):  # method `published`
        return self.move([step] * len(x), x, p, regularization)

    def proximal_step(self, x, p, step, regularization, scales):
        """Method `tacit`: argmin of f(y) + p.y + regularization |y|^2 / 2 + sum of (y - x)^2 / (2 step 4^scale), one Newton
        step."""
        weights = [regularization + (1 / step) * 4.0**-s for s in scales]
        return self.move([1 / (2 * w + v) for w, v in zip(self.weight, weights)], x, p, regularization)

    def slater_holds(self):
        return self.project(self.slater) == self.slater


HEADER = struct.Struct("<IHHIIQ")
NO_SLOT = 0xFFFFFFFF
HELLO, ENROL, STATE, LEAVE, WELCOME, ENROLLED, ANSWER, NOTE, REFUSAL, END = 1, 2, 3, 4, 17, 18, 19, 20, 21, 22
CLAMPED, HELD = 1, 2  # flags of ANSWER
FINAL = {2, 3, 4, 5, 6, 9, 10, 11, 15}  # refusals after which an agent does not come back by itself


def frame(kind, slot, round_, body):
    return HEADER.pack(len(body), kind, 0, slot, 0, round_) + body


class Broken(Exception):  # this connection is over; try another
    pass


class Over(Exception):  # the agent is done or must not go on: (exit code, sentence)
    pass


class Connection:
    def __init__(self, address, keys, states):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_verify_locations(keys / "authority.pem")
        context.load_cert_chain(keys / "identity.pem")
        context.set_alpn_protocols(["tacit/1"])
        context.hostname_checks_common_name = False
        plain = socket.create_connection(address, timeout=10)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self.stream = context.wrap_socket(plain, server_hostname="cloud.tacit.internal")
        self.most_body = max(512, 16 + 8 * states)
        if self.stream.selected_alpn_protocol() != "tacit/1":
            raise Broken("the other side does not speak tacit/1")

    def read(self, count):
        data = b""
        while len(data) < count:
            part = self.stream.recv(count - len(data))
            if not part:
                raise Broken("the cloud has closed the connection")
            data += part
        return data

    def leave(self):
        """Tells the cloud that all was read: LEAVE, then TLS's close_notify."""
        try:
            self.stream.settimeout(2)
            self.stream.sendall(frame(LEAVE, NO_SLOT, 0, b""))
            self.stream.settimeout(0.2)  # the cloud's own close_notify does not matter
            self.stream.unwrap()
        except OSError:
            pass

    def receive(self):
        length, kind, flags, slot, zero, round_ = HEADER.unpack(self.read(HEADER.size))
        if (flags and kind != ANSWER) or zero or round_ >= 1 << 48 or length > self.most_body:
            raise Broken("bytes that are no frame")
        return kind, round_, flags, self.read(length)


class StateFile:
    """What the agent goes on from: the run, the highest epoch to which a state was sent, the last round whose answer was used,
    the next x, the average, and the rounds before it began. The file is replaced as a whole before the next state is sent."""

    def __init__(self, path, name, start):
        self.path = pathlib.Path(path)
        self.lock()
        self.kept = {"name": name, "run": None, "epoch": [0, bytes(16).hex()], "answered": 0, "rounds": 0, "method": 0,
                     "unknown": 0}
        self.x, self.average = list(start), list(start)
        self.used = None  # what the cloud used in the last round; not saved
        if self.path.exists():
            try:
                kept = json.loads(self.path.read_text())
                good = kept.pop("sha256") == self.digest(kept) and kept["name"] == name and len(kept["x"]) == len(start)
            except (ValueError, KeyError, TypeError):
                good = False
            if not good:
                raise Over(3, f"{path}: damaged, or another agent's")
            self.x, self.average = ([float.fromhex(v) for v in kept.pop(key)] for key in ("x", "average"))
            self.kept = {"unknown": 0, **kept}

    def lock(self):
        """An agent runs once at a time. A lock file, since every save replaces the state file."""
        self.locked = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self.locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Over(3, f"another process has {self.path}: an agent runs once at a time") from None

    @staticmethod
    def digest(kept):
        return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()

    def save(self):
        kept = {**self.kept, "x": [v.hex() for v in self.x], "average": [v.hex() for v in self.average]}
        new = pathlib.Path(f"{self.path}.new")
        new.unlink(missing_ok=True)  # another user might have made it, and read it
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.write(json.dumps({**kept, "sha256": self.digest(kept)}))
        os.replace(new, self.path)


class Agent:
    def __init__(self, name, objective, file):
        self.name, self.objective, self.file, self.kept, self.tries = name.encode(), objective, file, file.kept, 0
        self.is_enrolled, self.enrolled_at = False, math.inf  # on this connection
        self.warned = set()

    def warn(self, kind, sentence):
        if kind not in self.warned:
            print(f"{self.name.decode()}: {sentence}", file=sys.stderr)
        self.warned.add(kind)

    def is_done(self):
        return 0 < self.kept["rounds"] == self.kept["answered"]

    def welcome(self, body):
        version, _, _, run, number, epoch = struct.unpack("<HHI48sQ16s", body)  # run: id and plan
        before, before_id = self.kept["epoch"]
        if version not in (1, 2) or self.kept["run"] not in (None, run.hex()):
            raise Over(2, "this cloud has another run; with a new state file the agent takes part in it")
        if number < before or (number == before and epoch.hex() != before_id):
            raise Over(2, "this agent has served a later start of the cloud, which is a copy or an old back-up")
        self.version, self.epoch, self.kept["run"] = version, [number, epoch.hex()], run.hex()

    def enrol(self):
        number, epoch = self.kept["epoch"]
        slater = 1 if self.objective.slater_holds() else 2
        body = struct.pack("<IIQ16sH", len(self.file.x), slater, number, bytes.fromhex(epoch), len(self.name))
        return frame(ENROL, 0, self.kept["answered"], body + self.name)

    def enrolled(self, next_, body):
        states, self.exponent, method, rounds = struct.unpack_from("<IiQQ", body)
        self.scales = struct.unpack(f"<{len(body) - 24}b", body[24:]) or (0,) * states  # of version 2, where some are not 0
        if states != len(self.file.x):
            raise Over(2, f"the cloud's file has {states} states for this agent: the files are not of the same problem")
        if len(self.scales) != states or not all(-40 <= s <= 0 for s in self.scales):
            raise Broken("scales that are none")
        if self.is_enrolled or method not in ((1, 2) if self.version == 1 else (1, 2, 3, 4)) or not 1 <= next_ <= rounds + 1 or not -1074 <= self.exponent <= 1023 or (
                self.kept["rounds"] and (method, rounds) != (self.kept["method"], self.kept["rounds"])):
            raise Broken("an enrolment that is not this run's")
        self.kept["method"], self.kept["rounds"], self.is_enrolled = method, rounds, True
        self.enrolled_at = time.monotonic()
        if next_ <= self.kept["answered"]:
            raise Over(2, f"state {next_} is wanted, which was answered: the cloud was restored from a back-up")
        if self.kept["answered"] == self.kept["epoch"][0] == 0:  # no state was sent with this file
            self.begin_without_file(next_, rounds)
        return next_ == self.kept["answered"] + 1  # otherwise an answer or a note follows

    def begin_without_file(self, first, rounds):
        """Rounds before the first used states of this agent that are not known here."""
        if first > rounds:
            raise Over(2, "the run is over, and without this agent's state file there is no result to take")
        self.kept["unknown"] = first - 1
        if first > 1:
            self.warn("beginning", f"began at round {first} of {rounds} without its state file: the result is of rounds "
                      f"{first} to {rounds} only; was its state file lost, or another one given?")

    def state(self):
        """The next state. Saves the epoch that gets it first."""
        if self.epoch != self.kept["epoch"]:
            self.kept["epoch"] = self.epoch
            self.file.save()
        if self.kept["method"] == 4 and self.kept["answered"] + 1 == self.kept["rounds"] and self.kept["unknown"] > 0:
            raise Over(2, f"what the cloud used of this agent up to round {self.kept['unknown']} is not known here, so there is no "
                       "average of all rounds to send")
        per_unit = math.ldexp(1, -self.exponent)
        # Ties to even, within the public box.
        units = [min(max(round(v * per_unit), math.ceil(l * per_unit)), math.floor(u * per_unit))
                 for v, l, u in zip(self.file.x, self.objective.low, self.objective.high)]
        return frame(STATE, 0, self.kept["answered"] + 1, struct.pack(f"<{len(units)}q", *units))

    def answer(self, k, flags, body):
        file, unknown, held = self.file, self.kept["unknown"], bool(flags & HELD)
        if flags & CLAMPED:
            self.warn("box", "a state lay outside the public box of the cloud's file or its public set: those here seem to be others")
        step, regularization, *p = numbers = struct.unpack(f"<{len(file.x) + 2}d", body)
        sends_average = self.kept["method"] == 4
        is_move = self.kept["method"] in (3, 4) and k == self.kept["rounds"]
        in_range = 0 <= step <= 1 and regularization == 0 if is_move else step > 0 and regularization >= 0
        if not (all(map(math.isfinite, numbers)) and in_range):
            raise Broken("an answer with numbers out of range")
        if is_move and sends_average and max(unknown, k - 1 - self.kept["answered"]) > 0:
            raise Over(2, "the last answer is about an average that was sent and is no longer known here: there is no result to take")
        if is_move and p != self.objective.slater:
            raise Over(2, "the cloud moves the result to a point that is not this agent's Slater point")
        if sends_average and k > self.kept["answered"] + 1 and k > unknown:  # rounds that are not known here: no average of all
            unknown = self.kept["unknown"] = k
        if k > unknown and (file.used is None or not held or k > self.kept["answered"] + 1):
            file.used = file.x
        for j in range(max(self.kept["answered"] + 1, unknown + 1, k - 1000), k + (not (is_move and sends_average))):
            file.average = [a + (3 / (j - unknown + 2)) * (v - a) for a, v in zip(file.average, file.used)]
        if is_move:  # step is t, p the Slater point; there is no step
            file.x = file.average = [a + step * (q - a) if step < 1 else q for a, q in zip(file.average, p)]
            return
        if sends_average and k + 1 == self.kept["rounds"] and k > unknown:  # the last state is the average; there is no step
            file.x = list(file.average)
            return
        if self.kept["method"] == 1:
            file.x = self.objective.gradient_step(file.x, p, step, regularization)
        else:
            file.x = self.objective.proximal_step(file.x, p, step, regularization, self.scales)
        if not all(map(math.isfinite, file.x)):
            raise Over(1, f"round {k}: a step that is not finite")
        if k <= unknown:  # the average begins with the next state
            file.average = file.x

    def hear(self, kind, k, flags, body):
        """Returns what to send, or nothing."""
        if kind == WELCOME:
            self.welcome(body)
            return self.enrol()
        if kind == ENROLLED:
            return self.state() if self.enrolled(k, body) and not self.is_done() else b""
        if kind == ANSWER or (kind == NOTE and body == b"\1\0"):  # or no answer comes any more
            if not self.is_enrolled or not 1 <= k <= self.kept["rounds"]:
                raise Broken("an answer out of turn, or of a round that the run does not have")
            if k <= self.kept["answered"]:
                return b""
            if kind == ANSWER:
                self.answer(k, flags, body)
            elif self.kept["method"] == 4:  # what the cloud used in these rounds is not known here
                self.kept["unknown"] = max(self.kept["unknown"], k)
            self.kept["answered"], self.tries = k, 0
            self.file.save()
            return b"" if self.is_done() else self.state()
        if kind == REFUSAL:
            code, count = struct.unpack_from("<HH", body)
            sentence = f"refused ({code}): {body[4:4 + count].decode('ascii')}"
            raise Over(2, sentence) if code in FINAL and not self.is_done() else Broken(sentence)
        if kind == END and body != b"\2":
            if body == b"\3":
                raise Over(1, "the run has diverged")
            raise Over(0, "done") if self.is_done() else Over(2, "the run ended before this agent's last round")
        raise Broken("the cloud stops" if kind == END else f"a message of unknown type {kind}")

    def talk(self, address, keys):
        """Until the run is over or the connection broken."""
        self.is_enrolled, self.enrolled_at = False, math.inf
        connection = Connection(address, keys, len(self.file.x))
        said = b"tacit\r\n\0" + struct.pack("<HHH", 1, 2, 6) + b"python"
        with connection.stream:
            connection.stream.sendall(frame(HELLO, NO_SLOT, 0, said))
            try:
                while True:
                    said = connection.receive()
                    connection.stream.settimeout(None)  # a round takes as long as its slowest agent
                    connection.stream.sendall(self.hear(*said))
            except Over:
                connection.leave()
                raise

    def run(self, address, keys):
        if self.is_done():
            run = self.kept["run"][:32]
            raise Over(0, f"this run ended before (run {run}, state file {self.file.path}); the cloud was not asked")
        while True:
            try:
                self.talk(address, keys)
            except (Broken, OSError, struct.error) as error:  # ssl.SSLError is an OSError; a body of another length
                why = error
            if self.is_done():
                raise Over(0, "done")
            if time.monotonic() - self.enrolled_at >= 1:  # it lasted: the next pause is short again
                self.tries = 0
            pause = min(0.2 * 2**self.tries, 30) * random.uniform(0.75, 1.25)
            self.tries = min(self.tries + 1, 10)
            print(f"{why}; again in {pause:.1f} s", file=sys.stderr)
            time.sleep(pause)


def main():
    options = argparse.ArgumentParser(description="a tacit agent in plain Python")
    options.add_argument("name")
    for option in ("--cloud", "--keys", "--state"):
        options.add_argument(option, required=True)
    given = options.parse_args()
    (host, _, port), objective = given.cloud.rpartition(":"), Quadratic()
    try:
        file = StateFile(given.state, given.name, objective.project(objective.start))
        Agent(given.name, objective, file).run((host.strip("[]"), int(port)), pathlib.Path(given.keys))
    except Over as over:
        code, sentence = over.args
        print(sentence, file=sys.stderr)
        if code == 0:
            result = file.x if file.kept["method"] == 1 else file.average
            print(json.dumps({"agent": given.name, "rounds": file.kept["answered"] - file.kept["unknown"],
                              "first_round": file.kept["unknown"] + 1, "x": result}))
        return code


if __name__ == "__main__":
    sys.exit(main())
