"""A TCP proxy in user space between agents and their cloud, on loopback, that does what networks do: it delays, cuts what is
sent into small pieces, stalls, resets, and holds connections back to let later ones pass. All by one seed."""

import random
import selectors
import socket
import struct
import threading
import time
from dataclasses import dataclass


@dataclass
class Weather:
    """What may happen to each piece of a direction; all zero is a plain proxy."""
    delay: float = 0  # seconds, at most, before a piece goes on
    piece: int = 65536  # bytes of a piece, at most
    stall: float = 0  # probability of a stall before a piece
    stall_seconds: float = 0.2
    reset: float = 0  # probability that the connection is reset before a piece
    hold: int = 0  # so many connections wait until they are all there, and then go on in another order
    hold_seconds: float = 0.3  # at most
    most_resets: int = 1000  # afterwards there are no more: a run ends


def reset(stream):
    """Closes with RST: the other side must not think that all has been said."""
    try:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    except OSError:
        pass
    stream.close()


class Pair:
    """A connection through the proxy: one thread moves bytes both ways, in order."""

    def __init__(self, proxy, client, seed):
        self.proxy, self.client, self.server = proxy, client, None
        self.random = random.Random(seed)
        self.heard = {"up": bytearray(), "down": bytearray()}  # from the agent, from the cloud
        self.thread = threading.Thread(target=self.work, daemon=True)

    def work(self):
        try:
            self.server = socket.create_connection(("127.0.0.1", self.proxy.target), timeout=60)
            for stream in (self.client, self.server):
                stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.move()
        except OSError:
            pass
        finally:
            for stream in (self.client, self.server):
                if stream is not None:
                    reset(stream) if self.proxy.is_rough else stream.close()
            self.proxy.forget(self)

    def move(self):
        with selectors.DefaultSelector() as ready:
            ready.register(self.client, selectors.EVENT_READ, self.server)
            ready.register(self.server, selectors.EVENT_READ, self.client)
            while not self.proxy.is_closed:
                for key, _ in ready.select(0.1):
                    if not self.pass_on(key.fileobj, key.data):
                        return

    def pass_on(self, source, sink):
        weather, chance = self.proxy.weather, self.random
        self.proxy.open_road.wait(30)
        data = source.recv(max(1, chance.randint(1, weather.piece) if weather.piece < 65536 else 65536))
        if not data:
            return False
        if chance.random() < weather.reset and self.proxy.may_reset():
            for stream in (self.client, self.server):
                reset(stream)
            return False
        if chance.random() < weather.stall:
            time.sleep(weather.stall_seconds)
        if weather.delay > 0:
            time.sleep(chance.uniform(0, weather.delay))
        if self.proxy.listens:
            self.heard["up" if source is self.client else "down"] += data
        sink.sendall(data)
        self.proxy.bytes += len(data)
        return True


def records(data):
    """The TLS records of a stream, as whoever is on the way sees them: (type, length)."""
    found, at = [], 0
    while at + 5 <= len(data):
        kind, _, length = struct.unpack_from(">BHH", data, at)
        found.append((kind, length))
        at += 5 + length
    return found


class Proxy:
    """Listens on a port of its own (.port) for the cloud's port. listens: it keeps what passes, by connection (.all)."""

    def __init__(self, target, seed=1, weather=None, listens=False):
        self.target, self.weather, self.seed, self.listens, self.all = target, weather or Weather(), seed, listens, []
        self.random = random.Random(seed)
        self.pairs, self.lock = set(), threading.Lock()
        self.is_closed, self.is_rough = False, False
        self.bytes = self.connections = self.resets = 0
        self.open_road = threading.Event()
        self.open_road.set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.listener.settimeout(0.05)
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self):
        held, until = [], 0.0
        while not self.is_closed:
            try:
                client, _ = self.listener.accept()
                if not held:
                    until = time.monotonic() + self.weather.hold_seconds
                self.connections += 1
                held.append(client)
            except socket.timeout:
                pass
            except OSError:
                break
            if held and (len(held) >= self.weather.hold or time.monotonic() >= until):
                self.random.shuffle(held)
                for client in held:
                    self.start(client)
                held = []
        for client in held:
            client.close()

    def start(self, client):
        client.settimeout(30)
        pair = Pair(self, client, f"{self.seed}/{self.connections}/{len(self.pairs)}")
        with self.lock:
            self.pairs.add(pair)
            self.all += [pair] if self.listens else []
        pair.thread.start()

    def forget(self, pair):
        with self.lock:
            self.pairs.discard(pair)

    def may_reset(self):
        with self.lock:
            self.resets += 1
            return self.resets <= self.weather.most_resets

    # ---- for scripts ----

    def aim(self, port):
        """New connections go to another port: a cloud that was started again."""
        self.target = port

    def pause(self):
        """Nothing passes, nothing is closed."""
        self.open_road.clear()

    def resume(self):
        self.open_road.set()

    def reset_all(self):
        """Every connection that there is."""
        with self.lock:
            pairs = list(self.pairs)
        for pair in pairs:
            for stream in (pair.client, pair.server):
                if stream is not None:
                    try:
                        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        stream.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass
        return len(pairs)

    def close(self):
        self.is_closed = True
        self.resume()
        self.listener.close()
        self.reset_all()
        self.thread.join(2)
        with self.lock:
            pairs = list(self.pairs)
        for pair in pairs:
            pair.thread.join(2)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
