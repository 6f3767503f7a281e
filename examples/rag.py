"""Retrieval-augmented generation: a frozen component's own pipelines find the documents, a chat model answers.

    python examples/rag.py my_run/frozen "your question" < documents.jsonl

Each line of the input is a Haystack Document as JSON (id, content, meta). The chat model is any server with OpenAI's
interface; set OPENAI_API_KEY, and OPENAI_BASE_URL for another server than OpenAI's.
"""

import argparse
import json
import sys
from pathlib import Path

from haystack import Document, Pipeline
from haystack.components.builders import ChatPromptBuilder
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage

# What the reader sees are the original documents; the chunk that matched best says where to look.
TEMPLATE = """Answer the question from the documents alone. Name the id of each document that you used.
{% for document in documents %}
[{{ document.id }}] {{ document.content }}
(matched: {{ document.meta.best_chunk.content }})
{% endfor %}
Question: {{ question }}"""


def rag_pipeline(frozen: Path) -> Pipeline:
    """The component's query pipeline with a prompt and a chat model behind it."""
    pipeline = Pipeline.loads((frozen / "query.yaml").read_text(encoding="utf-8"))
    prompt = ChatPromptBuilder(template=[ChatMessage.from_user(TEMPLATE)], required_variables="*")
    pipeline.add_component("prompt", prompt)
    pipeline.add_component("llm", OpenAIChatGenerator())
    pipeline.connect("retriever.documents", "prompt.documents")
    pipeline.connect("prompt.prompt", "llm.messages")
    return pipeline


def main(frozen: str, question: str) -> None:
    """Index the documents of the input and answer one question."""
    documents = [Document.from_dict(json.loads(line)) for line in sys.stdin if line.strip()]
    indexing = Pipeline.loads((Path(frozen) / "indexing.yaml").read_text(encoding="utf-8"))
    indexing.run({"preprocessor": {"documents": documents}})
    indexing.close()
    answer = rag_pipeline(Path(frozen)).run(
        {"retriever": {"query": question, "top_k": 3}, "prompt": {"question": question}}
    )
    print(answer["llm"]["replies"][0].text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("frozen", help="the folder of a frozen component, such as my_run/frozen")
    parser.add_argument("question")
    arguments = parser.parse_args()
    main(arguments.frozen, arguments.question)
