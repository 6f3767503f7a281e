"""The example for Hayhooks works as its README says, in an environment of its own and over real HTTP."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from autoindex_haystack.frozen import ComponentSettings, new_manifest, write_frozen
from autoindex_haystack.program import builtin_program

pytestmark = pytest.mark.full

CHECKOUT = Path(__file__).resolve().parents[2]
README = CHECKOUT / "examples" / "hayhooks" / "README.md"
COMMANDS = [
    line
    for block in re.findall(r"```bash\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    for line in block.splitlines()
]
SECONDS = 120


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """A new environment with AutoIndex and what the README installs."""
    folder = tmp_path_factory.mktemp("hayhooks")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "-q", "--constraint", CHECKOUT / "constraints.txt"]
    [wanted] = re.findall(r"pip install '(.*)'", COMMANDS[0])
    subprocess.run([*pip, CHECKOUT, wanted], check=True, timeout=900)
    return folder


@pytest.fixture
def reader(environment, tmp_path):
    """Runs a command where the README's reader is, who has a component and the examples."""
    manifest = new_manifest(builtin_program("passages"), {}, ComponentSettings())
    write_frozen(tmp_path / "my_run" / "frozen", manifest, builtin_program("passages"), {})
    shutil.copytree(CHECKOUT / "examples" / "hayhooks", tmp_path / "examples" / "hayhooks")
    path = f"{environment / 'bin'}:{os.environ['PATH']}"
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {"cwd": tmp_path, "env": {**outside, "PATH": path, "HAYSTACK_TELEMETRY_ENABLED": "False"}}


def test_documents_go_in_and_are_found_over_http(reader, free_port):
    _, export, serve, index, search = [line.replace("1416", str(free_port)) for line in COMMANDS]
    assert "--host 127.0.0.1" in serve
    with (reader["cwd"] / "log").open("wb") as log:
        server = subprocess.Popen(f"{export}\nexec {serve}", shell=True, stdout=log, stderr=log, **reader)
    try:
        wait_for(f"http://127.0.0.1:{free_port}/status", server, reader["cwd"] / "log")
        assert ask(index, reader) == '{"result":{"chunks":1}}'
        found = ask(search, reader)
        assert '"id":"wing"' in found
        assert '"content":"A heated wing sheds ice."' in found
        assert ask(index.replace("A heated wing sheds ice.", "Nothing but propellers."), reader)
        assert ask(search, reader) == '{"result":[]}'
    finally:
        server.terminate()
        server.wait(timeout=SECONDS)


def ask(command, reader):
    return subprocess.run(
        command.replace("curl -s", "curl -sf"),
        shell=True,
        check=True,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        **reader,
    ).stdout


def wait_for(url, server, log):
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        assert server.poll() is None, log.read_text("utf-8")
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                assert answer.status == 200
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    pytest.fail(log.read_text("utf-8"))


@pytest.fixture
def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]
