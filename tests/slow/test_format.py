"""Loading nbformat does not compile a grammar that no notebook needs."""

import subprocess
import sys


def test_a_report_is_loaded_without_the_grammar_of_iris():
    code = """
import sys, netlab.report.site
assert "lark" not in sys.modules and "rfc3987_syntax" not in sys.modules
import lark, rfc3987_syntax  # both are installed, and stay usable
"""
    done = subprocess.run(
        (sys.executable, "-c", code), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
