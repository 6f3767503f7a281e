"""The analysis agent's tools: read-only, within the corpus and the validation queries, every answer bounded."""

import json
import time
from collections.abc import Callable
from itertools import islice
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from autoindex_haystack.collection import Document
from autoindex_haystack.errors import ProgramError
from autoindex_haystack.evaluation.lookup import Lookup
from autoindex_haystack.llm import Tool, ToolCall
from autoindex_haystack.proposers.agents.cutting import cut, line
from autoindex_haystack.proposers.base import ProposerState
from autoindex_haystack.retrieval.passages import passage_start

_CHUNK = 280
"""Characters of a matching chunk that are shown."""

_MOST_READ = 3_000
_CONTEXT = 70
"""Characters on each side of a match."""

_MOST_MATCH = 120
_LONGEST_PATTERN = 300
SEARCH_SECONDS = 10.0
"""Time that a search through the corpus may take."""


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="ignore")


class Retrieve(_Arguments):
    """Rank documents for a query with the current index: id, score and the passage of the chunk that matched."""

    query: str = Field(description="Any text, such as a query or a part of one.")
    top_k: Annotated[int, Field(ge=1, le=10, description="Documents to return.")] = 5


class Read(_Arguments):
    """Read a part of a raw document."""

    doc_id: str
    offset: Annotated[int, Field(ge=0, description="Character to begin at.")] = 0
    max_chars: Annotated[int, Field(ge=1, le=_MOST_READ, description="Characters to return.")] = 1_200


class Grep(_Arguments):
    """Search the raw documents, titles included, for a regular expression: matches with context, one a document, and in
    how many documents there are any.
    """

    pattern: str = Field(min_length=1, max_length=_LONGEST_PATTERN, description="Python syntax; case is ignored.")
    max_results: Annotated[int, Field(ge=1, le=20, description="Documents to show.")] = 5


class Explain(_Arguments):
    """Say why a document is not among the first 100 of a validation query, computed from the parts of BM25."""

    query_id: str
    doc_id: str


_TOOLS: dict[str, type[_Arguments]] = {
    "bm25_retrieve": Retrieve,
    "read_document": Read,
    "grep_corpus": Grep,
    "explain_miss": Explain,
}


def tools() -> list[Tool]:
    """Returns the tools as a model is told of them."""
    return [
        Tool(name, " ".join((arguments.__doc__ or "").split()), _parameters(arguments))
        for name, arguments in _TOOLS.items()
    ]


