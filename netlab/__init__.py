"""netlab: reproducible throughput studies of a network path.

>>> import netlab
>>> study = netlab.Study("openlab-2003", quick=True)
>>> len(study.plan())
420
"""

from __future__ import annotations

from sys import modules

TYPE_CHECKING = False
"""As in typing, which takes longer than the rest: Ctrl-C within it is Python's traceback."""

if TYPE_CHECKING:
    from netlab.face.compared import compare as compare
    from netlab.face.figures import palette as palette
    from netlab.face.figures import show as show
    from netlab.face.figures import theme as theme
    from netlab.face.loopback import transfer as transfer
    from netlab.face.parameters import check_parameters as check_parameters
    from netlab.face.results import Results as Results
    from netlab.face.results import concat as concat
    from netlab.face.stored import export as export
    from netlab.face.study import Study as Study
    from netlab.fleet.view import Fleet as Fleet
    from netlab.imports.view import import_files as import_files
    from netlab.openlab.documents import claims as claims
    from netlab.openlab.documents import document as document
    from netlab.openlab.notebook import load_published as load_published

    __version__: str

# loaded when first used: a program that measures needs no charts, and a command neither
_MODULES = {
    "Results": "results",
    "Study": "study",
    "check_parameters": "parameters",
    "compare": "compared",
    "concat": "results",
    "export": "stored",
    "palette": "figures",
    "show": "figures",
    "theme": "figures",
    "transfer": "loopback",
}


if not TYPE_CHECKING:  # a checker knows the names above, and takes no other one for known

    def __getattr__(name: str) -> object:
        # 10 ms with typing, which the command takes once Ctrl-C in it is a sentence
        from importlib import import_module
        from importlib.util import find_spec

        if name == "__all__":
            return __dir__()
        if name == "__version__":
            return import_module("netlab.version").RELEASE
        if name in _MODULES:
            value = getattr(import_module(f"netlab.face.{_MODULES[name]}"), name)
            if "IPython" in modules:
                import_module("netlab.face.completion").offer()
        elif not name.startswith("_") and not find_spec(f"netlab.{name}") and name in _of_wings():
            value = import_module("netlab.wings").load(_of_wings()[name])
        else:
            raise AttributeError(f"module 'netlab' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({"__version__", *_MODULES, *_of_wings()})


def _of_wings() -> dict[str, str]:
    from netlab.wings import names  # a third of the time that `import netlab` would take

    return names()
