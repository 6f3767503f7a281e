import gzip

import pytest

from autoindex_haystack.collection.importers import write_collection
from autoindex_haystack.collection.importers.trec import trec_source
from autoindex_haystack.errors import CollectionError

DOCUMENTS = """<DOC>
<DOCNO> FT911-3 </DOCNO>
<HEADLINE>FT 14 MAY / <B>Tea</B> &amp; trade</HEADLINE>
<TEXT>
Tea is <I>traded</I> in Mombasa.
</TEXT>
<TEXT>
A second part.
</TEXT>
</DOC>
<DOC>
<DOCNO>FT911-4</DOCNO>
Rye has no text tag.
</DOC>
"""

SGML = """<top>
<num> Number: 051
<title> Topic: tea
trade

<desc> Description:
Where is tea traded?

<narr> Narrative:
Places count.
</top>
<top>
<num> Number: 402
<title> rye
<desc> Description:
What is rye?
</top>
"""

XML = """<?xml version="1.0"?>
<topics><topic number="51"><query>tea trade</query><question>Where is tea traded?</question></topic>
<topic number="402"><title>rye</title><description>What is rye?</description></topic></topics>
"""

LINES = "51\ttea trade\n402\trye\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "docs" / "inner").mkdir(parents=True)
    (tmp_path / "docs" / "inner" / "ft.gz").write_bytes(gzip.compress(DOCUMENTS.encode()))
    (tmp_path / "topics").write_text(SGML)
    (tmp_path / "qrels").write_text("51 0 FT911-3 2\n402 0 FT911-4 1\n402 0 FT911-3 0\n")
    return tmp_path


def source(files, *fields):
    return trec_source([files / "docs"], files / "topics", files / "qrels", fields or ("title",))


@pytest.mark.parametrize("topics", [SGML, XML, LINES])
def test_documents_topics_and_judgments_are_read(files, imported, topics):
    (files / "topics").write_text(topics)
    collection = imported(source(files))
    assert collection.queries == {"51": "tea trade", "402": "rye"}
    assert collection.qrels == {"51": {"FT911-3": 2}, "402": {"FT911-4": 1, "FT911-3": 0}}
    first, second = collection.documents
    assert (first.doc_id, first.metadata["title"]) == ("FT911-3", "FT 14 MAY / Tea &amp; trade")
    assert first.text.split() == "Tea is traded in Mombasa. A second part.".split()
    assert (second.text, second.metadata) == ("Rye has no text tag.", {})


@pytest.mark.parametrize("topics", [SGML, XML])
def test_a_query_can_be_made_of_several_parts_of_the_topic(files, imported, topics):
    (files / "topics").write_text(topics)
    queries = imported(source(files, "desc", "title")).queries
    assert queries == {"51": "tea trade Where is tea traded?", "402": "rye What is rye?"}


@pytest.mark.parametrize(
    ("file", "content", "named"),
    [
        ("docs/inner/ft.gz", "<DOC>\n<DOCNO>1</DOCNO>\n", r"ft\.gz, line 1: the document does not end"),
        ("docs/inner/ft.gz", "\n<DOC>\ntext\n</DOC>\n", r"ft\.gz, line 2: the document has no <DOCNO>"),
        ("topics", "<top>\n<title> tea\n</top>", "topic 1: there is no <num>"),
        ("topics", "<top>\n<num> 1\n<desc> tea\n</top>", "topic 1: it has no title, only desc, num"),
        ("topics", "<topics><topic>", "is no XML"),
        ("topics", "1\ttea\n2 rye\n", "line 2: needed are"),
        ("qrels", "51 FT911-3\n", "line 1: 2 columns"),
    ],
)
def test_a_broken_file_is_named_with_the_place(files, file, content, named):
    path = files / file
    path.write_bytes(gzip.compress(content.encode()) if path.suffix == ".gz" else content.encode())
    with pytest.raises(CollectionError, match=named):
        write_collection(source(files), files / "out")
