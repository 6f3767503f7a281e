"""Index each document as passages of about 512 words, each with the title in front."""

import re
from itertools import pairwise

from autoindex_haystack.program import BasePreprocessor, Chunk, Document

WORDS = 512


def passages(text: str, words: int) -> list[str]:
    """Cut a text after every so many words; a short rest joins the passage before it."""
    starts = [match.start() for match in re.finditer(r"\S+", text)]
    cuts = list(range(0, len(starts), words))
    if len(cuts) > 1 and len(starts) - cuts[-1] < words // 4:
        cuts.pop()
    bounds = [starts[cut] for cut in cuts] + [len(text)]
    return [text[begin:end].rstrip() for begin, end in pairwise(bounds)]


class Preprocessor(BasePreprocessor):
    name = "passages"
    description = "Passages of about 512 words, each with the title."

    def preprocess(self, docs: list[Document]) -> list[Chunk]:
        chunks = []
        for doc in docs:
            title = str(doc.metadata.get("title") or "")
            for number, passage in enumerate(passages(doc.text, WORDS) or [""]):
                text = f"{title}\n{passage}" if title else passage
                chunks.append(Chunk(f"{doc.doc_id}_{number}", doc.doc_id, text))
        return chunks
