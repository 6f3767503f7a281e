import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoindex_haystack.collection import Document
from autoindex_haystack.experiments.synthetic import known_items
from autoindex_haystack.experiments.synthetic.lines import headings, normalized, without_lines
from autoindex_haystack.retrieval.analyzers import tokenize

FILLER = (
    "It is about {0} and more {0}, of which some words follow so that enough of the text is left to be found: one, "
    "two, three, four, five, six, seven, eight."
)


def word(number):
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


def document(number, **metadata):
    name = word(number)
    topic = f"topic{name}"
    parts = (
        f"# Heading of {topic} here",
        FILLER.format(topic),
        f"Every zebra{name} walks slowly and quietly through {topic} at noon.",
    )
    return Document(f"d{number}", "\n\n".join(parts), metadata)


CORPUS = [document(number, title=f"Guide to topic{word(number)}") for number in range(60)]


def made(documents=CORPUS, number=30, seed=0):
    source = known_items(documents, number, seed)
    return list(source.documents), dict(source.queries), source


def test_each_query_has_one_document_which_can_be_found_without_the_line_it_comes_from():
    documents, queries, _ = made()
    assert len(queries) == 30
    by_id = {found.doc_id: found for found in documents}
    for query in queries.values():
        [(name, grade)] = query.grades.items()
        masked = by_id[name]
        text = f"{masked.metadata.get('title', '')}\n{masked.text}"
        assert grade == 1
        assert f" {normalized(query.text)} " not in f" {normalized(text)} "
        assert set(tokenize(query.text)) & set(tokenize(text))
        assert masked.text != CORPUS[int(name[1:])].text or "title" not in masked.metadata


def test_titles_headings_and_phrases_are_mixed():
    _, queries, source = made()
    assert "10 from titles, 10 from headings, 10 from phrases" in source.origin
    assert sum(query.text.startswith("Guide to") for query in queries.values()) == 10
    assert sum(query.text.startswith("Heading of") for query in queries.values()) == 10


def test_only_the_documents_of_queries_change_and_the_order_stays():
    documents, queries, _ = made()
    asked = {name for query in queries.values() for name in query.grades}
    assert [found.doc_id for found in documents] == [given.doc_id for given in CORPUS]
    assert all(found == given for found, given in zip(documents, CORPUS, strict=True) if found.doc_id not in asked)


def test_the_seed_decides_and_not_the_order_of_the_corpus():
    first, again, other = made(), made(), made(seed=1)
    assert (first[0], first[1]) == (again[0], again[1])
    assert {query.text for query in first[1].values()} != {query.text for query in other[1].values()}
    turned = made(CORPUS[::-1])
    assert {query.text for query in turned[1].values()} == {query.text for query in first[1].values()}


def test_a_line_that_several_documents_have_is_no_query():
    documents = [Document(f"d{n}", CORPUS[n].text, {"title": "The same title"}) for n in range(20)]
    _, queries, _ = made(documents, 20)
    assert queries
    assert not any(query.text == "The same title" for query in queries.values())


def test_documents_of_too_few_words_give_none():
    assert made([Document("a", "# A short heading\nno more"), Document("b", "")])[1] == {}


@given(st.lists(st.tuples(st.text(), st.text()), max_size=8))
def test_any_corpus_can_be_asked(given_documents):
    documents = [Document(str(i), text, {"title": title}) for i, (text, title) in enumerate(given_documents)]
    found, queries, _ = made(documents, 3)
    assert [document.doc_id for document in found] == [document.doc_id for document in documents]
    assert all(len(query.grades) == 1 for query in queries.values())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# One *two*\ntext\n## Three ##\n", ["One two", "Three"]),
        ("One two\n=======\ntext\nThree\n-----\n", ["One two", "Three"]),
        ("<h1 class='a'>One <b>two</b></h1><p>x</p><H2>Three</H2>", ["One two", "Three"]),
        ("== One two ==\ntext\n=== Three ===\n", ["One two", "Three"]),
        ("no heading\n#hash\na = b\n", []),
    ],
)
def test_headings_are_found_in_every_markup(text, found):
    assert headings(text) == found


def test_lines_that_say_little_more_than_a_title_go_and_longer_ones_stay():
    long = "Tea makers all over the world say that the tea makers guide is read by few of them at all.\n"
    text = f"# The tea makers guide!\n{long}<p><h1>Tea makers guide</h1> steep it\nTea-makers   GUIDE\nend\n"
    assert without_lines(text, "Tea makers guide") == f"{long}<p>  steep it\nend\n"


def test_the_command_writes_a_collection_that_says_it_is_synthetic_wherever_it_is_used(tmp_path):
    from autoindex_haystack.cli.main import main
    from autoindex_haystack.collection import load_collection

    lines = [
        json.dumps({"_id": given.doc_id, "title": given.metadata["title"], "text": given.text}) for given in CORPUS
    ]
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines))
    out = tmp_path / "made"
    assert main(["make-queries", str(tmp_path / "corpus.jsonl"), "--number", "12", "--out", str(out)]) == 0
    collection = load_collection(out)
    assert len(collection.queries) == 12
    assert "synthetic" in collection.notes()[0]
    assert "**Synthetic queries**" in (out / "README.md").read_text()


def test_phrases_come_from_prose_and_not_from_code_or_data():
    code = "for i in range(10): print(x[i], y[i]) # 0x1f 2c 3d 4e and so on\n\n"
    prose = " People of town{0} paint their topic{0} houses in bright colours."
    texts = [code + FILLER.format(f"topic{word(n)}") + prose.format(word(n)) for n in range(30)]
    _, queries, _ = made([Document(f"d{n}", text) for n, text in enumerate(texts)], 10)
    assert len(queries) == 10
    assert not any(character in query.text for query in queries.values() for character in "[]()#=")


def test_texts_without_full_stops_are_asked_by_their_lines():
    lines = [
        "compact {0} memories have flexible capacities a digital data storage system",
        "with a {0} capacity up to many bits and random or sequential access is described",
        "an electronic analogue computer for solving {0} systems of linear equations",
        "is shown and the errors of {0} machines that use amplifiers are given here",
        "the design of transistor {0} oscillators by means of simple charts and tables",
    ]
    texts = ["\n".join(lines).format(f"topic{word(n)}") for n in range(9)]
    _, queries, _ = made([Document(f"d{n}", text) for n, text in enumerate(texts)], 5)
    assert len(queries) == 5


def test_a_corpus_that_gives_no_query_is_an_error_with_the_reason(tmp_path, capsys):
    from autoindex_haystack.cli.main import main

    (tmp_path / "corpus.jsonl").write_text(json.dumps({"_id": "a", "text": "too short"}))
    assert main(["make-queries", str(tmp_path / "corpus.jsonl"), "--out", str(tmp_path / "made")]) == 2
    assert "10 words beside it" in capsys.readouterr().err
    assert not (tmp_path / "made").exists()
