"""A branch of a git repository as a directory of regular files: fetched, changed, pushed.

git works in a repository of its own below a scratch directory. Of the user's set-up it takes what
reaches a remote (credentials, proxies, the SSH command, replaced URLs) and who commits; nothing
that names another repository or changes what a file's bytes or the list of files are.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from netlab.errors import BadInput, NetlabError
from netlab.files.reading import open_regular

LOGIN = re.compile(
    r"GIT_(SSH|SSH_COMMAND|SSH_VARIANT|ASKPASS|SSL_\w+|HTTP_\w+|TERMINAL_PROMPT"
    r"|(AUTHOR|COMMITTER)_(NAME|EMAIL)|CONFIG_(GLOBAL|SYSTEM|NOSYSTEM))"
)
"""Variables of git that are kept: how to log in, who commits, where the user's settings are."""

SETTINGS = {
    "core.hooksPath": "/dev/null",
    "core.excludesFile": "/dev/null",
    "core.attributesFile": "/dev/null",
    "core.autocrlf": "false",
    "core.fileMode": "false",
    "core.ignoreCase": "false",
    "core.symlinks": "false",  # a link is checked out as a file that has its target as text
    "core.fsmonitor": "false",
    "fetch.recurseSubmodules": "false",
    "push.recurseSubmodules": "no",
    "push.followTags": "false",
    "push.gpgSign": "false",
}
ATTRIBUTES = "* -text -eol -ident -working-tree-encoding !filter\n"
"""Above all other attributes: no file is converted on its way."""

LINK = "120000"

IDENTITY = tuple(
    f"{who}.{what}" for who in ("user", "author", "committer") for what in ("name", "email")
)
OF_LOGIN = re.compile(r"credential\.|http\.|url\.|core\.sshcommand$|ssh\.variant$")
"""Settings of the repository in the current directory that apply, as any of the user's do."""


