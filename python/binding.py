"""Builds tacit._binding, the extension module: the public headers as they stand, and shim.c.

cffi reads the declarations from the headers of the library that is linked, so no list of them is kept here. The library
is looked for in $TACIT_BUILD (a CMake build folder), in the project's build/release, then by pkg-config. A static library
is linked where there is one, so that a wheel needs nothing of tacit on the machine where it is installed.
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys

import cffi

HERE = pathlib.Path(os.getcwd())  # the folder of setup.py; setuptools runs there
LIBRARIES = ["ssl", "crypto", "m", "pthread"]
BUILD_FOLDER = "build-folder"  # of a source archive: where the library was when it was packed

# What shim.c adds. Members behind "...;" are its own.
SHIM = """
typedef struct py_load { void *raised; char *message; ...; } py_load;
typedef struct py_call { tacit_result *result; char *message; tacit_options options; void *raised; void *callbacks;
                         int stops; ...; } py_call;
tacit_status py_problem_make(py_load *load, const tacit_source *given);
void py_load_close(py_load *load);
void py_load_free(py_load *load);
void py_call_begin(py_call *call, py_load *load);
void py_call_free(py_call *call);
tacit_problem *py_call_problem(py_call *call);
tacit_status py_check(py_call *call);
tacit_status py_solve(py_call *call);
tacit_status py_plan(py_call *call, const tacit_promise *promise);
tacit_status py_advise(py_call *call, const tacit_promise *promise, const tacit_advise_options *advise);
tacit_status py_run(py_call *call, const tacit_promise *promise, const tacit_run_options *run);
tacit_status py_sweep(py_call *call, const tacit_promise *promise, const tacit_sweep_options *sweep);
tacit_status py_bound(py_call *call, const tacit_promise *promise, double within);
tacit_status py_audit(py_call *call, const tacit_promise *promise, const tacit_audit_options *audit);
tacit_status py_split(py_call *call, const char *directory, int replace);
tacit_status py_ledger(py_call *call, const char *path);
tacit_status py_report(py_call *call, const char *const *traces, size_t count, const char *path, const char *title);
enum { PY_JSON, PY_TEXT, PY_CERTIFICATE };
tacit_status py_text(py_call *call, int which, const char **text, py_load *why);
tacit_status py_write(py_call *call, int is_report, const char *path, const char *command, py_load *why);
typedef struct py_agent { tacit_agent *agent; char *message; ...; } py_agent;
tacit_status py_agent_open(py_agent *to, const tacit_agent_options *options, const tacit_agent_functions *functions,
                           const char *const *paths, size_t count);
void py_agent_close(py_agent *agent);
#define TACIT_AGENT_READ ...
#define TACIT_AGENT_WRITE ...
extern "Python" {
    int py_progress(void *callbacks, char *what, double fraction);
    int py_gradient(void *context, const double *x, double *gradient);
    int py_project(void *context, double *v);
    int py_proximal(void *context, const double *p, double step, double regularization, const double *from,
                    double *next);
    int py_proximal_by_state(void *context, const double *p, const double *steps, double regularization,
                             const double *from, double *next);
    void py_moved(void *context, size_t agent, uint64_t round, const double *x);
}
"""


def declarations(header: str) -> str:
    """A header as cffi wants it: no comments, no preprocessor, no extern "C"."""
    header = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    header = re.sub(r'#ifdef __cplusplus\n.*?#endif', "", header, flags=re.S)
    header = re.sub(r"^#.*$", "", header, flags=re.M)
    return header.replace("TACIT_API ", "")


def build_folder() -> pathlib.Path | None:
    """The CMake build folder to take the library from, or None."""
    chosen = os.environ.get("TACIT_BUILD")
    if chosen:
        if not pathlib.Path(chosen, "libtacit.a").exists():
            sys.exit(f"tacit: TACIT_BUILD is {chosen}, which has no libtacit.a")
        return pathlib.Path(chosen).resolve()
    packed = HERE / BUILD_FOLDER
    folder = pathlib.Path(packed.read_text().strip()) if packed.exists() else HERE.parent / "build" / "release"
    return folder.resolve() if (folder / "libtacit.a").exists() else None


def pkg_config(*arguments: str) -> list[str]:
    try:
        done = subprocess.run(["pkg-config", *arguments, "tacit"], capture_output=True, text=True)
    except FileNotFoundError:
        return []
    return shlex.split(done.stdout) if done.returncode == 0 else []


class Library:
    """Where the headers are, and what the compiler is to be told."""

    def __init__(self) -> None:
        folder = build_folder()
        self.flags: list[str] = []
        if folder:
            cache = (folder / "CMakeCache.txt").read_text()
            self.include = pathlib.Path(re.search(r"^tacit_SOURCE_DIR:STATIC=(.*)$", cache, re.M)[1], "include")
            sanitizers = re.search(r"^TACIT_SANITIZE:STRING=(.+)$", cache, re.M)
            if sanitizers:
                self.flags = [f"-fsanitize={sanitizers[1]}", "-fno-omit-frame-pointer"]
        else:
            include, found = pkg_config("--variable=includedir"), pkg_config("--variable=libdir")
            if not include or not found:
                sys.exit(
                    "tacit: I find no libtacit. Build it first (script/build release in the project's folder), or "
                    "install it and set PKG_CONFIG_PATH to the folder that has tacit.pc."
                )
            self.include, folder = pathlib.Path(include[0]), pathlib.Path(found[0])
        static = folder / "libtacit.a"
        if static.exists():
            self.link = {"extra_objects": [str(static)], "libraries": LIBRARIES}
        else:
            places = [str(folder)]
            self.link = {"libraries": ["tacit"], "library_dirs": places, "runtime_library_dirs": places}

    def version(self) -> str:
        header = (self.include / "tacit" / "status.h").read_text()
        return ".".join(re.findall(r"#define TACIT_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))


def extension() -> cffi.FFI:
    """The extension module, against the library that is found."""
    library = Library()
    ffi = cffi.FFI()
    for name in ("status.h", "tacit.h", "agent.h"):
        ffi.cdef(declarations((library.include / "tacit" / name).read_text()))
    ffi.cdef(SHIM)
    ffi.set_source(
        "tacit._binding",
        (HERE / "shim.c").read_text(),
        include_dirs=[str(library.include)],
        extra_compile_args=library.flags,
        extra_link_args=library.flags,
        **library.link,
    )
    return ffi
