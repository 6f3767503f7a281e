"""Programs of which the same is reached from ``calibrate`` learn the same, however they go about it."""

import json

import pytest

from autoindex_haystack.program import Document, what_calibrate_reaches

PROGRAM = '''"""Represent documents: {secret}."""

{head}
from autoindex_haystack.program import BasePreprocessor, Chunk

SECRET = "{secret}"
TABLE = []


def hidden():
    """Return {secret}."""
    return "{secret}"


{module}


class Preprocessor(BasePreprocessor):
    """Of {secret}."""

    label = "{secret}"
    {member}

    def other(self):
        return "{secret}"

    def calibrate(self, docs):
        {body}

    def preprocess(self, docs):
        return [Chunk("0", doc.doc_id, "{secret}") for doc in docs]
'''


def source(secret, body, head="", module="", member="pass"):
    fields = {"body": body.replace("\n", "\n        "), "head": head, "module": module, "member": member}
    return PROGRAM.format(secret=secret, **{name: text.replace("{secret}", secret) for name, text in fields.items()})


def learned(text):
    """What a program learns, as JSON; only programs of these tests run here."""
    namespace = {"__name__": "candidate"}
    exec(compile(text, "candidate", "exec"), namespace)
    return json.dumps(namespace["Preprocessor"]().calibrate([Document("d", "text")]), default=str)


def test_what_calibrate_has_nothing_to_do_with_does_not_count():
    body = "return {'n': sum(1 for _ in docs)}"
    one, two = source("one", body), source("two", body, head="import re", module="WORD = re.compile('{secret}')")
    assert what_calibrate_reaches(one) == what_calibrate_reaches(two) is not None
    assert learned(one) == learned(two)


@pytest.mark.parametrize(
    "body",
    [
        "return {'s': SECRET}",
        "return {'s': hidden()}",
        "return {'s': self.other()}",
        "return {'s': self.label}",
        "return {'s': [f() for f in (hidden,)]}",
        "match self:\n    case Preprocessor(label=found):\n        return {'s': found}",
    ],
)
def test_what_calibrate_names_counts(body):
    one, two = source("one", body), source("two", body)
    assert what_calibrate_reaches(one) != what_calibrate_reaches(two)
    assert what_calibrate_reaches(one) is not None
    assert learned(one) != learned(two)


