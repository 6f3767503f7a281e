"""OpenSearch and Elasticsearch as the place where chunks go, through their official clients.

An index is created as the pipelines of a frozen component have it, and chunks are written as Haystack's document stores
write them, so that ``query.opensearch.yaml`` and its like read what was loaded here.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from autoindex_haystack.distributed.output import LOADED, Output
from autoindex_haystack.errors import BackendError
from autoindex_haystack.frozen.chunk_meta import SOURCE_ID, SPLIT_ID
from autoindex_haystack.frozen.clusters import NAME, index_body
from autoindex_haystack.retrieval import BM25Settings

Kind = Literal["opensearch", "elasticsearch"]

CREDENTIALS: dict[str, tuple[str, str]] = {
    "opensearch": ("OPENSEARCH_USERNAME", "OPENSEARCH_PASSWORD"),
    "elasticsearch": ("ELASTIC_API_KEY_ID", "ELASTIC_API_KEY"),
}
"""The environment variables with which Haystack's document stores log in, and so does this."""

_PACKAGES = {"opensearch": "opensearchpy", "elasticsearch": "elasticsearch"}
_CHUNKS_A_REQUEST, _BYTES_A_REQUEST = 1_000, 8 << 20
_SOURCES_A_REQUEST = 500
_TIMEOUT, _TRIES = 120, 5
_FIELDS = frozenset({"id", "content", "blob", "meta", "score", "embedding", "sparse_embedding"})
"""What a Haystack Document has beside its meta, with which it lies side by side in an index."""