def _asked_here(*words: str) -> str:
    """Output of git in the current directory; empty if it fails."""
    done = subprocess.run(
        ["git", *words],
        env=_environment(),
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return "" if done.returncode else done.stdout.decode("utf-8", "surrogateescape")


def _settings_here() -> dict[str, str]:
    """Variables of git with the settings of the repository in the current directory.

    Its name of the author may be one that the user's own settings include for its directory.
    """
    here = [(key, _asked_here("config", "--get", key).removesuffix("\n")) for key in IDENTITY]
    for scope in ("--local", "--worktree"):
        listed = _asked_here("config", scope, "--includes", "--null", "--list").split("\0")
        here += [(key, value) for key, _, value in (line.partition("\n") for line in listed)]
    kept = [one for one in here if one[1] and (one[0] in IDENTITY or OF_LOGIN.match(one[0]))]
    pairs = {f"GIT_CONFIG_KEY_{n}": key for n, (key, _) in enumerate(kept)}
    pairs |= {f"GIT_CONFIG_VALUE_{n}": value for n, (_, value) in enumerate(kept)}
    return {"GIT_CONFIG_COUNT": str(len(kept)), **pairs}


def _address_here(remote: str) -> str:
    """Address of a remote, which may be a name in the repository in the current directory."""
    place = Path(remote)
    if not place.exists() and (named := _asked_here("remote", "get-url", "--push", remote)):
        remote = named.removesuffix("\n")
        place = Path(_asked_here("rev-parse", "--show-toplevel").removesuffix("\n"), remote)
    return str(place.absolute()) if place.exists() else remote  # git runs in another directory


def _environment() -> dict[str, str]:
    kept = {n: v for n, v in os.environ.items() if not n.startswith("GIT_") or LOGIN.fullmatch(n)}
    return {"GIT_TERMINAL_PROMPT": "0", **kept}


def regular_files(directory: Path) -> tuple[list[Path], list[Path]]:
    """Regular files below a directory, and what is not one; no link is followed.

    Paths are relative to it. What lies below a ``.git`` would be git's own; a name with a line
    break or of bytes that are not UTF-8 has no address in a site.
    """
    files: list[Path] = []
    others: list[Path] = []
    for place, folders, names in os.walk(directory, followlinks=False):
        here = Path(place)
        for name in sorted([*folders, *names]):
            path = here / name
            mode = path.lstat().st_mode
            is_own = stat.S_ISREG(mode) or stat.S_ISDIR(mode)
            if name.lower() == ".git" or not is_own or not name.isprintable():
                others.append(path.relative_to(directory))
            elif stat.S_ISREG(mode):
                files.append(path.relative_to(directory))
        folders[:] = [n for n in folders if n.lower() != ".git" and n.isprintable()]
    return sorted(files), sorted(others)


@dataclass
class PagesRepository:
    """The working copy of a branch; `remote` is a URL or a directory."""

    scratch: Path
    remote: str
    branch: str
    parent: str = ""
    links: dict[str, bytes] = field(default_factory=dict)
    """Links of the branch, by path, with their targets; they are files in the tree."""
    settings: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        for key, value in (("--to", self.remote), ("--branch", self.branch)):
            if value.startswith("-") or not value.isprintable() or not value:
                reason = "is a name that begins with no - and has printable characters"
                raise BadInput(reason, key=key, value=value, code="E-REPORT-018")
        try:
            self.remote, self.settings = _address_here(self.remote), _settings_here()
        except FileNotFoundError:
            raise NetlabError("git is not installed", code="E-REPORT-024") from None

    @property
    def _ref(self) -> str:
        return f"refs/heads/{self.branch}"

    @property
    def tree(self) -> Path:
        return self.scratch / "tree"

    def git(self, *words: str, data: bytes | None = None) -> str:
        """Run git without a question; what it prints."""
        settings = [word for item in SETTINGS.items() for word in ("-c", "=".join(item))]
        place = {"GIT_DIR": str(self.scratch / "git"), "GIT_WORK_TREE": str(self.tree)}
        done = subprocess.run(
            ["git", *settings, *words],
            cwd=self.tree,
            env={**_environment(), **self.settings, **place, "GIT_LITERAL_PATHSPECS": "1"},
            capture_output=True,
            check=False,
            input=data or b"",
        )
        if done.returncode:
            complaint = done.stderr.decode("utf-8", "replace").strip()
            raise NetlabError(f"git {words[0]}: {complaint}", code="E-REPORT-016")
        return done.stdout.decode("utf-8", "surrogateescape").strip("\n")

    def fetch(self) -> None:
        """Make the repository, and check out the branch if the remote has it."""
        self.tree.mkdir()
        if self.branch == "HEAD" or not _asked_here("check-ref-format", "--print", self._ref):
            reason = "git has no branch of this name; git help check-ref-format states the rules"
            raise BadInput(reason, key="--branch", value=self.branch, code="E-REPORT-046")
        known = self._remote_commit()
        self.git("init", "--quiet", "--template=", "--object-format=sha1")
        info = self.scratch / "git" / "info"
        info.mkdir(exist_ok=True)
        (info / "attributes").write_text(ATTRIBUTES)
        if known:
            self.git("fetch", "--quiet", "--depth", "1", "--no-tags", "--", self.remote, self._ref)
            self.parent = self.git("rev-parse", "FETCH_HEAD")
            self.git("read-tree", self.parent)
            self.git("checkout-index", "--all", "--force")
            for mode, _, path in self._entries():
                if mode == LINK:
                    self.links[path] = (self.tree / path).read_bytes()

    def _remote_commit(self) -> str:
        listed = self.git("ls-remote", "--heads", "--", self.remote, self._ref)
        return listed.split("\t")[0]

    def _entries(self, *paths: str) -> Iterator[tuple[str, str, str]]:
        """Mode, blob and path of each file of the index."""
        for line in self.git("ls-files", "--stage", "-z", "--", *paths).split("\0"):
            if line:
                about, _, path = line.partition("\t")
                mode, blob, _ = about.split()
                yield mode, blob, path

    def replace(self, place: str, site: Path, leave_out: tuple[str, ...]) -> list[str]:
        """Put the regular files of a site in the place of what is there; what was in the way."""
        in_way = []
        target = self.tree
        for name in Path(place).parts:
            target = target / name
            if target.is_file():  # a link or a file of the branch, where a directory has to be
                path = str(target.relative_to(self.tree))
                self.git("rm", "--quiet", "--force", "--cached", "--", path)
                self.links.pop(path, None)
                target.unlink()
                in_way.append(path)
        if any(self._entries(place)):
            self.git("rm", "--quiet", "--force", "-r", "--cached", "--", place)
            self.links = {p: t for p, t in self.links.items() if not p.startswith(f"{place}/")}
        shutil.rmtree(target, ignore_errors=True)
        for file in regular_files(site)[0]:
            if str(file) not in leave_out:
                (target / file).parent.mkdir(parents=True, exist_ok=True)
                _copy(site / file, target / file)
        return in_way

    def commit(self, message: str) -> str:
        """Commit the tree; empty if it is that of the branch."""
        for path, link in self.links.items():
            if (self.tree / path).read_bytes() != link:  # a page has taken its place
                self.git("rm", "--quiet", "--force", "--cached", "--", path)
        self.git("add", "--all", "--force", "--", ".")
        tree = self.git("write-tree")
        if self.parent and tree == self.git("rev-parse", f"{self.parent}^{{tree}}"):
            return ""
        parent = ("-p", self.parent) if self.parent else ()
        return self.git("commit-tree", *parent, "-m", message, tree)

    def differing(self, commit: str, place: str, site: Path, leave_out: tuple[str, ...]) -> list:
        """Files of a site that a commit lacks or has with other bytes, and those it has besides."""
        files = [path for path in regular_files(site)[0] if str(path) not in leave_out]
        given = "".join(f"{(site / path).absolute()}\n" for path in files).encode(
            "utf-8", "surrogateescape"
        )
        blobs = self.git("hash-object", "--no-filters", "--stdin-paths", data=given).split("\n")
        wanted = {f"{place}/{path}": blob for path, blob in zip(files, blobs, strict=True)}
        listed = self.git("ls-tree", "-r", "-z", commit, "--", f"{place}/").split("\0")
        stored = {line.partition("\t")[2]: line.split()[2] for line in listed if line}
        paths = sorted(wanted.keys() | stored.keys())
        return [path for path in paths if wanted.get(path) != stored.get(path)]

    def push(self, commit: str) -> str:
        """Push a commit to the branch; its short name, once the remote has it."""
        self.git("push", "--quiet", "--", self.remote, f"{commit}:{self._ref}")
        has = self._remote_commit()
        if has != commit:
            reason = f"{self.remote} {self.branch} is at {has or 'no commit'}, not at {commit}"
            raise NetlabError(f"{reason}: it was pushed to meanwhile", code="E-REPORT-019")
        return commit[:10]


def _copy(source: Path, target: Path) -> None:
    """Copy a file that is still a regular one when it is opened."""
    try:
        file = open_regular(source, follow=False)
    except OSError as error:
        raise NetlabError(f"{source}: {error.strerror}", code="E-REPORT-020") from None
    with file, open(target, "xb") as copy:
        shutil.copyfileobj(file, copy)
