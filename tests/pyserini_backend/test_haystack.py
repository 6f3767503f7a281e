"""Lucene within Haystack's own threads: pipelines that run at once give the answers of those that run in turn."""

import asyncio
import random
import threading
from typing import Any

from haystack import Document, Pipeline, component

from autoindex_haystack.retrieval import BM25Settings, ChunkTable
from haystack_integrations.components.retrievers.autoindex import RepresentationRetriever
from haystack_integrations.document_stores.autoindex import LuceneDocumentStore
from pyserini_backend.index import LuceneIndex

DRAW = random.Random(3)
WORDS = [f"word{n}" for n in range(50)]
TEXTS = [" ".join(DRAW.choices(WORDS, k=30)) for _ in range(300)]
QUERIES = [" ".join(DRAW.choices(WORDS, k=4)) for _ in range(40)]


@component
class Searcher:
    """A component without an asynchronous half: an asynchronous pipeline runs it in a worker thread."""

    def __init__(self, index: LuceneIndex) -> None:
        self.index = index
        self.threads: set[int] = set()

    @component.output_types(found=list)
    def run(self, query: str) -> dict[str, Any]:
        self.threads.add(threading.get_ident())
        [ranking] = self.index.search([query], 20)
        return {"found": list(zip(ranking.ordinals.tolist(), ranking.scores.tolist(), strict=True))}


def answers(pipeline: Pipeline, name: str) -> tuple[list[Any], list[Any]]:
    """What a pipeline answers to all queries in turn, and at once."""

    async def at_once() -> list[Any]:
        running = [pipeline.run_async({name: {"query": query}}) for query in QUERIES]
        return await asyncio.gather(*running)

    return [pipeline.run({name: {"query": query}}) for query in QUERIES], asyncio.run(at_once())


def test_a_component_in_a_worker_thread_gives_the_serial_answers() -> None:
    with LuceneIndex.build(ChunkTable.of_texts(TEXTS), BM25Settings()) as index:
        pipeline = Pipeline()
        searcher = Searcher(index)
        pipeline.add_component("searcher", searcher)
        in_turn, at_once = answers(pipeline, "searcher")
    assert at_once == in_turn
    assert len(searcher.threads) > 1
    assert all(answer["searcher"]["found"] for answer in in_turn)


def test_a_retriever_in_asynchronous_pipelines_gives_the_serial_answers() -> None:
    store = LuceneDocumentStore()
    store.write_documents([Document(content=text) for text in TEXTS])
    pipeline = Pipeline()
    pipeline.add_component("retriever", RepresentationRetriever(store, top_k=20))
    in_turn, at_once = answers(pipeline, "retriever")
    assert at_once == in_turn
    assert all(len(answer["retriever"]["documents"]) == 20 for answer in in_turn)
    store.close()
