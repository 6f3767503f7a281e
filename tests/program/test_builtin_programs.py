"""What the built-in programs make of documents, in the worker."""

from autoindex_haystack.program import Document, builtin_program

LONG = " ".join(f"w{i}" for i in range(1_200))


def test_full_document_is_title_newline_text_or_the_text_alone(run):
    documents = [
        Document("a", "A text.", {"title": "A title"}),
        Document("b", "Only text."),
        Document("c", "", {"title": "Only a title"}),
        Document("d", "", {"title": None}),
    ]
    assert run(builtin_program("full_document"), documents) == [
        ("a", "A title\nA text."),
        ("b", "Only text."),
        ("c", "Only a title\n"),
        ("d", ""),
    ]


def test_passages_cut_after_512_words_and_keep_the_title(run):
    chunks = run(builtin_program("passages"), [Document("a", LONG, {"title": "A title"}), Document("b", "Short.")])
    texts = [text for name, text in chunks if name == "a"]
    assert [len(text.split()) for text in texts] == [512 + 2, 512 + 2, 1_200 - 1_024 + 2]
    assert all(text.startswith("A title\n") for text in texts)
    assert " ".join(text.removeprefix("A title\n") for text in texts) == LONG
    assert chunks[-1] == ("b", "Short.")


def test_passages_join_a_short_rest_to_the_passage_before_it(run):
    words = " ".join(["word"] * (512 + 100))
    assert run(builtin_program("passages"), [Document("a", words)]) == [("a", words)]


def test_passages_index_an_empty_document_as_its_title(run):
    documents = [Document("a", " \n ", {"title": "A title"}), Document("b", "")]
    assert run(builtin_program("passages"), documents) == [("a", "A title\n"), ("b", "")]


def test_text_between_words_is_kept_as_it_is(run):
    text = "  two\tspaces \n\n and  more "
    assert run(builtin_program("passages"), [Document("a", text)]) == [("a", text.strip())]