class Toolbox:
    """Runs the tools.

    :param state: What there is to know; its ``lookup`` and ``diagnosis`` are used.
    :param remember: Keeps what depends on time, by a label, so that a repeated run sees the same.
    """

    def __init__(self, state: ProposerState, remember: Callable[[str, Callable[[], Any]], Any]) -> None:
        self._state = state
        self._remember = remember

    def run(self, call: ToolCall, label: str) -> str:
        """Run a tool.

        :param call: What the model wants done.
        :param label: Unique within the run.
        :returns: What the model is told: the result, or what is wrong with the call.
        """
        wanted = _TOOLS.get(call.name)
        if wanted is None:
            return f"Error: there is no tool {line(call.name, 60)!r}; there are {', '.join(_TOOLS)}."
        try:
            arguments = wanted.model_validate(_read(call.arguments))
        except (ValueError, ValidationError) as error:
            return f"Error: {_wrong(error)}; the parameters are {', '.join(wanted.model_fields)}."
        match arguments:
            case Retrieve(query=query, top_k=top_k):
                return self._retrieve(query, top_k)
            case Read(doc_id=doc_id, offset=offset, max_chars=length):
                return self._read(doc_id, offset, length)
            case Grep(pattern=pattern, max_results=most):
                # What is found in limited time is another thing on another machine.
                return str(self._remember(label, lambda: self._grep(pattern, most)))
            case Explain(query_id=query_id, doc_id=doc_id):
                return self._explain(query_id, doc_id)
        raise AssertionError(call.name)

    @property
    def _lookup(self) -> Lookup:
        assert self._state.lookup is not None
        return self._state.lookup()

    def _retrieve(self, query: str, top_k: int) -> str:
        found = self._lookup.search(query, top_k)
        analyzer = self._state.collection.analyzer
        lines = []
        for hit in found:
            begin = passage_start(hit.chunk, query, _CHUNK, analyzer)
            shown = ("…" if begin else "") + line(hit.chunk[begin:], _CHUNK)
            lines.append(f"{hit.rank}. {hit.doc_id} (score {hit.score:.2f}): {shown}")
        return "\n".join(lines) or "Nothing is found: no chunk has a word of this query."

    def _document(self, doc_id: str) -> Document | None:
        ordinal = self._lookup.ordinals.get(doc_id)
        return None if ordinal is None else self._state.collection.documents[ordinal]

    def _read(self, doc_id: str, offset: int, length: int) -> str:
        document = self._document(doc_id)
        if document is None:
            return f"Error: the corpus holds no document {line(doc_id, 100)!r}."
        total = len(document.text)
        metadata = "".join(f"{name}: {line(str(value), 200)}\n" for name, value in document.metadata.items())
        part = document.text[offset : offset + length]
        return f"{metadata}Characters {min(offset, total)} to {min(offset + length, total)} of {total}:\n{part}"

    def _grep(self, pattern: str, most: int) -> str:
        # Unlike `re` it can be stopped in the middle of an expression that explodes.
        import regex

        deadline = time.monotonic() + SEARCH_SECONDS
        try:
            compiled = regex.compile(pattern, regex.IGNORECASE)
        except (regex.error, RecursionError, OverflowError) as error:
            return f"Error: {line(pattern, 100)!r} is no regular expression ({error})."
        shown: list[str] = []
        matching = scanned = 0
        try:
            for document in self._state.collection.documents:
                text = f"{document.metadata.get('title') or ''}\n{document.text}"
                match = compiled.search(text, timeout=max(0.001, deadline - time.monotonic()))
                scanned += 1
                if match:
                    matching += 1
                    if len(shown) < most:
                        shown.append(f"{document.doc_id}: {_in_context(text, match.start(), match.end())}")
                if time.monotonic() > deadline:
                    break
        except TimeoutError:
            shown.append("The expression takes too long; make it simpler.")
        total = len(self._state.collection.documents)
        partly = "" if scanned == total else f" looked at in {SEARCH_SECONDS:.0f} seconds, of {total:,}"
        return "\n".join([f"{matching:,} of {scanned:,} documents{partly} match.", *shown])

    def _explain(self, query_id: str, doc_id: str) -> str:
        if query_id not in self._state.collection.queries:
            return f"Error: there is no validation query {line(query_id, 100)!r}."
        assert self._state.diagnosis is not None
        try:
            miss = self._state.diagnosis().diagnose(query_id, doc_id)
        except ProgramError as error:
            return f"Error: {line(str(error), 200)}"
        terms = miss.figures.get("terms", {})
        weighed = sorted(terms.items(), key=lambda item: (-item[1]["idf"], item[0]))
        told = [
            f"{term}: idf {known['idf']:.1f}, in the best chunk {known['tf']} times, in the text {known['tf_document']}"
            + (f", other forms {', '.join(known['forms'])}" if known["forms"] else "")
            for term, known in islice(weighed, 8)
        ]
        return cut("\n".join([f"{miss.reason}: {miss.explanation}", *told]), 1_200)


def _parameters(arguments: type[_Arguments]) -> dict[str, Any]:
    schema = arguments.model_json_schema()
    properties = {
        name: {key: value for key, value in entry.items() if key != "title"}
        for name, entry in schema["properties"].items()
    }
    return {"type": "object", "properties": properties, "required": schema.get("required", [])}


def _read(arguments: str) -> Any:
    """Read arguments, also those that are not quite JSON."""
    try:
        return json.loads(arguments)
    except ValueError:
        import json_repair

        return json_repair.loads(arguments)


def _wrong(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        return line(f"{place}: {first['msg']}" if place else first["msg"], 200)
    return "the arguments are no JSON object"


def _in_context(text: str, start: int, end: int) -> str:
    end = min(end, start + _MOST_MATCH)
    before, after = text[max(0, start - _CONTEXT) : start], text[end : end + _CONTEXT]
    return " ".join(f"{'…' if start > _CONTEXT else ''}{before}[{text[start:end]}]{after}".split())
