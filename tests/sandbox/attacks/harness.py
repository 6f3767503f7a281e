"""Runs attacks against the sandbox and looks, from outside, whether any had an effect.

An attack is a file in ``programs/``: a function ``attack(t)`` that knows where the targets are, and what must become of
it (``EXPECT``):

- ``refused``: the kernel refused it; ``nothing``: it came back with nothing; ``anything``: what it returns is harmless;
- ``stopped``, ``rejected``: the host ended it with an error; ``unstable``: the check of its output caught it.

After every attack all targets must be as they were, whatever the attack was. ``REAL`` attacks must succeed where the
kernel does not lock workers: that shows that they are attacks at all. ``NATIVE`` ones may import ctypes, so that they
meet the filter itself; that mode allows more than the usual one.

As a script it runs all attacks as another user and prints what it saw as JSON.
"""

import ast
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autoindex_haystack.errors import AutoIndexError
from autoindex_haystack.program import Document, Program
from autoindex_haystack.sandbox import DocumentFile, Limits, ProgramRunner, check_stability

HERE = Path(__file__).parent
CANARY = "CANARY-7f3a91"
_REFUSED = (1, 13, 38)
"""EPERM, EACCES, ENOSYS."""

_BAD_DESCRIPTOR = 9


@dataclass(frozen=True)
class Attack:
    """An attack as its file has it."""

    name: str
    source: str
    expect: str
    native: bool = False
    real: bool = True
    limits: dict[str, Any] = field(default_factory=dict)


def read_attacks() -> list[Attack]:
    """All attacks, by name."""
    return [_read(path) for path in sorted((HERE / "programs").glob("*.py"))]


