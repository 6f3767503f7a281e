"""Queries that a language model asks: one call writes a query for a document, a second one answers it from there."""

import hashlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from autoindex_haystack.collection import Document
from autoindex_haystack.collection.importers import Query, Source
from autoindex_haystack.experiments.synthetic.lines import normalized
from autoindex_haystack.experiments.synthetic.order import seeded_order
from autoindex_haystack.llm import ChatModel, LimitReached, Request, Schema
from autoindex_haystack.proposers.agents.answers import json_values
from autoindex_haystack.proposers.agents.prompts import fill
from autoindex_haystack.retrieval.analyzers import tokenize

STYLES = (
    "a full question, as one asks a colleague",
    "two to five keywords, as one types into a search box",
    "the situation or the problem somebody is in, in one or two sentences, without naming the solution",
    "what somebody half remembers, vague about names",
)
"""How queries are written, in turns."""

_SHOWN = 6_000
"""Characters of a document that the model sees."""

_FEWEST = 30
"""Terms that a document must have."""

_COPIED = 4
"""Words in a row that count as copied, unless all of them are in the title or common."""

_TRIES = 2
_DOCUMENTS = 4
"""So many times as many documents as queries are asked about at most."""

_TEXT = {"type": "string"}


def _schema(name: str, **properties: Any) -> Schema:
    return Schema(
        name,
        {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False},
    )


_QUERY = _schema("query", query=_TEXT)
_CHECK = _schema("check", answer=_TEXT, answered={"type": "boolean"})


@dataclass
class Asked:
    """What came of asking.

    :param source: The collection.
    :param copied: Queries given up because they copied the document.
    :param unanswered: Queries given up because the second call did not find the answer.
    :param unread: Answers without a query.
    :param ended: Why it ended early; empty when it did not.
    """

    source: Source
    copied: int = 0
    unanswered: int = 0
    unread: int = 0
    ended: str = ""
    queries: dict[str, Query] = field(default_factory=dict)


def asked_queries(
    documents: Sequence[Document],
    number: int,
    model: ChatModel,
    *,
    seed: int = 0,
    name: str = "a language model",
    progress: Callable[[int], None] | None = None,
) -> Asked:
    """Let a language model ask, each query judged relevant for the document that it was written for.

    :param documents: The corpus; it stays as it is.
    :param number: How many queries at most.
    :param model: Who writes and who answers.
    :param seed: Another seed gives other documents.
    :param name: The model's name.
    :param progress: Called with the number of queries so far.
    :returns: The collection, and how many queries were given up.
    :raises LLMError: If the model cannot be asked.
    """
    how = f"queries that {name} wrote for documents and then answered from them"
    asked = Asked(Source("", documents, {}, synthetic=how))
    known: set[str] = set()
    styles = itertools.cycle(STYLES)
    try:
        for place in itertools.islice(_worth_asking(documents, seed), _DOCUMENTS * number):
            if len(asked.queries) == number:
                break
            query = _ask(documents[place], next(styles), model, asked)
            if query and normalized(query) not in known and _answered(documents[place], query, model, asked):
                known.add(normalized(query))
                label = f"s{len(asked.queries) + 1:0{len(str(number))}}"
                asked.queries[label] = Query(query, {documents[place].doc_id: 1})
                if progress:
                    progress(len(asked.queries))
    except LimitReached as error:
        asked.ended = str(error)
    asked.source = Source(_origin(asked, how, seed), documents, asked.queries, synthetic=how)
    return asked


def _origin(asked: Asked, how: str, seed: int) -> str:
    return (
        f"**Synthetic queries**: {how} (seed {seed}). Given up: {asked.copied} that copied their document, "
        f"{asked.unanswered} that it did not answer, {asked.unread} answers without a query. Each query is judged "
        "relevant for one document; all others count as wrong, though some may answer it too."
    )


def _worth_asking(documents: Sequence[Document], seed: int) -> Iterator[int]:
    for place in seeded_order(documents, seed):
        if len(tokenize(documents[place].text[:_SHOWN])) >= _FEWEST:
            yield place


def _ask(document: Document, style: str, model: ChatModel, asked: Asked) -> str:
    """Let the model write a query; empty when it gave none that can be used."""
    avoid = ""
    for attempt in range(1, _TRIES + 1):
        prompt = fill("synthetic/ask", style=style, avoid=avoid, **_shown(document))
        label = f"document {_short(document)}, query {attempt}"
        query = " ".join(str(_answer(model, label, "ask", prompt, _QUERY).get("query") or "").split())
        if not tokenize(query):
            asked.unread += 1
            return ""
        avoid = copied_phrase(query, document)
        if not avoid:
            return query
    asked.copied += 1
    return ""


def _answered(document: Document, query: str, model: ChatModel, asked: Asked) -> bool:
    """Whether a second call answers the query from the document."""
    prompt = fill("synthetic/check", query=query, **_shown(document))
    found = _answer(model, f"document {_short(document)}, check", "check", prompt, _CHECK)
    answered = found.get("answered") is True and bool(str(found.get("answer") or "").strip())
    asked.unanswered += not answered
    return answered


def _answer(model: ChatModel, label: str, role: str, prompt: str, schema: Schema) -> dict[str, Any]:
    """Ask, and read the object that the answer holds; an empty one when there is none."""
    messages = ({"role": "user", "content": prompt},)
    reply = model.complete(Request(label, role, messages, schema=schema, max_tokens=1024))
    return next((value for value in json_values(reply.text) if isinstance(value, dict)), {})


def copied_phrase(query: str, document: Document) -> str:
    """Find words in a row that a query took from a document.

    :param query: The query.
    :param document: The document.
    :returns: The longest such row of four words or more; empty when there is none.
    """
    words = normalized(query).split()
    title = document.metadata.get("title") or ""
    text = f" {normalized(f'{title} {document.text}')} "
    for length in range(len(words), _COPIED - 1, -1):
        for first in range(len(words) - length + 1):
            row = " ".join(words[first : first + length])
            if f" {row} " in text:
                return row
    return ""


def _shown(document: Document) -> dict[str, str]:
    return {"title": str(document.metadata.get("title") or ""), "document": document.text[:_SHOWN]}


def _short(document: Document) -> str:
    """A name for a document in labels, whatever its id holds."""
    return hashlib.sha256(document.doc_id.encode()).hexdigest()[:16]
