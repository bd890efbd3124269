"""The wire protocol (docs/protocol.md) for tests: every frame's encoder and decoder, connections with a folder of keys,
and an agent that does what a script tells it and remembers the bytes of every answer. Independent of the C code."""

import contextlib
import pathlib
import socket
import ssl
import struct
import threading
import time
from dataclasses import dataclass, field

HEADER = struct.Struct("<IHHIIQ")  # length, type, flags, slot, zero, round
NO_SLOT = 0xFFFFFFFF
MOST_BODY = 16 << 20
MAGIC = b"tacit\r\n\0"
NO_EPOCH = (0, bytes(16))
PATIENCE = 300  # seconds: ends a test that hangs, and decides nothing else

HELLO, ENROL, STATE, LEAVE = 1, 2, 3, 4
WELCOME, ENROLLED, ANSWER, NOTE, REFUSAL, END = 17, 18, 19, 20, 21, 22
NAMES = {HELLO: "HELLO", ENROL: "ENROL", STATE: "STATE", LEAVE: "LEAVE", WELCOME: "WELCOME", ENROLLED: "ENROLLED",
         ANSWER: "ANSWER", NOTE: "NOTE", REFUSAL: "REFUSAL", END: "END"}

PUBLISHED, TACIT, MOVED, CERTAIN = 1, 2, 3, 4
CLAMPED, HELD = 1, 2  # flags of ANSWER
LOST = 1  # of NOTE
DONE, STOPPED, DIVERGED = 1, 2, 3
UNASKED, YES, NO = 0, 1, 2
(BAD_FRAME, VERSION, UNKNOWN, IDENTITY, REPLACED, STATES, ROUND, SLOT, SLATER, ROLLBACK, RUN, CROWD, SLOW, TURN,
 OVER) = range(1, 16)


class Closed(Exception):
    """The connection has ended."""


class Malformed(Exception):
    """Bytes that are no frame of this protocol."""


# ---- frames ----


@dataclass
class Frame:
    type: int
    slot: int = NO_SLOT
    round: int = 0
    body: bytes = b""
    flags: int = 0

    def encode(self, flags=None, zero=0, length=None):
        length = len(self.body) if length is None else length
        flags = self.flags if flags is None else flags
        return HEADER.pack(length, self.type, flags, self.slot, zero, self.round) + self.body


def cut(data):
    """The first frame of these bytes and how many it takes; (None, 0) where it is not whole yet."""
    if len(data) < HEADER.size:
        return None, 0
    length, kind, flags, slot, zero, round_ = HEADER.unpack_from(data)
    if (flags and kind != ANSWER) or zero or length > MOST_BODY or round_ >= 1 << 48:
        raise Malformed(data[:HEADER.size].hex())
    end = HEADER.size + length
    if len(data) < end:
        return None, 0
    return Frame(kind, slot, round_, bytes(data[HEADER.size:end]), flags), end


# ---- agent to cloud ----


def hello(lowest=1, highest=1, software=b"test", magic=MAGIC):
    return Frame(HELLO, body=magic + struct.pack("<HHH", lowest, highest, len(software)) + software).encode()


def enrol(slot, name, states, answered=0, slater=YES, epoch=NO_EPOCH):
    name = name if isinstance(name, bytes) else name.encode()
    body = struct.pack("<IIQ16sH", states, slater, epoch[0], epoch[1], len(name)) + name
    return Frame(ENROL, slot, answered, body).encode()


def state(slot, round_, units):
    return Frame(STATE, slot, round_, struct.pack(f"<{len(units)}q", *units)).encode()


def leave(slot=NO_SLOT):
    return Frame(LEAVE, slot).encode()


# ---- cloud to agent ----


def welcome(run=bytes(16), plan=bytes(32), epoch=(1, bytes(16)), version=1, most_body=512):
    return Frame(WELCOME, body=struct.pack("<HHI16s32sQ16s", version, 0, most_body, run, plan, *epoch)).encode()


def enrolled(slot, next_, states, exponent=-20, method=PUBLISHED, rounds=10):
    return Frame(ENROLLED, slot, next_, struct.pack("<IiQQ", states, exponent, method, rounds)).encode()


def answer(slot, round_, step, regularization, p, flags=0):
    return Frame(ANSWER, slot, round_, struct.pack(f"<{2 + len(p)}d", step, regularization, *p)).encode(flags)


def note(slot, round_, code):
    return Frame(NOTE, slot, round_, struct.pack("<H", code)).encode()


def refusal(code, reason=b"", slot=NO_SLOT, round_=0):
    return Frame(REFUSAL, slot, round_, struct.pack("<HH", code, len(reason)) + reason).encode()


def end(round_, reason):
    return Frame(END, round=round_, body=struct.pack("<B", reason)).encode()


