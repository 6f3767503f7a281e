"""Cleaning: text that is written for machines turned into text for people.

It helps where markup repeats words that no query means, or hides words that queries do mean. It costs a few regular
expressions a document and makes the index smaller.
"""

import re

MACRO = re.compile(r"\{\{\s*([\w-]+)\s*(?:\((.*?)\)|\|(.*?))?\s*\}\}", re.DOTALL)
LINK = re.compile(r"!?\[([^\]\[]*)\]\([^()\s]*(?:\s+\"[^\"]*\")?\)")
ADDRESS = re.compile(r"\b(?:https?|ftp)://[^\s<>\"')\]]+")
HTML_TAG = re.compile(r"</?[A-Za-z][^<>]{0,300}>")
LATEX_COMMAND = re.compile(r"\\([A-Za-z]+)\*?")
LATEX_SILENT = (
    "begin end left right big Big bigg Bigg text textbf textit mathrm mathbf mathit mathcal mathbb mathsf operatorname "
    "label ref eqref cite tag displaystyle limits quad qquad hspace vspace newline hline item centering".split()
)
LATEX_WORDS = {
    "int": "integral",
    "iint": "double integral",
    "oint": "contour integral",
    "sum": "sum",
    "prod": "product",
    "lim": "limit",
    "frac": "fraction",
    "sqrt": "square root",
    "infty": "infinity",
    "partial": "partial derivative",
    "nabla": "gradient",
    "leq": "less equal",
    "geq": "greater equal",
    "neq": "not equal",
    "in": "element",
    "forall": "for all",
    "exists": "exists",
    "cup": "union",
    "cap": "intersection",
    "subset": "subset",
    "otimes": "tensor product",
    "det": "determinant",
    "binom": "binomial",
    "log": "logarithm",
    "ln": "logarithm",
    "to": "to",
    "mapsto": "maps to",
}


def clean_markdown(text: str) -> str:
    """Keep what readers see of Markdown: the words of links and macros without addresses, tags and names of macros."""
    text = MACRO.sub(lambda macro: f" {macro[2] or macro[3] or ''} ", text)
    text = LINK.sub(r"\1", text)
    return HTML_TAG.sub(" ", ADDRESS.sub(" ", text))


def drop_addresses(text: str) -> str:
    """Leave out web addresses."""
    return ADDRESS.sub(" ", text)


def strip_latex(text: str) -> str:
    """Leave out LaTeX commands and braces; the arguments stay."""
    return re.sub(r"[{}$]", " ", LATEX_COMMAND.sub(" ", text))


def spell_latex(text: str) -> str:
    """Write LaTeX commands as words: ``\\int`` becomes integral, ``\\alpha`` becomes alpha; layout commands vanish."""

    def word(command: re.Match[str]) -> str:
        name = command[1]
        return " " if name in LATEX_SILENT else f" {LATEX_WORDS.get(name, name)} "

    return re.sub(r"[{}$]", " ", LATEX_COMMAND.sub(word, text))
