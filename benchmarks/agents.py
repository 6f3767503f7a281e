"""Tokens of a search with the agents, on a scripted model: `python -m benchmarks.agents --collection DIR`.

The script is that of a diligent model: in each of 5 iterations it looks with 7 calls of tools in 5 turns, reports, has
4 ideas, writes 4 programs of some 60 lines, and joins what helped. A token is counted as four characters of all that is
sent (messages, tools and schemas, as JSON) and received.
"""

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.commands import run_json
from tests.chat_server import Answer, ChatServer

PAPER = 344_081
"""Tokens of a run in the paper, with qwen3-coder."""

PROGRAM = '''\
"""Full text with the title repeated, word forms of the corpus beside the words, and a lead chunk."""

import re
from collections import Counter, defaultdict

from autoindex_haystack.program import BasePreprocessor, Chunk

WORD = re.compile(r"[a-z]{{3,}}")
ENDINGS = ("ations", "ation", "ingly", "ments", "ment", "ings", "ness", "ing", "ies", "ion", "ed", "es", "ly", "s")
LEAST, MOST = {least}, {most}
LEAD = 120


def stem(word):
    """The word without its ending, when enough of it is left."""
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: len(word) - len(ending)]
    return word


def clean(text):
    """The text without markup, with its white space joined."""
    text = re.sub(r"<[^<>]{{1,200}}>", " ", text)
    text = re.sub(r"https?://[^ ]{{1,300}}", " ", text)
    return re.sub(r"[ \\t]+", " ", text)


class Preprocessor(BasePreprocessor):
    def calibrate(self, docs):
        frequency = Counter()
        for doc in docs:
            frequency.update(set(WORD.findall(doc.text.lower())))
        forms = defaultdict(list)
        for word, count in sorted(frequency.items()):
            if count >= LEAST:
                forms[stem(word)].append(word)
        kept = {{root: words[:MOST] for root, words in forms.items() if len(words) > 1}}
        return {{"forms": kept}}

    def others(self, text):
        """Other forms of the words of a text, each once."""
        found = []
        seen = set(WORD.findall(text.lower()))
        for word in sorted(seen):
            for other in self.state.get("forms", {{}}).get(stem(word), ()):
                if other not in seen:
                    found.append(other)
        return " ".join(dict.fromkeys(found))

    def preprocess(self, docs):
        chunks = []
        for doc in docs:
            title = str((doc.metadata or {{}}).get("title") or "")
            text = clean(doc.text)
            whole = "\\n".join(part for part in (title, text, self.others(f"{{title}} {{text}}")) if part)
            chunks.append(Chunk(f"{{doc.doc_id}}-0", doc.doc_id, whole))
            words = text.split()
            if len(words) > 2 * LEAD:
                chunks.append(Chunk(f"{{doc.doc_id}}-1", doc.doc_id, f"{{title}}\\n{{' '.join(words[:LEAD])}}"))
        return chunks
'''

SENTENCE = "Relevant documents use another form of the query's main word, and long ones are outranked by short ones. "


class Diligent:
    """The scripted model."""

    def __init__(self) -> None:
        self._programs = 0

    def __call__(self, request: dict[str, Any], _: int) -> Answer:
        asked = request["messages"][-1]["content"]
        if "Report now" in asked:
            return Answer(_report())
        if request.get("tools"):
            return self._look(request)
        if "ideas for the next programs" in asked:
            idea = {"idea": SENTENCE[:90], "mechanism": 2 * SENTENCE, "risk": SENTENCE}
            return Answer(json.dumps({"ideas": [{**idea, "idea": f"{i}: {SENTENCE[:90]}"} for i in range(4)]}))
        self._programs += 1
        least, most = 2 + self._programs % 3, 2 + self._programs
        return Answer(f"I write it so:\n\n```python\n{PROGRAM.format(least=least, most=most)}```\n\n{SENTENCE}")

    @staticmethod
    def _look(request: dict[str, Any]) -> Answer:
        turn = sum(message["role"] == "assistant" for message in request["messages"])
        task = request["messages"][1]["content"].partition("# Queries to look at")[2]
        cases = [line.partition(": ") for line in task.splitlines() if line.startswith("- ")]
        best = [line.rpartition(": ")[2] for line in task.splitlines() if line.startswith("  - ranked first")]
        query, _, text = cases[turn % len(cases)]
        document = best[turn % len(best)]
        turns: list[list[tuple[str, Any]]] = [
            [("bm25_retrieve", {"query": text, "top_k": 5}), ("read_document", {"doc_id": document})],
            [("explain_miss", {"query_id": query[2:], "doc_id": document}), ("bm25_retrieve", {"query": text})],
            [("read_document", {"doc_id": document, "max_chars": 1500})],
            [("grep_corpus", {"pattern": text.split()[0], "max_results": 8})],
            [("bm25_retrieve", {"query": text, "top_k": 10})],
        ]
        return Answer(SENTENCE, calls=turns[turn]) if turn < len(turns) else Answer("I have seen enough. " + SENTENCE)


def _report() -> str:
    evidence = [SENTENCE[:80]] * 3
    return json.dumps(
        {
            "patterns": [{"pattern": SENTENCE, "evidence": evidence}] * 3,
            "works": [SENTENCE] * 2,
            "recommendations": [{"change": SENTENCE, "why": SENTENCE, "risk": SENTENCE}] * 3,
        }
    )


def main() -> None:
    """Run the search and print its accounts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collection", type=Path, required=True)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    os.environ["OPENAI_API_KEY"] = "none"
    with ChatServer(Diligent()) as server, tempfile.TemporaryDirectory() as folder:
        result = run_json(
            "optimize",
            given.collection,
            *("--out", Path(folder) / "run", "--iterations", 5, "--candidates", 4, "--acceptance", "paper"),
            *("--proposer", "agents", "--model", "scripted", "--base-url", server.url),
        )
    accounts = result["llm"] | {"adopted": result["adopted"], "paper": PAPER}
    if given.json:
        print(json.dumps(accounts, indent=1))
        return
    print("| role | calls | tokens | of these answered |\n|---|---|---|---|")
    for role, sums in [*accounts["by_role"].items(), ("both", accounts)]:
        print(f"| {role} | {sums['calls']} | {sums['tokens']:,} | {sums['completion_tokens']:,} |")
    print(f"\n{accounts['tokens'] / PAPER:.0%} of the paper's {PAPER:,}; {accounts['adopted']} programs were adopted")


if __name__ == "__main__":
    main()