# ---- all of them ----


@dataclass
class Message:
    """A frame with its fields by name."""
    type: int
    slot: int
    round: int
    fields: dict
    raw: bytes = b""
    flags: int = 0

    def __getattr__(self, name):
        try:
            return self.__dict__["fields"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __repr__(self):
        return f"{NAMES.get(self.type, self.type)}(slot={self.slot:#x}, round={self.round}, {self.fields})"


def decode(frame):
    """Any message of either side. Malformed where a rule is broken."""
    try:
        fields = DECODERS[frame.type](frame.body)
    except (KeyError, struct.error, UnicodeDecodeError) as error:
        raise Malformed(f"{NAMES.get(frame.type, frame.type)}: {error}") from None
    return Message(frame.type, frame.slot, frame.round, fields, frame.encode(), frame.flags)


def _exactly(body, size):
    if len(body) != size:
        raise Malformed(f"{len(body)} bytes for {size}")


def _hello(body):
    magic, low, high, count = struct.unpack_from("<8sHHH", body)
    _exactly(body, 14 + count)
    if magic != MAGIC:
        raise Malformed("magic")
    return {"lowest": low, "highest": high, "software": body[14:].decode("ascii")}


def _enrol(body):
    states, slater, number, name_of, count = struct.unpack_from("<IIQ16sH", body)
    _exactly(body, 34 + count)
    return {"states": states, "slater": slater, "epoch": (number, name_of), "name": body[34:].decode()}


def _state(body):
    return {"units": list(struct.unpack(f"<{len(body) // 8}q", body))}


def _welcome(body):
    version, zero, most, run, plan, number, name_of = struct.unpack("<HHI16s32sQ16s", body)
    if zero or not number:
        raise Malformed("welcome")
    return {"version": version, "most_body": most, "run": run, "plan": plan, "epoch": (number, name_of)}


def _enrolled(body):
    states, exponent, method, rounds = struct.unpack("<IiQQ", body)
    if method not in (PUBLISHED, TACIT, MOVED, CERTAIN):
        raise Malformed("method")
    return {"states": states, "exponent": exponent, "method": method, "rounds": rounds}


def _answer(body):
    step, regularization, *p = struct.unpack(f"<{len(body) // 8}d", body)
    return {"step": step, "regularization": regularization, "p": p}


def _note(body):
    return {"code": struct.unpack("<H", body)[0]}


def _refusal(body):
    code, count = struct.unpack_from("<HH", body)
    _exactly(body, 4 + count)
    return {"code": code, "reason": body[4:].decode("ascii")}


def _end(body):
    return {"reason": struct.unpack("<B", body)[0]}


def _leave(body):
    _exactly(body, 0)
    return {}


DECODERS = {HELLO: _hello, ENROL: _enrol, STATE: _state, LEAVE: _leave, WELCOME: _welcome, ENROLLED: _enrolled,
            ANSWER: _answer, NOTE: _note, REFUSAL: _refusal, END: _end}


# ---- connections ----


def client_context(keys):
    """TLS as an agent speaks it, with a folder that has authority.pem and identity.pem."""
    keys = pathlib.Path(keys)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_verify_locations(keys / "authority.pem")
    context.load_cert_chain(keys / "identity.pem")
    context.set_alpn_protocols(["tacit/1"])
    return context


def connect(port, keys=None, host="127.0.0.1", timeout=PATIENCE, context=None):
    """A socket to the cloud: TLS with the keys, plain without any."""
    plain = socket.create_connection((host, port), timeout=timeout)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if keys is None and context is None:
        return plain
    try:
        return (context or client_context(keys)).wrap_socket(plain, server_hostname="cloud.tacit.internal")
    except BaseException:
        plain.close()
        raise


class Link:
    """Messages on a socket. Every wait ends: Closed, or socket.timeout."""

    def __init__(self, stream):
        self.stream, self.pending, self.log = stream, bytearray(), []

    def send(self, data):
        try:
            self.stream.sendall(data)
        except (BrokenPipeError, ConnectionError, ssl.SSLError) as error:
            raise Closed(str(error)) from None

    def receive(self, timeout=PATIENCE):
        """The next message."""
        end = time.monotonic() + timeout
        while True:
            frame, taken = cut(self.pending)
            if frame is not None:
                del self.pending[:taken]
                message = decode(frame)
                self.log.append(message)
                return message
            left = end - time.monotonic()
            if left <= 0:
                raise socket.timeout("no message came")
            self.stream.settimeout(left)
            try:
                data = self.stream.recv(65536)
            except (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError) as error:
                raise Closed(str(error)) from None
            except ssl.SSLError as error:
                if isinstance(error, socket.timeout):
                    raise
                raise Closed(str(error)) from None
            if not data:
                raise Closed("the other side has closed")
            self.pending += data

    def expect(self, kind, timeout=PATIENCE):
        """The next message, which must be of this kind; notes before it are passed over."""
        while True:
            message = self.receive(timeout)
            if message.type == kind:
                return message
            if message.type != NOTE:
                raise AssertionError(f"expected {NAMES[kind]}, got {message!r}")

    def is_closed(self, timeout=PATIENCE):
        """Whether the other side closes within the time; what comes before is kept in the log."""
        try:
            while True:
                self.receive(timeout)
        except Closed:
            return True
        except socket.timeout:
            return False

    def close(self):
        try:
            self.stream.close()
        except OSError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


@dataclass
class Book:
    """The bytes of all answers that agents have been given. An answer must never come with other bytes."""
    answers: dict = field(default_factory=dict)  # (name, round) -> body
    repeats: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def write(self, name, round_, body):
        with self.lock:
            before = self.answers.setdefault((name, round_), body)
            if before is not body:
                self.repeats += 1
            if before != body:
                raise AssertionError(f"two answers to {name} in round {round_}:\n{before.hex()}\n{body.hex()}")


class RawAgent:
    """One agent (or several in one connection) that a test drives by hand.

    move(name, k, x, message) gives x(k+1); the default stays where it is. What it must keep over connections is here."""

    def __init__(self, names, states=1, start=0.0, book=None, move=None, slater=YES, highest=1):
        self.names = [names] if isinstance(names, str) else list(names)
        self.states, self.book, self.slater, self.highest = states, book or Book(), slater, highest
        self.move = move or (lambda name, k, x, message: x)
        self.x = {name: [float(start)] * states for name in self.names}
        self.answered = {name: 0 for name in self.names}
        self.epoch, self.link, self.welcome, self.enrolled, self.ended = NO_EPOCH, None, None, {}, None

    def open(self, port, keys=None, **more):
        self.close()
        self.link = Link(connect(port, keys, **more))
        self.link.send(hello(highest=self.highest))
        self.welcome = self.link.expect(WELCOME)
        return self.welcome

    def enrol(self, wait=True, **more):
        for slot, name in enumerate(self.names):
            fields = {"answered": self.answered[name], "slater": self.slater, "epoch": self.epoch, **more}
            self.link.send(enrol(slot, name, self.states, **fields))
        while wait and len(self.enrolled) < len(self.names):
            self.take(self.link.receive())
        return self.enrolled

    def units(self, name, slot=0):
        return [round(v * 2.0 ** -self.enrolled[slot].exponent) for v in self.x[name]]

    def send_state(self, slot=0, round_=None, units=None):
        name = self.names[slot]
        self.epoch = max(self.epoch, self.welcome.epoch)
        round_ = self.answered[name] + 1 if round_ is None else round_
        self.link.send(state(slot, round_, self.units(name, slot) if units is None else units))

    def take(self, message):
        """What a message means to it: enrolments, answers (written into the book), the end."""
        if message.type == ENROLLED:
            self.enrolled[message.slot] = message
        elif message.type == ANSWER:
            name = self.names[message.slot]
            self.book.write(name, message.round, message.raw[HEADER.size:])
            if message.round > self.answered[name]:
                self.x[name] = self.move(name, message.round, self.x[name], message)
                self.answered[name] = message.round
        elif message.type == NOTE and message.code == LOST:
            name = self.names[message.slot]
            self.answered[name] = max(self.answered[name], message.round)
        elif message.type == END:
            self.ended = message
        elif message.type == REFUSAL:
            raise AssertionError(f"refused: {message!r}")
        return message

    def run(self, rounds=None, timeout=PATIENCE):
        """States and answers until a round, or the end."""
        while self.ended is None:
            for slot, name in enumerate(self.names):
                next_ = self.answered[name] + 1
                if self.enrolled[slot].round <= next_ <= self.enrolled[slot].rounds:
                    self.send_state(slot)
            waiting = set(range(len(self.names)))
            while waiting and self.ended is None:
                message = self.take(self.link.receive(timeout))
                if message.type == ANSWER or (message.type == NOTE and message.code == LOST):
                    waiting.discard(message.slot)
            if rounds is not None and min(self.answered.values()) >= rounds:
                return

    def has_all(self):
        return bool(self.enrolled) and all(self.answered[self.names[slot]] >= enrolled.rounds
                                           for slot, enrolled in self.enrolled.items())

    def close(self):
        """Who has the last answer says that it goes: nobody waits for it."""
        if self.link is not None:
            if self.has_all():
                with contextlib.suppress(OSError):
                    self.link.send(leave())
                    self.link.is_closed(30)
            self.link.close()
        self.link, self.enrolled, self.ended = None, {}, None
