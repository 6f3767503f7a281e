import pytest

from autoindex_haystack.collection.importers import write_collection
from autoindex_haystack.collection.importers.folder import folder_source
from autoindex_haystack.errors import CollectionError

FILES = {
    "tea.md": "---\ntitle: 'All about tea'\n---\n# Other\nsteep",
    "bread/rye.markdown": "intro\n\n# Rye bread #\n\nknead",
    "bread/page.HTML": "<html><head><title>Bread &amp;\n butter</title></head><body>eat</body></html>",
    "notes.txt": "# no title",
    ".hidden/secret.md": "# secret",
    "picture.png": "",
}


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "docs"


@pytest.mark.parametrize("text", ["---\ntitle: All\n---\n# Other\n", "# All\nsteep\n"])
def test_lines_that_end_as_on_windows_give_the_same_title(text, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_bytes(text.replace("\n", "\r\n").encode())
    [document] = folder_source(tmp_path / "docs", None).documents
    assert (document.metadata["title"], document.text) == ("All", text.replace("\n", "\r\n"))


@pytest.mark.parametrize(
    ("name", "text", "title"),
    [
        ("a.md", "```bash\n# no title\n```\n\n# A `title` #\n", "A `title`"),
        ("a.md", "Under\nlined\n=====\n\n# Later\n", "Under lined"),
        ("a.md", "    # code\n\n## A part\n", None),
        ("a.md", "---\nlang: en\n---\n\nUnderlined\n====\n", "Underlined"),
        ("a.md", "---\n\n# After a rule\n\ntext\n\n---\n\n# Later\n", "After a rule"),
        ("a.md", "> # quoted\n\n#\n\n# Real *one*\n", "Real *one*"),
        ("a.md", "# T\n\n```\ncode\n```\n", "T"),
        ("a.md", "text\n", None),
        ("a.rst", ".. Copyright\n   more\n\n.. meta::\n   :a: b\n     c\n\nTitle\n+++++\n", "Title"),
        ("a.rst", "----\n====\n", None),
        ("a.rst", "- an item\n--\n", None),
        ("a.rst", ".. x\n----\n", None),
        ("a.rst", "", None),
        ("a.rst", "=====\nAbove\n=====\n\ntext\n", "Above"),
        ("a.rst", ".. _label:\n\n:orphan:\n\nBelow\n*****\n", "Below"),
        ("a.rst", "No title here.\n\nA part\n------\n", None),
    ],
)
def test_a_title_is_a_heading_as_the_format_has_it(name, text, title, tmp_path):
    (tmp_path / name).write_text(text, encoding="utf-8")
    (document,) = folder_source(tmp_path).documents
    assert document.metadata.get("title") == title


def test_files_are_documents_as_they_stand_with_the_title_they_give(folder, tmp_path, imported):
    (tmp_path / "questions.csv").write_text("question,file\nhow,tea.md\n")
    collection = imported(folder_source(folder, tmp_path / "questions.csv"))
    found = {document.doc_id: document for document in collection.documents}
    assert sorted(found) == ["bread/page.HTML", "bread/rye.markdown", "notes.txt", "tea.md"]
    assert {name: document.metadata.get("title") for name, document in found.items()} == {
        "tea.md": "All about tea",
        "bread/rye.markdown": "Rye bread",
        "bread/page.HTML": "Bread & butter",
        "notes.txt": None,
    }
    assert all(document.text == FILES[name] for name, document in found.items())


def test_questions_name_files_in_rows_and_lists(folder, tmp_path, imported):
    rows = [
        "Question,FILE,grade,id",
        'how is tea made,"tea.md; ./bread/rye.markdown",2,',
        "how is tea made,notes.txt,1,",
        '"what, then",bread\\page.HTML,,mine',
    ]
    (tmp_path / "questions.csv").write_text("\ufeff" + "\r\n".join(rows))
    collection = imported(folder_source(folder, tmp_path / "questions.csv"))
    assert collection.queries == {"q1": "how is tea made", "mine": "what, then"}
    assert collection.qrels == {
        "q1": {"tea.md": 2, "bread/rye.markdown": 2, "notes.txt": 1},
        "mine": {"bread/page.HTML": 1},
    }


@pytest.mark.parametrize(
    ("questions", "named"),
    [
        ("question,answer\na,b\n", "line 1: the column 'file' is missing"),
        ("question,file\nhow,tea.md\nwhy,coffee.md\n", "line 3: there is no file 'coffee.md'"),
        ("question,file\nhow,\n", "line 2: the question or the file is empty"),
        ("question,file,grade\nhow,tea.md,good\n", "line 2: the grade 'good' is no whole number"),
        ("question,file,id\nhow,tea.md,1\nwhy,tea.md,1\n", "line 3: the id '1' belongs to another question"),
    ],
)
def test_broken_questions_are_named_with_the_line(folder, tmp_path, questions, named):
    (tmp_path / "questions.csv").write_text(questions)
    with pytest.raises(CollectionError, match=named):
        folder_source(folder, tmp_path / "questions.csv")


def test_a_file_that_is_not_utf8_is_named_with_the_line(folder, tmp_path):
    (folder / "latin.txt").write_bytes(b"one\ncaf\xe9")
    with pytest.raises(CollectionError, match=r"latin\.txt, line 2: not UTF-8"):
        write_collection(folder_source(folder), tmp_path / "out")


def test_a_folder_without_texts_is_refused(tmp_path):
    with pytest.raises(CollectionError, match="has no"):
        folder_source(tmp_path)
    with pytest.raises(CollectionError, match="is no folder"):
        folder_source(tmp_path / "nowhere")
