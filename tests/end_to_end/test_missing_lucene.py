"""Without Lucene the rest works, and every message says what to do."""

import json

import pytest

from autoindex_haystack.cli.checks import LEAN_LUCENE


@pytest.fixture
def without_lucene(tmp_path):
    """An environment in which no Lucene is found."""
    return {"ANSERINI_CLASSPATH": str(tmp_path / "nowhere")}


def test_a_command_that_needs_lucene_says_what_to_install(without_lucene, kitchen, out, autoindex):
    index = ("index", kitchen, "--backend", "lucene", "--out", out / "index")
    autoindex(*index, **without_lucene).failed(2, "install Pyserini")
    autoindex("crosscheck", kitchen, **without_lucene).failed(2, "install Pyserini")
    assert list(out.iterdir()) == []


def test_doctor_passes_without_lucene_and_names_what_installs_it(without_lucene, autoindex):
    report = json.loads(autoindex("doctor", "--json", **without_lucene).succeeded().out)
    [lucene] = [check for check in report["checks"] if check["name"] == "lucene engine"]
    assert report["ok"] is True
    assert lucene["status"] == "missing"
    assert lucene["mend"] == LEAN_LUCENE
