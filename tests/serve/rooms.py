"""A small disk of its own for a process: a file system in memory, of any size, that nobody else sees (Linux's namespaces of
mounts and users). It can be filled, made larger, and made read-only."""

import pathlib
import stat
import subprocess

from parties import PATIENCE


class NoRoom(Exception):
    """This machine does not let a test have one."""


class Room:
    def __init__(self, folder, size):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(exist_ok=True)
        script = 'mount -t tmpfs -o mode=0755,size="$2" tmpfs "$1" && echo there && exec sleep 600'
        try:
            self.holder = subprocess.Popen(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh",
                                            str(self.folder), str(size)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        except OSError as error:
            raise NoRoom(str(error)) from None
        if self.holder.stdout.readline() != b"there\n":
            self.close()
            raise NoRoom("no namespace, or no mount in it")

    def command(self, *words):
        """What runs these words in it, as the same process."""
        return ["nsenter", "--target", str(self.holder.pid), "--user", "--preserve-credentials", "--mount", *map(str, words)]

    def run(self, *words):
        return subprocess.run(self.command(*words), check=True, capture_output=True, timeout=PATIENCE)

    def program(self, path, of):
        """A program that is `of`, run in it."""
        words = " ".join(f"'{word}'" for word in self.command(of))
        path.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def remount(self, options):
        self.run("mount", "-o", f"remount,{options}", self.folder)

    def fill(self, name="filler"):
        """Until nothing more fits."""
        subprocess.run(self.command("dd", "if=/dev/zero", f"of={self.folder / name}", "bs=4096", "status=none"), timeout=20,
                       stderr=subprocess.DEVNULL, check=False)

    def remove(self, name="filler"):
        self.run("rm", "-r", self.folder / name)

    def copy_in(self, source, name):
        self.run("cp", "-r", source, self.folder / name)

    def close(self):
        self.holder.kill()
        self.holder.wait(PATIENCE)
        self.holder.stdout.close()
