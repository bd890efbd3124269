"""Headless Chromium, bounded in time: pictures, PDF and what a page says on its console."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from picture import Picture

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SECONDS = 1200


def _run(page, *options):
    with tempfile.TemporaryDirectory() as profile:
        command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   "--disable-extensions", "--no-first-run", "--hide-scrollbars", "--enable-logging=stderr", "--v=0",
                   f"--user-data-dir={profile}/profile", *options, pathlib.Path(page).as_uri()]
        environment = {**os.environ, "HOME": profile}
        # A group of its own, so that its helpers go with it when it is stopped.
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
                                 start_new_session=True)
        try:
            output, log = child.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, 9)
            child.communicate()
            raise
        for _ in range(50):  # its helpers may still write into the profile
            shutil.rmtree(profile + "/profile", ignore_errors=True)
            if not os.path.exists(profile + "/profile"):
                break
            time.sleep(0.1)
    if child.returncode:
        raise AssertionError(f"chromium ended with {child.returncode}: {log[-2000:]}")
    return output, [line for line in log.splitlines() if "CONSOLE" in line]


def screenshot(page, width, height, dark=False):
    """The picture, and what was said on the console."""
    with tempfile.TemporaryDirectory() as folder:
        shot = pathlib.Path(folder, "shot.png")
        _, console = _run(page, f"--window-size={width},{height}", f"--screenshot={shot}",
                          f"--blink-settings=preferredColorScheme={0 if dark else 1}")
        return Picture(shot.read_bytes()), console


def pdf(page):
    with tempfile.TemporaryDirectory() as folder:
        paper = pathlib.Path(folder, "page.pdf")
        _, console = _run(page, "--no-pdf-header-footer", f"--print-to-pdf={paper}")
        return paper.read_bytes(), console


def dom(page):
    return _run(page, "--dump-dom")
