"""Print a page to PDF with a headless Chromium, if installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PRINT_TIMEOUT_S = 180


def find_chromium() -> str | None:
    """Path of an installed Chromium or Chrome."""
    return next((found for name in CHROMIUM_NAMES if (found := shutil.which(name))), None)


def print_pdf(page: Path, pdf: Path, chromium: str | None = None) -> str:
    """Print a local page.

    Parameters
    ----------
    page : Path
        The HTML file.
    pdf : Path
        File to write.
    chromium : str, optional
        Browser; by default the first one found.

    Returns
    -------
    str
        Empty if the PDF was written, else the reason.
    """
    browser = chromium or find_chromium()
    if browser is None:
        return "no Chromium is installed here"
    with tempfile.TemporaryDirectory(prefix="netlab-print-") as profile:
        command = [
            browser,
            "--headless",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            f"--user-data-dir={profile}",
            "--no-pdf-header-footer",
            f"--print-to-pdf={pdf}",
            page.resolve().as_uri(),
        ]
        if os.geteuid() == 0:
            command.insert(1, "--no-sandbox")  # Chromium refuses its sandbox to root
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=PRINT_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"Chromium did not finish within {PRINT_TIMEOUT_S} s"
        except OSError as error:
            return f"Chromium could not be started: {error.strerror}"
    if done.returncode != 0 or not pdf.is_file() or pdf.stat().st_size == 0:
        pdf.unlink(missing_ok=True)
        return f"Chromium ended with status {done.returncode} and no PDF"
    return ""
