"""What isolation a worker says it has, and what happens where it cannot be had or the host ends."""

import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from autoindex_haystack.errors import ProgramError, SandboxUnavailable
from autoindex_haystack.program import Document
from autoindex_haystack.sandbox import DocumentFile, ProgramRunner, isolation, layers_in_force
from autoindex_haystack.sandbox.worker import seccomp, syscalls

from .conftest import DOCUMENTS, SHORT, living, program

FULL = ("no capabilities", "no new privileges", "seccomp, no file system", "self-test", "resource limits")


def test_the_worker_tells_the_layers_in_force():
    assert set(FULL) < set(layers_in_force())
    libraries = layers_in_force(allowed_imports=["email"])
    assert "seccomp, read-only libraries" in libraries
    assert any(layer.startswith("Landlock") for layer in libraries)


def test_process_only_has_no_layer_of_the_kernel_s_and_says_so_once(caplog):
    isolation._warn_once.cache_clear()
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            layers = layers_in_force("process-only")
    assert not any("seccomp" in layer or "Landlock" in layer for layer in layers)
    assert len(caplog.records) == 1
    assert "run without the kernel's isolation" in caplog.text


def test_an_unknown_isolation_is_refused():
    with pytest.raises(ValueError, match="isolation must be one of full, process-only"):
        layers_in_force("none")


@pytest.mark.parametrize("missing", ["no capabilities", "no new privileges", "self-test", "ends with the host"])
def test_a_worker_that_lacks_a_layer_is_not_used(missing):
    answer = {"layers": [layer for layer in layers_in_force() if layer != missing], "missing": ""}
    with pytest.raises(SandboxUnavailable, match=f"{missing} cannot be had.*--sandbox process-only"):
        isolation.checked_layers(answer, "full")


WITHOUT = """
import ctypes, errno, struct, sys
# A container that forbids the call: everything else is allowed.
code = [(0x20, 0, 0, 0), (0x15, 0, 1, {number}), (0x06, 0, 0, 0x00050000 | errno.{error}), (0x06, 0, 0, 0x7FFF0000)]
program = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *line) for line in code))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, struct.pack("HxxxxxxP", len(code), ctypes.addressof(program)), 0, 0) == 0
from autoindex_haystack.sandbox import layers_in_force
from autoindex_haystack.errors import SandboxUnavailable
try:
    print(layers_in_force({arguments}))
except SandboxUnavailable as error:
    print("unavailable:", error)
"""


@pytest.mark.parametrize(
    ("call", "error", "arguments", "seen"),
    [
        (
            "seccomp",
            "ENOSYS",
            "",
            "unavailable: .* refuses seccomp .*it has no seccomp filters.*--sandbox process-only",
        ),
        ("seccomp", "EPERM", "", "unavailable: .* refuses seccomp .*Operation not permitted"),
        ("seccomp", "EPERM", "'process-only'", "fresh interpreter"),
        ("landlock_create_ruleset", "ENOSYS", "", "no file system.*self-test"),
        ("landlock_create_ruleset", "ENOSYS", "allowed_imports=['email']", "unavailable: .*need Landlock"),
    ],
)
def test_what_the_kernel_does_not_give_is_an_error_that_says_why(call, error, arguments, seen):
    number = syscalls.numbers(os.uname().machine)[call]
    code = WITHOUT.format(number=number, error=error, arguments=arguments)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert re.search(seen, done.stdout)


@pytest.mark.parametrize("libraries", [False, True])
@pytest.mark.parametrize("machine", syscalls.ARCHITECTURES)
def test_the_filter_can_be_built_for_every_machine_and_allows_nothing_that_makes_or_reaches_anything(
    machine, libraries
):
    allowed = set(syscalls.allowed(1, libraries=libraries))
    forbidden = "socket clone clone3 execve kill ptrace unshare seccomp landlock_restrict_self ioctl".split()
    assert allowed.isdisjoint(forbidden)
    assert allowed <= set(syscalls.numbers(machine))
    if not libraries:
        assert allowed.isdisjoint("openat close fcntl fstat newfstatat statx readlinkat getdents64 getcwd".split())
    numbers = list(syscalls.numbers(machine).values())
    assert len(numbers) == len(set(numbers))
    compiled = seccomp.build_filter(machine, 1, libraries=libraries)
    assert len(compiled) // 8 < 4096
    assert seccomp._INSTRUCTION.unpack(compiled[-8:]) == (0x06, 0, 0, 0x00050001)


