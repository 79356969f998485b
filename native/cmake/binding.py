"""Write the C source of netlab._core from the public header.

The declarations are the part of netlab.h between its two cffi marks, without NL_API. So
Python and C always use the same declarations.
"""

from __future__ import annotations

import sys
from pathlib import Path

import cffi

BEGIN, END = "/* cffi: begin */", "/* cffi: end */"


def declarations(header: str) -> str:
    """The marked part of the header, as cffi reads it."""
    if header.count(BEGIN) != 1 or header.count(END) != 1:
        raise SystemExit("netlab.h: the cffi marks are missing or repeated")
    part = header.partition(BEGIN)[2].partition(END)[0]
    return part.replace("NL_API ", "")


def main(header: str, target: str) -> None:
    ffi = cffi.FFI()
    ffi.cdef(declarations(Path(header).read_text()))
    # alloca, which Python.h of the limited API does not declare; nor does cffi before 2.1
    source = '#include <stdlib.h>\n#include "netlab.h"\n'
    ffi.set_source("netlab._core", source, py_limited_api=True)
    ffi.emit_c_code(target)


if __name__ == "__main__":
    main(*sys.argv[1:])
