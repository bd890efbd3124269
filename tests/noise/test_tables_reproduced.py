"""The committed tables are what script/generate-tables writes."""
# labels: long once
import os
import pathlib
import subprocess
import sys
import tempfile

source = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])
wrong = 0
with tempfile.TemporaryDirectory() as directory:
    subprocess.run([sys.executable, source / "script" / "generate-tables", directory], check=True)
    written = sorted(pathlib.Path(directory).iterdir())
    assert len(written) == 3, written
    for file in written:
        if file.read_bytes() != (source / "src" / "noise" / file.name).read_bytes():
            print(f"src/noise/{file.name} is not what the script writes")
            wrong += 1
sys.exit(wrong)
