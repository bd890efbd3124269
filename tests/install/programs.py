"""The programs of docs/c-api.md, built against an installed copy: what they print is right, and Ctrl-C ends them with a result.
Arguments: the copy, the C compiler, an empty place. pkg-config finds the copy."""
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys

copy, compiler, work = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
tacit, documents = copy / "bin/tacit", copy / "share/doc/tacit"
PATIENCE = 300  # seconds: it hangs


def pkg_config(*words):
    return subprocess.run(["pkg-config", *words, "tacit"], check=True, capture_output=True, text=True).stdout.split()


def build(source, program, *compile_command):
    library = pkg_config("--variable=libdir")[0]
    subprocess.run([*compile_command, "-Wall", "-Wextra", "-Wpedantic", "-Werror", source, "-o", program,
                    *pkg_config("--cflags", "--libs"), f"-Wl,-rpath,{library}"], check=True, cwd=work)
    return work / program


def command(*words):
    return json.loads(subprocess.run([tacit, *words, "--json"], check=True, capture_output=True, cwd=work).stdout)


def expected_of_arrays(source):
    """What the program must print, from the command and a file with the same data."""
    lines = re.search(r"text\[\] =(.*?);\n\n", source, re.DOTALL).group(1)
    text = "\n".join(re.findall(r'"(.*?)\\n"', lines)) + "\n"
    (work / "homes.tacit").write_text(text.replace("= given", '= csv "homes.csv"'))
    rows = [[1 + (7 * i + 3 * t) % 5 for t in range(4)] + [8 + i % 4] for i in range(50)]
    (work / "homes.csv").write_text("wish_1,wish_2,wish_3,wish_4,need\n" +
                                    "".join(",".join(map(str, row)) + "\n" for row in rows))
    solved = command("solve", "homes.tacit", "--full")
    planned = command("plan", "homes.tacit", "--epsilon", "2")
    first = " ".join(f"{number:.4g}" for number in next(iter(solved["x"].values()))[:4])
    yield f"{solved['status']}: objective {solved['objective']:.6g}; home[1] takes {first}"
    for name, price in zip(solved["constraints"], solved["mu"], strict=True):
        yield f"  {name} costs {price:.4g}"
    yield planned["card"]["headline"]
    for observer in planned["observers"]:
        yield f"  {observer['who']}: epsilon {observer['epsilon']:.4g}"


def run_to_the_end(program):
    ended = subprocess.run([program, "short.tacit"], cwd=work, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 0, ended
    assert re.fullmatch(r"private: .*\ndone after 3000 rounds: x error \S+, largest violation \S+\n", ended.stdout), ended.stdout
    assert "100 %" in ended.stderr, ended.stderr
    wrong = subprocess.run([program, "missing.tacit"], cwd=work, capture_output=True, text=True, timeout=PATIENCE)
    assert wrong.returncode == 2 and wrong.stdout == "" and "missing.tacit" in wrong.stderr, wrong


def interrupt(program, at):
    """Sends SIGINT as soon as the progress bar says `at`. What it prints then."""
    with subprocess.Popen([program, "long.tacit"], cwd=work, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            said = b""
            while at not in said:
                more = process.stderr.read1()
                assert more, (process.wait(PATIENCE), said)
                said += more
            process.send_signal(signal.SIGINT)
            printed, _ = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == 3, (process.returncode, printed)
    return printed.decode()


def main():
    work.mkdir()
    page = (documents / "docs/c-api.md").read_text()
    sources = dict(re.findall(r"^```\w+ (\S+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    assert sorted(sources) == ["arrays.c", "run.c", "run.cpp"], sorted(sources)
    for name, text in sources.items():
        (work / name).write_text(text)
    paper = (documents / "examples/paper.tacit").read_text()
    for name, rounds in ("short", 3000), ("long", 1000000000):
        (work / f"{name}.tacit").write_text(paper.replace("rounds 100000", f"rounds {rounds}"))

    arrays = build("arrays.c", "arrays", compiler, "-std=c99")
    printed = subprocess.run([arrays], check=True, capture_output=True, text=True, cwd=work, timeout=PATIENCE).stdout
    expected = list(expected_of_arrays(sources["arrays.c"]))
    assert printed.splitlines() == expected, (printed, expected)
    print(printed, end="")
    (work / "wrong.c").write_text(sources["arrays.c"].replace('"need", needs', '"needs", needs'))
    wrong = subprocess.run([build("wrong.c", "wrong", compiler, "-std=c99")], capture_output=True, text=True, timeout=PATIENCE)
    assert wrong.returncode == 1 and wrong.stdout == "" and "'need'" in wrong.stderr, wrong

    programs = [build("run.c", "run", compiler, "-std=c99")]
    plus = shutil.which("c++")
    if plus is not None:
        programs.append(build("run.cpp", "run-plus", plus, "-std=c++17"))
    else:
        print("no C++ compiler: run.cpp is not built")
    for program in programs:
        run_to_the_end(program)
        interrupt(program, b"differentiating")  # before there is anything to show, or just after
        printed = interrupt(program, b"rounds/s")
        result = r"private: .*\ninterrupted after [1-9]\d* rounds: x error \S+, largest violation \S+\n(stopped on request\n)?"
        assert re.fullmatch(result, printed), printed
        print(f"{program.name}: {printed.splitlines()[1]}")


if __name__ == "__main__":
    main()