def _read(path: Path) -> Attack:
    source = path.read_text()
    named = {
        node.targets[0].id.lower(): ast.literal_eval(node.value)
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    return Attack(path.stem, source, **named)


class Targets:
    """What attacks aim at: files, a folder, servers and a process, all of the user who runs this."""

    def __init__(self, folder: Path) -> None:
        self._stack = ExitStack()
        self._folder = folder
        self.folder = folder / "folder"
        self.folder.mkdir()
        self.secret = folder / "secret"
        self.secret.write_text(CANARY)
        os.environ["AUTOINDEX_CANARY"] = CANARY
        self.victim = subprocess.Popen(["sleep", "300"])
        abstract, unix = f"autoindex-attack-{os.getpid()}", str(folder / "socket")
        self.tcp, self.udp = self._socket("127.0.0.1"), self._socket("127.0.0.1", socket.SOCK_DGRAM)
        self.abstract, self.unix = self._socket("\0" + abstract), self._socket(unix)
        self.seen = {
            "secret": str(self.secret),
            "folder": str(self.folder),
            "victim": self.victim.pid,
            "host": os.getpid(),
            "tcp": self.tcp.getsockname()[1],
            "udp": self.udp.getsockname()[1],
            "abstract": abstract,
            "unix": unix,
        }

    def _socket(self, place: str, kind: int = socket.SOCK_STREAM) -> socket.socket:
        inet = place.startswith("127.")
        made = self._stack.enter_context(socket.socket(socket.AF_INET if inet else socket.AF_UNIX, kind))
        made.bind((place, 0) if inet else place)
        made.setblocking(False)
        if kind == socket.SOCK_STREAM:
            made.listen()
        return made

    def effects(self) -> list[str]:
        """What is not as it was; everything is put back."""
        found = []
        if not self.secret.is_file() or self.secret.read_text() != CANARY or self.secret.stat().st_nlink != 1:
            found.append("the secret was changed")
            self.secret.unlink(missing_ok=True)
            self.secret.write_text(CANARY)
        for path in list(self.folder.iterdir()):
            found.append(f"{path.name} was made")
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        for name in ("tcp", "abstract", "unix"):
            try:
                getattr(self, name).accept()[0].close()
                found.append(f"a connection came by {name}")
            except BlockingIOError:
                pass
        try:
            self.udp.recv(10)
            found.append("a packet came")
        except BlockingIOError:
            pass
        if self.victim.poll() is not None:
            found.append("the victim was killed")
        return found

    def close(self) -> None:
        """End the victim and the servers."""
        self.victim.kill()
        self.victim.wait()
        self._stack.close()


@contextmanager
def targets() -> Iterator[Targets]:
    """Targets in a folder of their own."""
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        made = Targets(Path(folder))
        try:
            yield made
        finally:
            made.close()


def run_attack(attack: Attack, aimed: Targets, isolation: str = "full") -> dict[str, Any]:
    """Run an attack and say what became of it and what it changed."""
    program = Program((HERE / "prelude.txt").read_text() + "\n\n" + attack.source)
    documents = [Document(f"real-{i}", json.dumps(aimed.seen | {"i": i})) for i in range(12)]
    imports = ["ctypes", "socket", "resource", "mmap", "io"] if attack.native else []
    limits = Limits(**{"seconds": 20.0, "document_seconds": 10.0, "memory": 512 << 20} | attack.limits)
    options: dict[str, Any] = {"limits": limits, "allowed_imports": imports, "isolation": isolation}
    output, error = "", ""
    with DocumentFile(documents) as file, ProgramRunner(program, file, **options) as runner:
        try:
            runner.start()
            group = runner._workers[0].pid
            output = runner.run(ordinals=range(1)).chunks.texts[0]
            if attack.expect == "unstable":
                check_stability(program, documents, state={}, **options)
        except AutoIndexError as raised:
            error = f"{type(raised).__name__}: {raised}"
    effects = aimed.effects()
    if CANARY in output + error:
        effects.append("the secret was read")
    return {"name": attack.name, "output": output, "error": error[:500], "effects": [*effects, *_left(group)]}


def _left(group: int) -> list[str]:
    """Processes of a worker's session that still run."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().rpartition(")")
        except OSError:
            continue
        if rest.split()[3] == str(group) and rest.split()[0] != "Z":
            found.append(f"process {name.split()[0]} is left")
    return found


def complaint(attack: Attack, seen: dict[str, Any]) -> str:
    """What is wrong with what became of an attack; empty when all is well."""
    if seen["effects"]:
        return f"it had effects: {seen['effects']}"
    got = json.loads(seen["output"]) if seen["output"] and not seen["error"] and attack.expect != "anything" else None
    refused = isinstance(got, dict) and got.get("refused") in (*_REFUSED, _BAD_DESCRIPTOR)
    well = {
        "refused": refused,
        "nothing": not got and not seen["error"],
        "anything": not seen["error"],
        "stopped": seen["error"].startswith("ProgramError: the program"),
        "rejected": "breaks the protocol" in seen["error"],
        "unstable": "changes with ids, batch, order" in seen["error"],
    }[attack.expect]
    return "" if well else f"expected {attack.expect}, but saw {seen['output'][:500]!r} {seen['error']}"


def succeeded(attack: Attack, seen: dict[str, Any]) -> bool:
    """Whether an attack worked, where workers are not locked."""
    got = json.loads(seen["output"]) if seen["output"] else None
    return bool(got) and not (isinstance(got, dict) and "refused" in got)


def as_user(python: str, become: dict[str, Any]) -> list[dict[str, Any]]:
    """Run all attacks in a process of another user's."""
    code = HERE.parents[2]
    packages = [path for path in sys.path if path.endswith("-packages")]
    environment = {"PYTHONPATH": os.pathsep.join([str(code), *packages]), "PATH": os.environ.get("PATH", "")}
    done = subprocess.run(
        [python, "-B", __file__],
        env=environment,
        cwd="/",
        **become,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    seen: list[dict[str, Any]] = json.loads(done.stdout)
    return seen


def main() -> None:
    """Run all attacks and print what was seen."""
    with targets() as aimed:
        print(json.dumps([run_attack(attack, aimed) for attack in read_attacks()]))


if __name__ == "__main__":
    main()
