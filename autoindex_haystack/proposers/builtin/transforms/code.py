"""Code: comments, docstrings and signatures apart from the statements.

It helps where questions in plain language search source code: what people wrote for people is in the comments, names
in the signatures, and statements drown both. One regular expression a document; nothing is lost unless dropped.
"""

import re

from autoindex_haystack.proposers.builtin.transforms.fields import BODY

CODE_PART = re.compile(
    r"(?P<docstring>\"\"\".*?\"\"\"|'''.*?'''|/\*\*(?:(?!/\*).)*?\*/)"
    r"|(?P<comment>/\*(?:(?!/\*).)*?\*/"
    r"|^[ \t]*(?:#(?!(?:include|define|if|ifdef|ifndef|else|elif|endif|pragma|undef)\b)|//|--[ ]|;;)[^\n]*"
    r"|(?<=[;{} \t])//[ ][^\n]*|(?<=[ \t]{2})#[ ][^\n]*)"
    r"|(?P<signature>^[ \t]*(?:(?:public|private|protected|static|final|abstract|async|export|default|inline|virtual|"
    r"pub|unsafe|extern|open|override)[ \t]+){0,4}(?:def|class|func|function|fn|interface|struct|enum|trait|impl|"
    r"module|sub|procedure|defun|namespace)[ \t][^\n]*"
    r"|^[A-Za-z_][\w<>,*&:~]{0,60}(?:[ \t]+[\w<>,*&:~]{1,60}){0,4}\([^;{}()\n]{0,200}\)[^;{}()\n]{0,40}\{)",
    re.DOTALL | re.MULTILINE,
)
CODE_MARKS = str.maketrans(dict.fromkeys('"*/#', " "))


def split_code(text: str) -> list[tuple[str, str]]:
    """Split source code into docstrings, comments, signatures and body, whatever the language."""
    fields: list[tuple[str, str]] = []
    position = 0
    for part in CODE_PART.finditer(text):
        before = text[position : part.start()].strip()
        if before:
            fields.append((BODY, before))
        name = part.lastgroup or BODY
        fields.append((name, part[0].strip() if name == "signature" else part[0].translate(CODE_MARKS).strip()))
        position = part.end()
    rest = text[position:].strip()
    return [*fields, (BODY, rest)] if rest else fields
