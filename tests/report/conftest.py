"""A run over hostile documents, queries, ideas and programs, and a browser to open its page in."""

import json
import os
import shutil

import pytest

from autoindex_haystack import optimize
from autoindex_haystack.optimizer import SearchSettings
from autoindex_haystack.proposers import Candidate

MARKUP = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"

SOURCE = '''"""{docstring}"""

from autoindex_haystack.program import BasePreprocessor, Chunk

NOTE = "{note}"  # \x1b[2J


class Preprocessor(BasePreprocessor):
    def preprocess(self, docs):
        return [Chunk("0", doc.doc_id, {expression}) for doc in docs]
'''
STEMS = 'doc.text + " " + " ".join(w[:-3] for w in doc.text.split() if w.endswith("ing"))'
BOTH = f'{STEMS} + " " + " ".join(w[:-2] for w in doc.text.split() if w.endswith("ed"))'
VERBS = (
    "connect paint walk plant count start mount print repair collect inspect extend protect construct discuss report "
    "visit predict select transport adjust afford attend avoid borrow climb comment consult deliver depend"
).split()


def candidate(idea, expression, parents=()):
    source = SOURCE.format(docstring=idea, note=MARKUP.replace('"', "'"), expression=expression)
    return Candidate(source, f"{idea} {MARKUP}", f"because of {MARKUP}", parents)


class Scripted:
    """One improvement, then a better one; some that do not help, fail or grow too large."""

    name = "scripted"

    def propose(self, state):
        parents = (state.incumbent.sha256,)
        rounds = {
            1: [("stems of -ing", STEMS), ("fails", "1 / 0"), ("worse", "'nothing'")],
            2: [("stems of -ing and -ed", BOTH), ("blanks", "doc.text + ' '"), ("large", "doc.text * 5")],
        }
        return [candidate(idea, expression, parents) for idea, expression in rounds[state.iteration]]

    def combine(self, state, improvements):
        return None


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """The folder of a finished run."""
    place = tmp_path_factory.mktemp("reported")
    collection = place / "hostile"
    collection.mkdir()
    corpus, queries, qrels = [], [], ["query-id\tcorpus-id\tscore"]
    for i, verb in enumerate(VERBS):
        for n, form in enumerate((f"{verb}ing", f"{verb}ed", f"{verb}s")):
            filler = " ".join(f"filler{(7 * i + 3 * n + k) % 40}" for k in range(12))
            corpus.append({"_id": f"{verb}-{n}", "title": MARKUP, "text": f"{MARKUP} {filler} {form} {filler}"})
            qrels.append(f"q{i}\t{verb}-{n}\t1")
        corpus += [{"_id": f"{verb}-{k}", "title": "", "text": f"{MARKUP} {verb} other{k}"} for k in "abc"]
        queries.append({"_id": f"q{i}", "text": f"how filler{i} {verb} {MARKUP}"})
    corpus += [
        {"_id": f"x{i}", "title": MARKUP, "text": f"{MARKUP} {' '.join(f'filler{(i + k) % 40}' for k in range(9))}"}
        for i in range(600)
    ]
    for name, rows in (("corpus.jsonl", corpus), ("queries.jsonl", queries)):
        (collection / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (collection / "qrels.tsv").write_text("\n".join(qrels) + "\n", encoding="utf-8")
    settings = SearchSettings(iterations=2, candidates=3, acceptance="paper")
    optimize(collection, place / "my run", settings=settings, proposer=Scripted())
    return place / "my run"


@pytest.fixture(scope="module")
def browser():
    """Debian's Chromium, or another one that is installed.

    It is closed with its file of tests: its event loop must not run when asynchronous tests of others do.
    """
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        if os.environ.get("CI"):
            pytest.fail("Chromium is missing; .ci/run installs it")
        pytest.skip("these tests open pages in Chromium; install it with: apt-get install chromium")
    # As root Chromium refuses its own sandbox.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=arguments)
        yield chromium
        chromium.close()
