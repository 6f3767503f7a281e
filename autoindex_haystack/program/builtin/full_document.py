"""Index each document whole: the title, if it has one, and the text. The baseline of every comparison."""

from autoindex_haystack.program import BasePreprocessor, Chunk, Document


class Preprocessor(BasePreprocessor):
    name = "full_document"
    description = "One chunk a document: title, newline, text."

    def preprocess(self, docs: list[Document]) -> list[Chunk]:
        chunks = []
        for doc in docs:
            title = str(doc.metadata.get("title") or "")
            chunks.append(Chunk(f"{doc.doc_id}_0", doc.doc_id, f"{title}\n{doc.text}" if title else doc.text))
        return chunks