SMUGGLED = {
    "globals": ("return {'s': globals()['SEC' + 'RET']}", {}),
    "getattr": ("return {'s': getattr(self, 'la' + 'bel')}", {}),
    "getattr by another name": ("return {'s': read(self, 'la' + 'bel')}", {"module": "read = getattr"}),
    "vars": ("return {'s': vars(Preprocessor)['la' + 'bel']}", {}),
    "dir": ("return {'s': [n for n in dir(self) if n[0] == 'x']}", {"member": "x_{secret} = 1"}),
    "class dictionary": ("return {'s': Preprocessor.__dict__['la' + 'bel']}", {}),
    "eval": ("return {'s': eval('SEC' + 'RET')}", {}),
    "exec": ("found = {}\nexec('x = SEC' + 'RET', globals(), found)\nreturn found", {}),
    "format": ("return {'s': ('{0.la' + 'bel}').format(self)}", {}),
    "format_map": ("return {'s': ('{a.la' + 'bel}').format_map({'a': self})}", {}),
    "format as a function": ("return {'s': [f('{0.la' + 'bel}', self) for f in (str.format,)]}", {}),
    "Formatter": ("return {'s': string.Formatter().format('{0.la' + 'bel}', self)}", {"head": "import string"}),
    "attrgetter": ("return {'s': attrgetter('la' + 'bel')(self)}", {"head": "from operator import attrgetter"}),
    "methodcaller": ("return {'s': operator.methodcaller('oth' + 'er')(self)}", {"head": "import operator"}),
    "frame of a generator": ("g = (1 for _ in [1])\nreturn {'s': g.gi_frame.f_globals['SEC' + 'RET']}", {}),
    "traceback": (
        "try:\n    1 / 0\nexcept Exception as e:\n    return {'s': e.__traceback__.tb_frame.f_globals['SEC' + 'RET']}",
        {},
    ),
    "globals of a function": ("return {'s': self.calibrate.__func__.__globals__['SEC' + 'RET']}", {}),
    "docstring of the class": ("return {'s': self.__doc__}", {}),
    "docstring of a function": ("return {'s': hidden.__doc__}", {}),
    "a module of a module": ("return {'s': re.enum.sys._getframe().f_globals['SEC' + 'RET']}", {"head": "import re"}),
    "a module by another name": (
        "r = re\nreturn {'s': r.enum.sys._getframe().f_globals['SEC' + 'RET']}",
        {"head": "import re"},
    ),
    "a module's own import": (
        "return {'s': enum.sys._getframe().f_globals['SEC' + 'RET']}",
        {"head": "from re import enum"},
    ),
    "an import inside": (
        "from re import enum\nreturn {'s': enum.sys._getframe().f_globals['SEC' + 'RET']}",
        {},
    ),
    "type hints": (
        "def f(x: 'str if SEC' + 'RET == \"one\" else int'): pass\nreturn {'s': str(get_type_hints(f))}",
        {"head": "from typing import get_type_hints"},
    ),
    "getattribute": ("return {'s': object.__getattribute__(self, 'la' + 'bel')}", {}),
    "builtins": ("return {'s': __builtins__['getattr'](self, 'la' + 'bel')}", {}),
    "decorator": (
        "return {'s': TABLE}",
        {"module": "def keep(f):\n    TABLE.append(f())\n    return f\n\n@keep\ndef more():\n    return '{secret}'"},
    ),
    "loop of the module": ("return {'s': TABLE}", {"module": "for f in (hidden,):\n    TABLE.append(f())"}),
    "default value": ("return {'s': TABLE}", {"module": "def more(x=TABLE.append('{secret}')): pass"}),
    "call in a constant": ("return {'s': TABLE}", {"module": "UNUSED = TABLE.append('{secret}')"}),
    "call in a member": ("return {'s': TABLE}", {"member": "unused = TABLE.append('{secret}')"}),
    "binding within": ("return {'s': MORE}", {"module": "UNUSED = (MORE := '{secret}')"}),
    "global within": ("return {'s': MORE}", {"module": "def f():\n    global MORE\n    MORE = '{secret}'\nf()"}),
    "annotation": (
        "return {'s': TABLE}",
        {
            "module": "class K:\n    @property\n    def p(self):\n        TABLE.append('{secret}')\nk = K()\n"
            "def more(x: k.p): pass"
        },
    ),
    "an iterator used up": (
        "return {'s': list(PARTS['a'])}",
        {
            "module": "PARTS = {}\nPARTS['a'] = iter([1, 2])\nUNUSED = list(PARTS['a'])['{secret}' == 'one':]\n"
            "PARTS['a'] = iter(UNUSED)"
        },
    ),
    "random numbers used up": (
        "return {'s': PICK}",
        {"head": "import random", "module": "random.seed('{secret}')\nPICK = random.random()"},
    ),
    "method of the class for another name": (
        "return {'s': self.m()}",
        {"module": "", "member": "m = lambda s: '{secret}'"},
    ),
    "attributes that are missing": (
        "return {'s': self.anything}",
        {"member": "def __getattr__(self, name):\n        return '{secret}'"},
    ),
    "a decorated class": (
        "return {'s': TABLE}",
        {"module": "def note(c):\n    TABLE.append('{secret}')\n    return c\n\n@note\nclass K: pass"},
    ),
    "subclass hook": (
        "return {'s': TABLE}",
        {"module": "class K:\n    def __init_subclass__(cls):\n        TABLE.append('{secret}')\n\nclass L(K): pass"},
    ),
}


@pytest.mark.parametrize("name", SMUGGLED)
def test_nothing_is_smuggled_past(name):
    body, how = SMUGGLED[name]
    one, two = source("one", body, **how), source("two", body, **how)
    assert learned(one) != learned(two), "it is no way to smuggle anything"
    reached = what_calibrate_reaches(one), what_calibrate_reaches(two)
    assert reached[0] != reached[1] or reached == (None, None)


@pytest.mark.parametrize(
    "after",
    [
        "Preprocessor.calibrate = lambda self, docs: {{'s': '{secret}'}}",
        "class Preprocessor(Preprocessor):\n    def calibrate(self, docs):\n        return {{'s': '{secret}'}}",
        "K = Preprocessor\ndef Preprocessor():\n    k = K()\n    k.calibrate = lambda _: '{secret}'\n    return k",
    ],
)
def test_a_class_that_is_changed_afterwards_counts_with_what_changed_it(after):
    one, two = (source(secret, "return {}") + after.format(secret=secret) for secret in ("one", "two"))
    assert learned(one) != learned(two)
    reached = what_calibrate_reaches(one), what_calibrate_reaches(two)
    assert reached[0] != reached[1] or reached == (None, None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not Python",
        "class Preprocessor: pass",
        source("one", "return {}").replace("calibrate", "learn"),
        source("one", "return {}", head="import nltk"),
        source("one", "return {}", head="from string import *"),
        source("one", "return {'n': m.e}", head="import re as m", module="def f():\n    import math as m"),
        "x = " + "-" * 100_000 + "1",
    ],
)
def test_nothing_is_said_of_what_cannot_be_told(text):
    assert what_calibrate_reaches(text) is None