@dataclass(frozen=True)
class Cluster:
    """An index of a cluster.

    :param kind: ``opensearch`` or ``elasticsearch``.
    :param url: The cluster's address.
    :param index: The name of the index.
    :param bm25: BM25 parameters and analyzer that the index has.
    :param login: User and password, or the id of an API key and the key; empty where there are none.
    :param backoff: Seconds to wait before what a busy cluster refused is sent again; doubled each time.
    """

    kind: Kind
    url: str
    index: str
    bm25: BM25Settings
    login: tuple[str, str] = field(default=("", ""), repr=False)
    backoff: float = 2.0

    @classmethod
    def from_environment(cls, kind: Kind, url: str, index: str, bm25: BM25Settings) -> "Cluster":
        """Take user and password, or API key, from the environment; see :data:`CREDENTIALS`."""
        user, password = (os.environ.get(name, "") for name in CREDENTIALS[kind])
        return cls(kind, url.rstrip("/"), index, bm25, (user, password))

    def connect(self) -> Any:
        """Returns the official client.

        :raises BackendError: If it is not installed or cannot use the address.
        """
        how: dict[str, Any] = {"http_compress": True, "max_retries": _TRIES, "retry_on_timeout": True}
        try:
            if self.kind == "opensearch":
                from opensearchpy import OpenSearch

                return OpenSearch(hosts=[self.url], timeout=_TIMEOUT, http_auth=self._http_auth, **how)
            from elasticsearch import Elasticsearch

            return Elasticsearch(self.url, request_timeout=_TIMEOUT, api_key=self._api_key, **how)
        except ImportError:
            msg = f"--sink {self.kind} needs its client: run `pip install 'autoindex-haystack[{self.kind}]'`"
            raise BackendError(msg) from None
        except ValueError as error:
            msg = f"{self.url} is no address of a cluster ({error}); give one such as https://localhost:9200"
            raise BackendError(msg) from error

    def prepare(self) -> bool:
        """Create the index, if there is none.

        :returns: Whether it was created.
        :raises BackendError: If the cluster cannot be used, or there is an index with other settings.
        """
        client, body = self.connect(), index_body(self.bm25)
        with self.errors():
            if client.indices.exists(index=self.index):
                [found, *_] = client.indices.get(index=self.index).values()
                if not _has(found, body):
                    msg = (
                        f"the index {self.index} at {self.url} has other BM25 settings, analyzer or fields than "
                        "this component needs; choose another with --index-name, or delete it"
                    )
                    raise BackendError(msg)
                return False
            client.indices.create(index=self.index, **self._body(body))
        return True

    def refresh(self) -> None:
        """Make what was loaded visible to searches."""
        with self.errors():
            self.connect().indices.refresh(index=self.index)

    def load(self, client: Any, chunks: Iterator[dict[str, Any]]) -> Iterator[tuple[str, str]]:
        """Write chunks; a busy cluster is given time.

        :param client: The client.
        :param chunks: The chunks as Haystack's Documents, flat.
        :returns: Id and reason of each chunk that the cluster refuses for good.
        :raises BackendError: If the cluster cannot be reached or stays too busy.
        """
        from importlib import import_module

        helpers = import_module(f"{_PACKAGES[self.kind]}.helpers")
        actions = ({"_op_type": "index", "_id": chunk["id"], "_source": chunk} for chunk in chunks)
        with self.errors():
            for accepted, item in helpers.streaming_bulk(
                client,
                actions,
                index=self.index,
                chunk_size=_CHUNKS_A_REQUEST,
                max_chunk_bytes=_BYTES_A_REQUEST,
                max_retries=_TRIES,
                initial_backoff=self.backoff,
                raise_on_error=False,
            ):
                if accepted:
                    continue
                [answer] = item.values()
                if answer.get("status") in (429, 503):
                    msg = f"the cluster at {self.url} is too busy; run the command again, and it goes on"
                    raise BackendError(msg)
                error = answer.get("error") or {}
                reason = error.get("reason") if isinstance(error, dict) else error
                yield str(answer.get("_id")), str(reason)

    def delete_stale(self, client: Any, counts: dict[str, int]) -> None:
        """Delete the chunks that documents had before and have no longer.

        :param client: The client.
        :param counts: How many chunks each document has now.
        """
        by_count: dict[int, list[str]] = {}
        for source, count in counts.items():
            by_count.setdefault(count, []).append(source)
        with self.errors():
            for count, sources in by_count.items():
                for begin in range(0, len(sources), _SOURCES_A_REQUEST):
                    some = sources[begin : begin + _SOURCES_A_REQUEST]
                    stale = [{"terms": {SOURCE_ID: some}}, {"range": {SPLIT_ID: {"gte": count}}}]
                    query = self._body({"query": {"bool": {"filter": stale}}})
                    client.delete_by_query(index=self.index, conflicts="proceed", **query)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn what the client raises into errors for users."""
        if self.kind == "opensearch":
            from opensearchpy.exceptions import OpenSearchException

            kinds: tuple[type[Exception], ...] = (OpenSearchException,)
        else:
            from elasticsearch import ApiError, TransportError

            kinds = (ApiError, TransportError)
        try:
            yield
        except kinds as error:
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            msg = f"the cluster at {self.url} cannot be used: {reason}; run the command again, and it goes on"
            raise BackendError(msg) from error

    @property
    def _http_auth(self) -> tuple[str, str] | None:
        return self.login if all(self.login) else None

    @property
    def _api_key(self) -> tuple[str, str] | str | None:
        name, key = self.login
        return (name, key) if name and key else key or None

    def _body(self, body: dict[str, Any]) -> dict[str, Any]:
        """The body of a request as the client takes it."""
        return {"body": body} if self.kind == "opensearch" else body


class LoadBlock:
    """Loads the chunks of a block into a cluster.

    :param url: The job's folder.
    :param cluster: The index.
    :param anew: Whether the index was created by this job, so that nothing in it can be stale.
    """

    waits: ClassVar[bool] = False

    def __init__(self, url: str, cluster: Cluster, *, anew: bool) -> None:
        self._output, self._cluster, self._anew = Output(url), cluster, anew
        self._client: Any = None

    def start(self) -> None:
        if self._client is None:
            self._client = self._cluster.connect()

    def __call__(self, block: int) -> dict[str, Any]:
        began = time.monotonic()
        counts: dict[str, int] = {}
        refused = [
            {"where": name, "doc_id": name.rpartition("#")[0], "error": reason}
            for name, reason in self._cluster.load(self._client, self._documents(block, counts))
        ]
        if not self._anew:
            self._cluster.delete_stale(self._client, counts)
        if refused:
            self._output.write_failed(block, refused, LOADED)
        record: dict[str, Any] = {
            "chunks": sum(counts.values()) - len(refused),
            "refused": len({one["doc_id"] for one in refused}),
        }
        record |= {"block": block, "first": f"{refused[0]['where']}: {refused[0]['error']}" if refused else ""}
        self._output.finish(LOADED, block, record | {"seconds": time.monotonic() - began})
        return record

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
        self._client = None

    def _documents(self, block: int, counts: dict[str, int]) -> Iterator[dict[str, Any]]:
        """The block's chunks as Haystack's document stores write them, and how many there are of each document."""
        for batch in self._output.chunks(block, ("chunk_id", "doc_id", "text", "meta")):
            for row in batch.to_pylist():
                counts[row["doc_id"]] = counts.get(row["doc_id"], 0) + 1
                meta = {key: value for key, value in json.loads(row["meta"]).items() if key not in _FIELDS}
                yield {**meta, "id": row["chunk_id"], "content": row["text"]}


def _has(found: dict[str, Any], body: dict[str, Any]) -> bool:
    """Whether an index has the settings that matter and the fields; a cluster gives numbers back as text."""
    settings, needed = found.get("settings", {}).get("index", {}), body["settings"]["index"]
    fields, own = found.get("mappings", {}).get("properties", {}), body["mappings"]["properties"]
    content = {name: fields.get("content", {}).get(name) for name in ("analyzer", "similarity")}
    return (
        _contains(settings.get("similarity", {}), needed["similarity"])
        and _contains(settings.get("analysis", {}), needed["analysis"])
        and content == dict.fromkeys(("analyzer", "similarity"), NAME)
        and all(fields.get(name, {}).get("type") == own[name]["type"] for name in (SOURCE_ID, SPLIT_ID))
    )


def _contains(found: Any, needed: Any) -> bool:
    if isinstance(needed, dict):
        return isinstance(found, dict) and all(_contains(found.get(key), value) for key, value in needed.items())
    if isinstance(needed, list):
        return isinstance(found, list) and list(map(str, found)) == list(map(str, needed))
    if isinstance(needed, float | int) and not isinstance(needed, bool):
        try:
            return float(found) == float(needed)
        except (TypeError, ValueError):
            return False
    return str(found) == str(needed)
