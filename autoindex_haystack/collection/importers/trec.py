"""TREC's own files: documents in SGML, topics in the three layouts that tracks have used, and qrels."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from pathlib import Path

from autoindex_haystack.collection.importers.source import Query, Source
from autoindex_haystack.collection.qrels import read_qrels
from autoindex_haystack.collection.readers import open_text
from autoindex_haystack.collection.types import Document
from autoindex_haystack.errors import CollectionError

TOPIC_FIELDS = ("title", "desc", "narr")

_DOCNO = re.compile(r"<DOCNO>(.*?)</DOCNO>", re.IGNORECASE | re.DOTALL)
_TITLE = re.compile(r"<(TITLE|HEADLINE|HEAD|HL|TTL)>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
_TEXT = re.compile(r"<(TEXT|BODY)>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z][^<>\n]*>")
_LONGEST_DOCUMENT = 256 << 20
"""Characters after which a document that does not end is taken for damage."""

_TOPIC_TAG = re.compile(r"<(num|title|desc|narr|smry|con|fac|def)>", re.IGNORECASE)
_TOPIC_LABEL = re.compile(r"^\s*(Number|Topic|Description|Narrative|Summary)\s*:\s*", re.IGNORECASE)


def trec_source(
    documents: Sequence[Path], topics: Path, qrels: Path, topic_fields: Sequence[str] = ("title",)
) -> Source:
    """Read a TREC collection.

    :param documents: Files of ``<DOC>`` records, plain, ``.gz`` or ``.zst``, or folders of such.
    :param topics: ``<top>`` records, XML with ``<topic number=…>``, or lines of id, tab and text.
    :param qrels: TREC's four columns.
    :param topic_fields: What of a topic makes the query: ``title``, ``desc`` and ``narr``, in this order.
    :returns: The source.
    :raises CollectionError: If a file is missing or broken.
    """
    grades = read_qrels([qrels])
    queries = {number: Query(text, grades.get(number, {})) for number, text in _topics(topics, topic_fields)}
    names = ", ".join(f"`{path.name}`" for path in documents)
    origin = f"TREC files: documents {names}, topics `{topics.name}` ({', '.join(topic_fields)}), qrels `{qrels.name}`."
    return Source(origin, _documents(documents), queries)


def _documents(paths: Sequence[Path]) -> Iterator[Document]:
    for path in paths:
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        for file in files:
            for number, record in _records(file):
                yield _document(file, number, record)


def _records(path: Path) -> Iterator[tuple[int, str]]:
    """Read what stands between ``<DOC>`` and ``</DOC>``, with the number of the first line."""
    lines: list[str] | None = None
    first = number = size = 0
    with open_text(path, errors="replace") as stream:
        for number, line in enumerate(stream, start=1):
            tag = line.strip().upper()
            if tag == "<DOC>":
                lines, first, size = [], number, 0
            elif tag == "</DOC>" and lines is not None:
                yield first, "".join(lines)
                lines = None
            elif lines is not None:
                lines.append(line)
                size += len(line)
                if size > _LONGEST_DOCUMENT:
                    break
    if lines is not None:
        msg = f"{path}, line {first}: the document does not end with </DOC>; check the file"
        raise CollectionError(msg)


def _document(path: Path, number: int, record: str) -> Document:
    named = _DOCNO.search(record)
    if named is None:
        msg = f"{path}, line {number}: the document has no <DOCNO>; check the file"
        raise CollectionError(msg)
    title = _TITLE.search(record)
    texts = [match[2] for match in _TEXT.finditer(record)]
    text = "\n".join(texts) if texts else record[: named.start()] + record[named.end() :]
    words = _TAG.sub("", title[2]).split() if title else []
    return Document(named[1].strip(), _TAG.sub("", text).strip(), {"title": " ".join(words)} if words else {})


def _topics(path: Path, fields: Sequence[str]) -> Iterator[tuple[str, str]]:
    with open_text(path, errors="replace") as stream:
        content = stream.read()
    if re.search(r"<top>", content, re.IGNORECASE):
        yield from _sgml_topics(path, content, fields)
    elif content.lstrip().startswith("<"):
        yield from _xml_topics(path, content, fields)
    else:
        yield from _line_topics(path, content)


def _sgml_topics(path: Path, content: str, fields: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Topics whose tags are not closed, each part running to the next tag."""
    for place, record in enumerate(re.findall(r"<top>(.*?)(?:</top>|\Z)", content, re.IGNORECASE | re.DOTALL), start=1):
        parts = _TOPIC_TAG.split(record)
        found = {
            name.lower(): " ".join(_TOPIC_LABEL.sub("", _TAG.sub(" ", text)).split())
            for name, text in zip(parts[1::2], parts[2::2], strict=True)
        }
        number = found.get("num", "")
        if not number:
            msg = f"{path}, topic {place}: there is no <num>; check the file"
            raise CollectionError(msg)
        # 051 in the topics is 51 in the qrels of all tracks.
        yield number.lstrip("0") or number, _text(path, number, found, fields)


def _xml_topics(path: Path, content: str, fields: Sequence[str]) -> Iterator[tuple[str, str]]:
    names = {"desc": ("desc", "description", "question"), "narr": ("narr", "narrative"), "title": ("title", "query")}
    try:
        root = ET.fromstring(content)
    except ET.ParseError as error:
        msg = f"{path} is no XML ({error}); check the file"
        raise CollectionError(msg) from None
    for topic in root.iter("topic"):
        number = topic.get("number") or topic.get("id") or (topic.findtext("number") or "").strip()
        if not number:
            msg = f"{path}: a <topic> has no number; check the file"
            raise CollectionError(msg)
        found = {
            field: " ".join(" ".join(element.itertext()).split())
            for field, tags in names.items()
            for tag in tags
            if (element := topic.find(tag)) is not None
        }
        if not found and topic.text:
            found = {"title": " ".join("".join(topic.itertext()).split())}
        yield number, _text(path, number, found, fields)


def _line_topics(path: Path, content: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(content.splitlines(), start=1):
        if line.strip():
            query_id, tab, text = line.partition("\t")
            if not tab:
                msg = f"{path}, line {number}: needed are the topic's id, a tab and its text, or <top> records"
                raise CollectionError(msg)
            yield query_id.strip(), text.strip()


def _text(path: Path, number: str, found: dict[str, str], fields: Sequence[str]) -> str:
    """Join the wanted parts of a topic."""
    text = " ".join(found[field] for field in TOPIC_FIELDS if field in fields and found.get(field))
    if not text:
        msg = f"{path}, topic {number}: it has no {' or '.join(fields)}, only {', '.join(sorted(found))}"
        raise CollectionError(msg)
    return text
