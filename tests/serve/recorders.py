"""Agents in Python that come back whenever the cloud is gone, at once, and write down the bytes of every answer that they
are given, also of those that they die over. Any number of them share one book."""

import random
import socket
import threading
import time

import town
import wire
from parties import PATIENCE


def free_port():
    """Below those that the system gives to clients: a cloud that is started again finds it free."""
    chance = random.SystemRandom()
    while True:
        port = chance.randrange(20000, 32000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


class Gate:
    """A step that agents take up to a round, and no further until it is opened again."""

    def __init__(self, until, step=town.move):
        self.until, self.step = until, step

    def __call__(self, name, k, x, message):
        while k > self.until:
            time.sleep(0.002)
        return self.step(name, k, x, message)


class Recorder(threading.Thread):
    """Some agents on one connection.

    deaths: the probability that it dies when an answer has come, before it has written its step down: it will ask for that
    answer again. x[name, k]: the state before round k."""

    def __init__(self, names, port, keys, book, seed=0, deaths=0.0, move=town.move, start=town.LOW):
        super().__init__(daemon=True)
        self.agent = wire.RawAgent(names, town.STATES, start, book, move)
        self.port, self.keys, self.deaths, self.random = port, keys, deaths, random.Random(seed)
        self.context = None if keys is None else wire.client_context(keys)
        self.x = {(name, 1): list(x) for name, x in self.agent.x.items()}
        self.epochs, self.refused, self.lost = [], [], []
        self.failure, self.is_over, self.is_stale, self.rounds = None, False, False, None

    @property
    def answered(self):
        return min(self.agent.answered.values())

    def is_done(self):
        return self.rounds is not None and self.answered == self.rounds

    def hear(self, message):
        agent = self.agent
        if message.type == wire.REFUSAL:
            if message.code not in (wire.CROWD, wire.OVER):
                self.refused.append(message)
            raise wire.Closed(message.reason)
        if message.type == wire.ANSWER and self.random.random() < self.deaths:
            agent.book.write(agent.names[message.slot], message.round, message.raw[wire.HEADER.size:])
            raise wire.Closed("died over an answer")
        name = agent.names[message.slot] if message.slot != wire.NO_SLOT else None
        before = agent.answered.get(name)
        agent.take(message)
        if message.type == wire.ENROLLED:
            self.rounds = message.rounds
            if self.is_stale:
                raise AssertionError(f"{name} was let in by an epoch behind {agent.epoch[0]}, or beside it")
            if message.round <= before:
                raise AssertionError(f"{name} has answered {before} rounds and is asked for {message.round}")
            if message.round == before + 1:
                self.say_state(message.slot)
        elif name is not None and agent.answered[name] > before:
            if message.type == wire.NOTE:
                self.lost.append((name, before, message.round))
            self.x[name, agent.answered[name] + 1] = list(agent.x[name])
            self.say_state(message.slot)

    def say_state(self, slot):
        if self.agent.answered[self.agent.names[slot]] < self.rounds:
            self.agent.send_state(slot)

    def connect(self):
        agent = self.agent
        agent.open(self.port, context=self.context)
        self.epochs.append(agent.welcome.epoch)
        # An earlier start of the cloud, or another with the same number: it is told, and gets no state.
        (now, id_now), (seen, id_seen) = agent.welcome.epoch, agent.epoch
        self.is_stale = now < seen or (now == seen and id_now != id_seen)
        agent.enrol(wait=False)
        while agent.ended is None and not self.is_over:
            self.hear(agent.link.receive())

    def run(self):
        while not self.is_over:
            try:
                self.connect()
                if self.agent.ended is not None and self.agent.ended.reason == wire.DONE:
                    break
            except (wire.Closed, OSError):
                pass
            except Exception as error:  # the main thread looks at it
                self.failure = error
                break
            if self.refused:
                break
            time.sleep(0.003)
        self.agent.close()

    def stop(self):
        self.is_over, link = True, self.agent.link
        if link is not None and self.is_alive():
            try:
                link.stream.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.join(PATIENCE)
