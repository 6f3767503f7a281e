"""Honest programs work under all layers; otherwise a worker that died at its start would look perfect."""

import encodings
import encodings.aliases
import json
import os

import pytest

from autoindex_haystack.errors import ProgramError
from autoindex_haystack.program import ALLOWED_MODULES, Document, Program
from autoindex_haystack.sandbox import DocumentFile, Limits, ProgramRunner

ONE = [Document("d", "some text, ä")]
LIMITS = Limits(seconds=60, document_seconds=60)

SOURCE = """\
from autoindex_haystack.program import BasePreprocessor, Chunk
{module}

class Preprocessor(BasePreprocessor):
    def preprocess(self, docs):
        return [Chunk("0", doc.doc_id, str(self.text(doc))) for doc in docs]

    def text(self, doc):
        {body}
"""

USES = {
    "bisect": "bisect.bisect([1, 2, 3], 2)",
    "collections": "collections.Counter(doc.text).most_common(2), collections.namedtuple('N', 'a b')(1, 2)",
    "dataclasses": "dataclasses.make_dataclass('D', ['x'])(1)",
    "difflib": "difflib.get_close_matches('appel', ['ape', 'apple', 'peach']), list(difflib.ndiff(['a'], ['b']))",
    "enum": "enum.Enum('E', 'a b').a.name",
    "functools": "functools.lru_cache(len)('x'), functools.singledispatch(len)('x'), functools.reduce(max, [1, 2])",
    "hashlib": "[hashlib.new(n, b'x').digest_size for n in ('md5', 'sha1', 'sha256', 'sha3_256', 'blake2b')]",
    "heapq": "list(heapq.merge([1, 3], [2])), heapq.nlargest(2, [1, 2, 3])",
    "html.entities": "html.entities.name2codepoint['amp']",
    "html.parser": "html.parser.HTMLParser().feed('<p>x</p>')",
    "html": "html.unescape('&auml;')",
    "itertools": "list(itertools.islice(itertools.count(), 3))",
    "json": "json.dumps(json.loads('[1, 2.5, null]'), indent=1)",
    "math": "math.log(10), math.comb(10, 3)",
    "operator": "operator.itemgetter(0)('x')",
    "random": "random.Random(5).sample(range(100), 3), random.SystemRandom().random() < 1",
    "re": "re.sub(r'(?i)[A-ZÄ]+', lambda m: m[0].lower(), 'ABCÄ'), re.compile('|'.join(map(str, range(20_000))))",
    "statistics": "statistics.quantiles([1, 2, 3, 4]), statistics.NormalDist(0, 1).cdf(1), statistics.mode('aab')",
    "string": "string.Template('$a').substitute(a=1), string.capwords('a b'), string.Formatter().format('{}', 1)",
    "textwrap": "textwrap.fill('a b c ' * 20, 20), textwrap.dedent('  x')",
    "typing": "typing.get_type_hints(Preprocessor.text), typing.NamedTuple('N', [('a', int)])",
    "unicodedata": "unicodedata.normalize('NFKD', 'ﬁ'), unicodedata.name('ä'), unicodedata.lookup('SNOWMAN')",
    "xml.etree.ElementTree": (
        "xml.etree.ElementTree.tostring(xml.etree.ElementTree.fromstring('<a>x<b/></a>')), "
        "xml.etree.ElementTree.canonicalize('<a/>')"
    ),
    "abc": "abc.ABC.__name__",
    "collections.abc": "isinstance([], collections.abc.Sequence)",
    "xml": "xml.__name__",
    "xml.etree": "xml.etree.__name__",
    "pathlib": "pathlib.Path('a/b.txt').stem, pathlib.PurePath('a').joinpath('b')",
    "sys": "sys.maxsize, sys.version_info[:2]",
}


def run(module: str, body: str, documents=ONE, **options) -> list[str]:
    source = Program(SOURCE.format(module=module, body=body))
    with DocumentFile(documents) as file, ProgramRunner(source, file, **({"limits": LIMITS} | options)) as runner:
        texts = runner.run().chunks.texts
        assert "self-test" in runner.layers
        return texts


def test_every_allowed_module_is_used_here():
    assert set(USES) >= ALLOWED_MODULES - {"__future__"}


@pytest.mark.parametrize("module", USES)
def test_an_allowed_module_works(module):
    assert run(f"import {module}", f"return repr(({USES[module]}, 'worked'))")[0].endswith("'worked')")


def test_modules_that_are_imported_late_work():
    assert run("", "import difflib, xml.etree.ElementTree as tree; return tree.fromstring('<a>x</a>').text") == ["x"]


def codecs() -> list[str]:
    files = {name.removesuffix(".py") for name in os.listdir(encodings.__path__[0]) if name.endswith(".py")}
    return sorted((files | set(encodings.aliases.aliases)) - {"__init__", "aliases", "mbcs", "oem", "ansi", "dbcs"})


def test_every_codec_works_as_it_does_here():
    names = [name for name in codecs() if not name.startswith(("cp65001", "undefined"))]
    helper = """\
def attempt(name):
    try:
        return repr("Az 09".encode(name).decode(name))
    except Exception as error:
        return type(error).__name__
"""
    here: dict[str, object] = {}
    exec(helper, here)
    expected = {name: here["attempt"](name) for name in names}
    body = "import json; return json.dumps({name: attempt(name) for name in doc.text.split()})"
    [seen] = run(helper, body, [Document("d", " ".join(names))])
    assert json.loads(seen) == expected
    assert list(expected.values()).count("'Az 09'") > 300


def test_a_large_regular_expression_over_a_large_document_works():
    body = "return len(re.findall('|'.join(f'w{n}x?' for n in range(5_000)), doc.text))"
    assert run("import re", body, [Document("d", "w17 w4999 w5 z " * 2_000)]) == ["6000"]


def test_a_program_that_needs_much_memory_gets_it():
    assert run("", "return len(bytearray(800 << 20))") == [str(800 << 20)]


def test_printing_warning_and_deep_recursion_work():
    body = "print('x'); f = lambda n: n and f(n - 1); return f(500)"
    assert run("", body) == ["0"]


def test_a_package_that_is_allowed_can_be_used_also_where_it_reads_late():
    text = "return int(numpy.arange(4) @ numpy.arange(4)), float(numpy.linalg.norm([3.0, 4.0]))"
    assert run("import numpy", text, allowed_imports=["numpy"]) == ["(14, 5.0)"]
    late = "import email.mime.text; return email.mime.text.MIMEText('x').get_payload()"
    assert run("", late, allowed_imports=["email"]) == ["x"]


def test_the_error_of_an_honest_mistake_has_its_traceback():
    with pytest.raises(ProgramError, match=r"line 9, in text\n    return 1 / 0\nZeroDivisionError: division by zero"):
        run("", "return 1 / 0")
