"""Builds the extension module by binding.py; the rest is in pyproject.toml."""

import pathlib
import shutil
import sys

from setuptools import setup
from setuptools.command.build import build
from setuptools.command.sdist import sdist

sys.path.insert(0, ".")
import binding  # noqa: E402


class SourceArchive(sdist):
    """Notes where the library is: `python3 -m build` makes the wheel from an unpacked source archive."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        folder = binding.build_folder()
        if folder:
            pathlib.Path(base_dir, binding.BUILD_FOLDER).write_text(f"{folder}\n")


class Build(build):
    """Without what an earlier build left: a module that was deleted since must not be packed."""

    def run(self):
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


setup(
    version=binding.Library().version(),
    cffi_modules=["binding.py:extension"],
    cmdclass={"build": Build, "sdist": SourceArchive},
)
