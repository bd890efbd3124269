"""Builds the extension module by binding.py; the rest is in pyproject.toml."""

import importlib.util
import pathlib
import shutil
import sys

from setuptools import setup
from setuptools.command.build import build
from setuptools.command.sdist import sdist

try:
    import cffi  # noqa: F401

    if "bdist_wheel" in sys.argv and not importlib.util.find_spec("setuptools.command.bdist_wheel"):
        import wheel  # noqa: F401
except ImportError as error:
    sys.exit(
        f"tacit: {sys.executable} has no {error.name}. On Debian: script/bootstrap --python, and /usr/bin/python3; "
        f"elsewhere: pip install cffi setuptools wheel numpy"
    )
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
