"""A cloud and its agents as separate processes on loopback, for tests: a problem is split, keys are made, `tacit serve` and
`tacit agent` are started, watched, killed by their id and started again. No process and no file is left.

    with Parties(PROBLEM, options=["--epsilon", "2"]) as parties:
        parties.start_cloud(seed=7)
        parties.start_agents()
        summary = parties.finish()
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TACIT = os.environ.get("TACIT", "tacit")
THREADS = os.environ.get("TACIT_SERVE_THREADS")  # of clouds; None: one loop
PATIENCE = 300  # seconds: ends a test that hangs, and decides nothing else


class Late(AssertionError):
    """Something did not happen in time."""


class Process:
    """A child, with what it says in files: a full pipe would stop it."""

    def __init__(self, name, folder, arguments):
        self.name, self.arguments = name, [str(a) for a in arguments]
        self.out_path, self.err_path = folder / f"{name}.out", folder / f"{name}.err"
        with open(self.out_path, "ab") as out, open(self.err_path, "ab") as err:
            self.out_from, self.err_from = out.tell(), err.tell()
            self.child = subprocess.Popen(self.arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    @property
    def pid(self):
        return self.child.pid

    @property
    def out(self):
        """What this start has written to standard output."""
        return self.out_path.read_bytes()[self.out_from:].decode(errors="replace")

    @property
    def err(self):
        return self.err_path.read_bytes()[self.err_from:].decode(errors="replace")

    def is_running(self):
        return self.child.poll() is None

    def wait(self, seconds=PATIENCE):
        try:
            return self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Late(f"{self.name} still runs after {seconds} s\n{self.err[-2000:]}") from None

    def signal(self, number):
        if self.is_running():
            self.child.send_signal(number)

    def kill(self):
        """kill -9, and nothing of it is left."""
        self.signal(signal.SIGKILL)
        return self.child.wait(PATIENCE)

    def stop(self):
        self.signal(signal.SIGTERM)
        return self.wait()

    def json(self):
        text = self.out.strip()
        if not text:
            raise AssertionError(f"{self.name} said nothing (exit {self.child.poll()})\n{self.err[-2000:]}")
        return json.loads(text[text.index("{"):])


class Parties:
    """problem: a text, or the path of a file. files: names and texts that the problem reads.
    options: of `tacit serve`, the privacy options (the same go to `tacit run` in in_process).
    issue: whether each agent gets a certificate of its own; else the test issues what it needs."""

    def __init__(self, problem, files=None, options=(), tls=True, issue=True):
        self.place = tempfile.TemporaryDirectory(prefix="tacit-parties-")
        self.folder = pathlib.Path(self.place.name)
        self.options, self.tls = list(map(str, options)), tls
        self.cloud, self.agents, self.others, self.port, self.http_port, self.starts = None, {}, [], None, None, 0
        try:
            self.prepare(problem, files or {}, issue)
        except BaseException:
            self.close()
            raise

    def prepare(self, problem, files, issue):
        for name, text in files.items():
            (self.folder / name).write_text(text)
        self.problem = pathlib.Path(problem) if "\n" not in str(problem) else self.folder / "problem.tacit"
        if self.problem.parent == self.folder:
            self.problem.write_text(problem)
        self.parts, self.keys, self.states = self.folder / "parts", self.folder / "keys", self.folder / "states"
        self.tacit("split", self.problem, "-o", self.parts)
        self.names = {self.name_in(path): path for path in sorted((self.parts / "agents").iterdir())}
        self.key_folders = {}
        if self.tls:
            self.tacit("keys", "init", self.keys)
            for name in self.names if issue else ():
                self.issue([name])

    @staticmethod
    def name_in(path):
        found = re.search(r'^agent (?:"([^"]*)"|(\w+)) \{', path.read_text(), re.MULTILINE)
        return found.group(1) or found.group(2)

    def tacit(self, *arguments, code=0):
        done = subprocess.run([TACIT, *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE)
        if code is not None and done.returncode != code:
            raise AssertionError(f"tacit {' '.join(map(str, arguments))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def issue(self, names, together=None):
        """A certificate for these agents; several in one are a gateway's."""
        known = {path.name for path in (self.keys / "agents").glob("*")}
        self.tacit("keys", "issue", self.keys, *names, *(["--together", together] if together else []))
        new = [path for path in (self.keys / "agents").iterdir() if path.name not in known]
        for name in names:
            self.key_folders[name] = new[0]
        return new[0]

    # ---- the cloud ----

    def start_cloud(self, *more, seed=None, state=None, trace=True, ready=True, name="cloud"):
        """more: options of this start alone. state: its folder, where it is not the usual one. ready: whether to wait for its
        ports. name: of its output, where several run at once."""
        self.starts += 1
        port_file = self.folder / f"ports.{self.starts}"
        arguments = [TACIT, "serve", self.parts / "cloud.tacit", *self.options, "--listen", "127.0.0.1:0", "--http",
                     "127.0.0.1:0", "--state", state or self.folder / "journal", "--port-file", port_file, "--json"]
        arguments += ["--keys", self.keys / "cloud"] if self.tls else ["--insecure-plaintext"]
        arguments += ["--seed", seed, "--insecure-seed"] if seed is not None else []
        arguments += ["--trace", self.folder / f"cloud.{self.starts}.csv"] if trace else []
        arguments += ["--threads", THREADS] if THREADS else []
        self.cloud = Process(name, self.folder, [*arguments, *more])
        self.others.append(self.cloud)
        if ready:
            self.port, self.http_port = self.wait_for(lambda: self.read_ports(port_file), what="the cloud's ports")
        return self.cloud

    def read_ports(self, path):
        if not self.cloud.is_running() and not path.exists():
            raise AssertionError(f"the cloud ended with {self.cloud.child.returncode}\n{self.cloud.err[-3000:]}")
        text = path.read_text() if path.exists() else ""
        return [int(word) for word in text.split()] if text.endswith("\n") else None

    # ---- agents ----

    def start_agent(self, *names, more=(), keys=None, port=None, trace=True, json=True):
        """One process for these agents, with one connection."""
        name = "+".join(names)
        arguments = [TACIT, "agent", *(self.names[n] for n in names), "--cloud", f"127.0.0.1:{port or self.port}",
                     "--state", self.states / names[0].replace("/", "_"), "--quiet"]
        arguments += ["--json"] if json else []
        arguments += ["--keys", keys or self.key_folders[names[0]]] if self.tls else ["--insecure-plaintext"]
        arguments += ["--trace", self.trace_of(name)] if trace else []
        self.states.mkdir(mode=0o700, exist_ok=True)
        made = self.agents[name] = Process(f"agent.{self.safe(name)}", self.folder, [*arguments, *more])
        self.others.append(made)
        return made

    def start_agents(self, names=None, **more):
        return [self.start_agent(name, **more) for name in names or self.names]

    def start_python(self, name, program, *more, port=None):
        """An agent in Python, with the options of examples/python/agent.py."""
        self.states.mkdir(mode=0o700, exist_ok=True)
        arguments = [sys.executable, program, name, "--cloud", f"127.0.0.1:{port or self.port}", "--keys",
                     self.key_folders[name], "--state", self.states / f"{self.safe(name)}.json", *more]
        made = self.agents[name] = Process(f"python.{self.safe(name)}", self.folder, arguments)
        self.others.append(made)
        return made

    @staticmethod
    def safe(name):
        return re.sub(r"[^A-Za-z0-9_.+-]", "_", name)[:100]

    def trace_of(self, name):
        return self.folder / f"agent.{self.safe(name)}.csv"

    # ---- the end ----

    def finish(self):
        """Waits for the cloud and all agents; the cloud's summary."""
        code = self.cloud.wait()
        if code != 0:
            raise AssertionError(f"the cloud ended with {code}\n{self.cloud.err[-3000:]}")
        for agent in self.agents.values():
            code = agent.wait()
            if code != 0:
                raise AssertionError(f"{agent.name} ended with {code}\n{agent.err[-3000:]}")
        return self.cloud.json()

    def results(self):
        """By agent: what it says of itself."""
        return {name: agent.json() for name, agent in self.agents.items()}

    def in_process(self, *more, seed=None):
        """`tacit run` of the same problem with the same options, as JSON."""
        seeded = ["--seed", seed] if seed is not None else []
        done = self.tacit("run", self.problem, *self.options, *seeded, "--json", *more, code=None)
        return json.loads(done.stdout)

    @staticmethod
    def wait_for(question, seconds=PATIENCE, what="something"):
        """The first answer that is true."""
        end = time.monotonic() + seconds
        while True:
            answer = question()
            if answer:
                return answer
            if time.monotonic() > end:
                raise Late(f"{what} did not come within {seconds} s")
            time.sleep(0.01)

    def copy_state(self, to, of="journal"):
        """The cloud's state as a back-up would take it. The cloud must not be running."""
        shutil.rmtree(self.folder / to, ignore_errors=True)
        shutil.copytree(self.folder / of, self.folder / to)
        return self.folder / to

    def close(self):
        for process in self.others:
            if process.is_running():
                process.child.kill()
        for process in self.others:
            process.child.wait(PATIENCE)
        self.place.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            for process in self.others:
                print(f"---- {process.name}: exit {process.child.poll()}\n{process.err[-1500:]}", file=sys.stderr)
        self.close()
