"""Starts programs on several ranks of this machine, for the tests here and for bench/."""
import atexit
import itertools
import os
import shutil
import subprocess
import tempfile

# As root, more ranks than processors, over shared memory; a rank that waits leaves the processor to others.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl": "self,vader",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}


# Each mpirun has a folder of its own: two that begin at once can fail in the common one.
FOLDER, numbers = tempfile.mkdtemp(prefix="mpi-"), itertools.count(1)
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


def command(ranks, *words):
    return ["mpirun", "--quiet", "-n", str(ranks), *map(str, words)]


def environment(**more):
    place = f"{FOLDER}/{next(numbers)}"
    os.mkdir(place)
    return {**os.environ, **ENVIRONMENT, "OMPI_MCA_orte_tmpdir_base": place, **more}


def start(ranks, *words, **options):
    """A Popen."""
    return subprocess.Popen(command(ranks, *words), env=environment(), text=True, stdin=subprocess.DEVNULL, **options)


def run(ranks, *words, timeout=120, **options):
    """A CompletedProcess with text of both streams."""
    return subprocess.run(command(ranks, *words), env=environment(), text=True, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=timeout, check=False, **options)
