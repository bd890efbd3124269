"""A PostgreSQL server of the tests' own: a new cluster in a folder of its own, a socket in it, no port. Its address goes into
`tacit serve --journal`. Nothing of it is left.

    with Cluster() as cluster:
        cluster.sql("SELECT 1")
"""

import contextlib
import glob
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

PATIENCE = 120  # seconds: ends a test that hangs


def programs():
    """The folder of initdb and postgres, of the newest version; None: PostgreSQL is not installed."""
    folders = [os.path.dirname(os.path.realpath(shutil.which("initdb")))] if shutil.which("initdb") else []
    folders += sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda f: float(f.split("/")[4]))
    wanted = ("initdb", "postgres", "psql", "pg_dump")
    return next((f for f in reversed(folders) if all(os.path.exists(f"{f}/{name}") for name in wanted)), None)


def owner():
    """initdb refuses root."""
    if os.getuid() != 0:
        return []
    names = {entry.pw_name for entry in pwd.getpwall()}
    user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--"]


class Cluster:
    def __init__(self, *settings, port=5432):
        self.place = tempfile.mkdtemp(prefix="tacit-pg-", dir="/tmp")  # short: the path of a socket has 107 bytes
        os.chmod(self.place, 0o755)
        self.bin, self.server, self.port, self.keys = programs(), None, port, 0
        self.data, self.sockets = pathlib.Path(self.place, "data"), pathlib.Path(self.place, "s")
        for folder in (self.data, self.sockets):
            folder.mkdir(mode=0o700)
        self.sockets.chmod(0o777)
        if os.getuid() == 0:
            for folder in (self.data, self.sockets):
                os.chown(folder, *(int(word.split("=")[1]) for word in owner()[1:3]))
        try:
            self.run("initdb", "--pgdata", self.data, "--username=tacit", "--auth=trust", "--encoding=UTF8", "--locale=C",
                     "--no-sync", "--no-instructions")
            self.settings = settings
            self.start()
            self.sql("CREATE DATABASE journals", database="postgres")
        except BaseException:
            self.close()
            raise

    def run(self, program, *arguments):
        done = subprocess.run([*owner(), f"{self.bin}/{program}", *map(str, arguments)], capture_output=True, text=True,
                              timeout=PATIENCE, cwd="/", env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"})
        if done.returncode != 0:
            raise AssertionError(f"{program}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    # ---- the server ----

    def start(self):
        more = [word for setting in self.settings for word in ("-c", setting)]
        with open(f"{self.place}/log", "ab") as log:
            self.server = subprocess.Popen([*owner(), f"{self.bin}/postgres", "-D", self.data, "-k", self.sockets, "-p",
                                            str(self.port), "-c", "listen_addresses=", "-c", "shared_buffers=16MB", "-c", "autovacuum=on", *more],
                                           stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd="/", env={"LC_ALL": "C"})
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return self.sql("SELECT 1", database="postgres")
            except AssertionError:
                if time.monotonic() > end or self.server.poll() is not None:
                    raise AssertionError(pathlib.Path(self.place, "log").read_text()[-2000:]) from None
                time.sleep(0.02)

    def stop(self, number=signal.SIGINT):
        """SIGINT: a fast stop; SIGQUIT: as in a crash."""
        if self.server is not None and self.server.poll() is None:
            self.server.send_signal(number)
            self.server.wait(PATIENCE)

    def pause(self, number):
        """SIGSTOP: all of the server's processes stand still, until SIGCONT."""
        for child in subprocess.run(["pgrep", "-P", str(self.server.pid)], capture_output=True, text=True).stdout.split():
            os.kill(int(child), number)
        os.kill(self.server.pid, number)

    def use_tls(self, name):
        """Listens at 127.0.0.1, with a certificate for this name and for clients with a password; it signs itself. Returns the
        certificate."""
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                        "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}", "-keyout", self.data / "server.key",
                        "-out", self.data / "server.crt"], check=True, capture_output=True, timeout=PATIENCE)
        os.chmod(self.data / "server.key", 0o600)
        (self.data / "pg_hba.conf").write_text("local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n")
        if os.getuid() == 0:
            os.chown(self.data / "server.key", *(int(word.split("=")[1]) for word in owner()[1:3]))
            os.chmod(self.data / "server.crt", 0o644)
        self.stop()
        self.settings = (*self.settings, "ssl=on", "listen_addresses=127.0.0.1")
        self.start()
        return self.data / "server.crt"

    # ---- what is in it ----

    def address(self, database="journals", **options):
        query = urllib.parse.urlencode({"host": str(self.sockets), "port": self.port, "user": "tacit", **options}, quote_via=urllib.parse.quote)
        return f"postgresql:///{database}?{query}"

    def sql(self, text, database="journals"):
        return self.run("psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", self.address(database), "-c", text).strip()

    @contextlib.contextmanager
    def locked(self, table, database):
        """Nobody else can write the table."""
        words = [*owner(), f"{self.bin}/psql", "-XAtq", "-d", self.address(database)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/", env={"LC_ALL": "C"}) as holder:
            holder.stdin.write(f"BEGIN; LOCK TABLE {table} IN EXCLUSIVE MODE; SELECT 'locked';\n")
            holder.stdin.flush()
            if holder.stdout.readline() != "locked\n":
                raise AssertionError(f"{table} could not be locked")
            yield
            holder.stdin.close()

    def new(self, name):
        """The address of an empty database."""
        self.sql(f"CREATE DATABASE {name}", database="postgres")
        return self.address(name)

    def make_key(self, tacit=os.environ.get("TACIT", "tacit")):
        """A new key for `tacit serve --journal-key`."""
        self.keys += 1
        path = f"{self.place}/key.{self.keys}"
        subprocess.run([tacit, "keys", "journal", path], check=True, capture_output=True, timeout=PATIENCE)
        return path

    def close(self):
        self.stop()
        shutil.rmtree(self.place, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Way:
    """Loopback to the cluster's socket. Cuts the connection before the next statement reaches the server, or before the
    next answer reaches the client. silent_after: carries nothing more to the server after a statement with this in it.
    sent: all that was to reach the server, also what was cut."""

    def __init__(self, where, what="nothing", silent_after=None):
        self.where, self.what, self.is_cutting, self.pairs = where, what, threading.Event(), []
        self.silent_after, self.sent, self.is_hanging = silent_after, bytearray(), False
        self.door = socket.create_server(("127.0.0.1", 0))
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def address(self, database):
        return f"postgresql://tacit@127.0.0.1:{self.door.getsockname()[1]}/{database}"

    def hang(self):
        """Whoever connects from now on hears nothing; connections that are there are cut."""
        self.is_hanging = True
        for end in self.pairs:
            end.close()

    def cut_next(self):
        self.is_cutting.set()

    def accept(self):
        while True:
            try:
                near, _ = self.door.accept()
            except OSError:
                return
            if self.is_hanging:
                self.pairs.append(near)
                continue
            far = socket.socket(socket.AF_UNIX)
            far.connect(str(self.where.sockets / f".s.PGSQL.{self.where.port}"))
            self.pairs += [near, far]
            for source, target, what in ((near, far, "statement"), (far, near, "answer")):
                threading.Thread(target=self.carry, args=(source, target, what), daemon=True).start()

    def carry(self, source, target, what):
        try:
            while data := source.recv(65536):
                if what == "statement":
                    self.sent += data
                if what == self.what and self.is_cutting.is_set():
                    break
                target.sendall(data)
                if what == "statement" and self.silent_after is not None and self.silent_after in data:
                    return
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.door.close()
        for end in self.pairs:
            end.close()


def hindrance():
    """Why a cloud cannot be tested with a server here, or None."""
    if programs() is None:
        return "PostgreSQL is not installed (Debian: postgresql)"
    said = subprocess.run([os.environ.get("TACIT", "tacit"), "serve", "/nowhere", "--insecure-plaintext", "--state", "/nowhere",
                           "--journal", "postgresql:///x"], capture_output=True, text=True, timeout=PATIENCE).stderr
    return "this tacit was built without PostgreSQL (Debian: libpq-dev)" if "built without PostgreSQL" in said else None


def main():
    """For tests that need a server: without one they are skipped (77), and say so."""
    if hindrance() is not None:
        print(f"skipped: {hindrance()}")
        sys.exit(77)
    unittest.main(module="__main__")
