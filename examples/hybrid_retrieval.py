"""Hybrid retrieval: a learned BM25 representation and embeddings of the original documents, joined by their ranks.

    python examples/hybrid_retrieval.py my_run/frozen "your question" < documents.jsonl

Each line of the input is a Haystack Document as JSON (id, content, meta). Embeddings come from any server with OpenAI's
interface; set OPENAI_API_KEY, and OPENAI_BASE_URL for another server than OpenAI's.
"""

import argparse
import json
import sys

from haystack import Document, Pipeline
from haystack.components.embedders import OpenAIDocumentEmbedder, OpenAITextEmbedder
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever
from haystack.components.writers import DocumentWriter
from haystack.document_stores.in_memory import InMemoryDocumentStore

from haystack_integrations.components.retrievers.autoindex import RepresentationRetriever
from haystack_integrations.components.writers.autoindex import RepresentationIndexer
from haystack_integrations.document_stores.autoindex import Bm25sDocumentStore


def indexing_pipeline(frozen: str, chunks: Bm25sDocumentStore, vectors: InMemoryDocumentStore) -> Pipeline:
    """Chunks for BM25 go to one store, embeddings of the whole documents to another."""
    pipeline = Pipeline()
    pipeline.add_component("indexer", RepresentationIndexer(frozen, chunks))
    pipeline.add_component("embedder", OpenAIDocumentEmbedder(progress_bar=False))
    pipeline.add_component("writer", DocumentWriter(vectors))
    pipeline.connect("embedder", "writer")
    return pipeline


def query_pipeline(chunks: Bm25sDocumentStore, vectors: InMemoryDocumentStore) -> Pipeline:
    """Both retrievers return original documents under the same ids, so that their ranks can be joined."""
    pipeline = Pipeline()
    pipeline.add_component("lexical", RepresentationRetriever(chunks, top_k=50))
    pipeline.add_component("embedder", OpenAITextEmbedder())
    pipeline.add_component("dense", InMemoryEmbeddingRetriever(vectors, top_k=50))
    pipeline.add_component("joiner", DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=5))
    pipeline.connect("embedder.embedding", "dense.query_embedding")
    pipeline.connect("lexical", "joiner")
    pipeline.connect("dense", "joiner")
    return pipeline


def main(frozen: str, question: str) -> None:
    """Index the documents of the input and answer one question."""
    documents = [Document.from_dict(json.loads(line)) for line in sys.stdin if line.strip()]
    chunks, vectors = Bm25sDocumentStore(), InMemoryDocumentStore()
    with_workers = indexing_pipeline(frozen, chunks, vectors)
    with_workers.run({"indexer": {"documents": documents}, "embedder": {"documents": documents}})
    with_workers.close()
    found = query_pipeline(chunks, vectors).run({"lexical": {"query": question}, "embedder": {"text": question}})
    for document in found["joiner"]["documents"]:
        print(f"{document.score:.4f}\t{document.id}\t{document.content}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("frozen", help="the folder of a frozen component, such as my_run/frozen")
    parser.add_argument("question")
    arguments = parser.parse_args()
    main(arguments.frozen, arguments.question)
