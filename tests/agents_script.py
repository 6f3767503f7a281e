"""A scripted model that plays both agents well-behavedly: what it is asked for tells it what to answer."""

import json
from collections.abc import Sequence
from typing import Any

from tests.chat_server import Answer

PROGRAM = """\
from autoindex_haystack.program import BasePreprocessor, Chunk

class Preprocessor(BasePreprocessor):
    def preprocess(self, docs):
        return [Chunk("0", doc.doc_id, {expression}) for doc in docs]
"""

STEMS = 'doc.text + " " + " ".join(w[:-3] for w in doc.text.split() if w.endswith("ing"))'
MORE_STEMS = 'doc.text + " " + " ".join(w[:-2] for w in doc.text.split() if w.endswith("ed"))'
BOTH = f'{STEMS} + " " + " ".join(w[:-2] for w in doc.text.split() if w.endswith("ed"))'

SUMMARY = {
    "patterns": [{"pattern": "Documents say another form of the verb.", "evidence": ["painting", "walked", "counts"]}],
    "works": ["Exact words are matched."],
    "recommendations": [{"change": "Add stems.", "why": "Other forms", "risk": "Longer chunks"}],
}


def program(expression: str) -> str:
    return PROGRAM.format(expression=expression)


class Agents:
    """A script for :class:`tests.chat_server.ChatServer`.

    :param rounds: For each iteration the expressions of its programs; later iterations repeat the last one with
        another number of blanks, so that they are other programs.
    :param combination: The expression of a combination.
    :param repaired: The expression of a repaired program.
    :param looks: Tool calls of the analysis, one list a turn.
    """

    def __init__(
        self,
        rounds: Sequence[Sequence[str]] = ((STEMS, MORE_STEMS),),
        combination: str = BOTH,
        repaired: str = STEMS,
        looks: Sequence[Sequence[tuple[str, Any]]] | None = None,
    ) -> None:
        self._rounds = rounds
        self._combination = combination
        self._repaired = repaired
        self._looks = looks or [
            [("bm25_retrieve", {"query": "how paint", "top_k": 3}), ("grep_corpus", {"pattern": "paint(ing|ed|s)"})],
            [("explain_miss", {"query_id": "q1", "doc_id": "paint-0"})],
            [("read_document", {"doc_id": "paint-0", "max_chars": 300})],
        ]
        self._round = -1
        self._written = 0

    def __call__(self, request: dict[str, Any], _: int) -> Answer:
        asked = request["messages"][-1]["content"]
        if "Report now" in asked:
            return Answer(json.dumps(SUMMARY))
        if request.get("tools"):
            turn = sum(message["role"] == "assistant" for message in request["messages"])
            return Answer("Let me look.", calls=self._looks[turn]) if turn < len(self._looks) else Answer("Enough.")
        if "ideas for the next programs" in asked:
            self._round, self._written = self._round + 1, 0
            wanted = self._expressions()
            ideas = [
                {"idea": f"idea {self._round}.{i}", "mechanism": f"Adds {e[:40]}", "risk": "none"}
                for i, e in enumerate(wanted)
            ]
            return Answer(json.dumps({"ideas": ideas}))
        if "This does not work" in asked:
            return Answer(_fenced(self._repaired))
        if "has all of them" in asked:
            return Answer(_fenced(self._combination))
        expression = self._expressions()[self._written]
        self._written += 1
        return Answer(f"Here it is.\n\n{_fenced(expression)}\nGood luck!")

    def _expressions(self) -> list[str]:
        beyond = max(0, self._round - len(self._rounds) + 1)
        return [expression + " " * beyond for expression in self._rounds[min(self._round, len(self._rounds) - 1)]]


def _fenced(expression: str) -> str:
    return f"```python\n{program(expression)}```"