KERNEL_TABLES = {
    "x86_64": [Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"), Path("/usr/include/asm/unistd_64.h")],
    "aarch64": [Path("/usr/include/asm-generic/unistd.h")],
}
"""Where distributions put the kernel's headers; those of aarch64 are the generic ones, on whatever machine."""


@pytest.mark.parametrize("machine", syscalls.ARCHITECTURES)
def test_the_numbers_of_calls_are_those_of_the_kernel_s_headers(machine):
    header = next((path for path in KERNEL_TABLES[machine] if path.exists()), None)
    if header is None:
        pytest.skip("the kernel's headers are not installed")
    defined = dict(re.findall(r"^#define (__NR\w+)\s+(\w+)$", header.read_text(), re.MULTILINE))
    ours = syscalls.numbers(machine)
    assert {name: int(defined.get(value, value)) for name in ours if (value := defined[f"__NR_{name}"])} == ours


def test_the_worker_is_locked_before_it_knows_the_program(monkeypatch):
    sent = []
    from autoindex_haystack.sandbox.process import WorkerProcess

    original = WorkerProcess.send
    monkeypatch.setattr(WorkerProcess, "send", lambda self, command: sent.append(command) or original(self, command))
    with DocumentFile(DOCUMENTS) as file, ProgramRunner(program(), file, limits=SHORT) as runner:
        runner.start()
    assert [command["do"] for command in sent] == ["isolate", "load"]
    assert "BasePreprocessor" not in repr(sent[0])


def test_a_page_that_was_cut_off_does_not_kill_the_host(run):
    with pytest.raises(ProgramError, match="PermissionError"):
        run(program("reach('ftruncate')(4, 0)"), isolation="process-only")


HOST = """
import sys, threading, time
from autoindex_haystack.program import Document, Program
from autoindex_haystack.sandbox import DocumentFile, ProgramRunner
source = sys.stdin.read()
file = DocumentFile([Document("d", "x")])
runner = ProgramRunner(Program(source), file, workers=2, isolation={isolation!r})
def work():
    runner.start()
    print(*[w.pid for w in runner._workers], flush=True)
    runner.run()
if {thread}:
    starter = threading.Thread(target=work, daemon=True)
    starter.start()
    starter.join()
else:
    work()
"""


@pytest.mark.parametrize("isolated", ["full", "process-only"])
@pytest.mark.parametrize("thread", [False, True], ids=["main-thread", "other-thread"])
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_worker_outlives_its_host_nor_does_a_file(tmp_path, ending, thread, isolated):
    environment = dict(os.environ, TMPDIR=str(tmp_path))
    host = subprocess.Popen(
        [sys.executable, "-c", HOST.format(isolation=isolated, thread=thread)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        text=True,
    )
    assert host.stdin
    assert host.stdout
    host.stdin.write(program("while True: pass").source)
    host.stdin.close()
    pids = [int(pid) for pid in host.stdout.readline().split()]
    assert len(pids) == 2
    assert all(living(pid) for pid in pids)
    host.send_signal(ending)
    try:
        host.wait(20)
    finally:
        host.kill()
        host.stdout.close()
    deadline = time.monotonic() + 1
    while any(living(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert [pid for pid in pids if living(pid)] == []
    assert list(tmp_path.iterdir()) == []


def test_workers_do_not_end_with_the_thread_that_started_them():
    """The usual parent-death signal would come as soon as a pool's thread ends."""
    with DocumentFile(DOCUMENTS) as file, ProgramRunner(program(), file, limits=SHORT) as runner:
        starter = threading.Thread(target=runner.start)
        starter.start()
        starter.join()
        time.sleep(0.2)
        pids = [worker.pid for worker in runner._workers]
        assert runner.run().chunks.texts == ["one", "two", "three"]
        assert [worker.pid for worker in runner._workers] == pids


def test_a_document_that_kills_its_worker_is_named_and_the_next_run_has_a_new_worker(workers):
    killing = program("if doc.text == 'two': reach('_exit')(7)\nchunks.append(Chunk('0', doc.doc_id, doc.text))")
    with DocumentFile(DOCUMENTS) as file, ProgramRunner(killing, file, limits=SHORT) as runner:
        with pytest.raises(ProgramError, match="ended with code 7 at document second"):
            runner.run()
        assert runner.run(ordinals=range(1)).chunks.texts == ["one"]
    assert len(workers) == 2


def test_calibrate_is_locked_too(run):
    reading = program(members="def calibrate(self, docs):\n    return {'n': reach('open')('/etc/passwd', 0)}")
    with pytest.raises(ProgramError, match="PermissionError"):
        run(reading, [Document("a", "x")], calibrate=True)


def test_the_command_line_of_a_worker_shows_nothing_of_the_program():
    """All users can read it."""
    with DocumentFile(DOCUMENTS) as file, ProgramRunner(program(), file, limits=SHORT) as runner:
        runner.start()
        command = Path(f"/proc/{runner._workers[0].pid}/cmdline").read_bytes()
    assert b"BasePreprocessor" not in command


def test_of_a_checkout_only_the_package_that_is_allowed_can_be_read(tmp_path, monkeypatch, run):
    package = tmp_path / "project" / "allowed_package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "late.py").write_text("VALUE = 'found late'")
    (tmp_path / "project" / "keys.txt").write_text("secret")
    monkeypatch.syspath_prepend(str(tmp_path / "project"))
    late = "import allowed_package.late as late; chunks.append(Chunk('0', doc.doc_id, late.VALUE))"
    assert set(run(program(late), allowed_imports=["allowed_package"]).chunks.texts) == {"found late"}
    reading = f"reach('open')({str(tmp_path / 'project' / 'keys.txt')!r}, 0)"
    with pytest.raises(ProgramError, match="PermissionError"):
        run(program(reading), allowed_imports=["allowed_package"])
