"""LaTeX and mathematical symbols, spelled as words or left out.

It helps in mathematics and science: a question says *integral* or *for all*, the document has ``\\int`` or
``\\forall``. One regular expression over documents that have a backslash; spelling adds a word beside a command,
leaving out makes the index smaller.
"""

import re

LATEX_COMMAND = re.compile(r"\\([A-Za-z]+)\*?")
LATEX_SILENT = frozenset(
    "begin end left right middle big Big bigg Bigg bigl bigr text textbf textit textrm emph mathrm mathbf mathit "
    "mathcal mathbb mathsf mathfrak boldsymbol operatorname label ref eqref cite citep citet tag displaystyle "
    "textstyle limits nolimits quad qquad hspace vspace newline hline item centering noindent newcommand usepackage "
    "documentclass includegraphics caption footnote phantom hfill smallskip medskip bigskip nonumber notag par".split()
)
LATEX_WORDS = dict(
    entry.split(":")
    for entry in (
        "int:integral|iint:double integral|iiint:triple integral|oint:contour integral|sum:sum|prod:product|"
        "coprod:coproduct|lim:limit|limsup:limit superior|liminf:limit inferior|frac:fraction|dfrac:fraction|"
        "tfrac:fraction|sqrt:square root|infty:infinity|partial:partial derivative|nabla:gradient|leq:less equal|"
        "le:less equal|geq:greater equal|ge:greater equal|neq:not equal|ne:not equal|ll:much less|gg:much greater|"
        "approx:approximately|equiv:equivalent|cong:congruent|sim:similar|simeq:isomorphic|propto:proportional|"
        "in:element|notin:not element|ni:contains|forall:for all|exists:exists|nexists:not exists|neg:not|lnot:not|"
        "land:and|wedge:wedge|lor:or|vee:or|implies:implies|Rightarrow:implies|iff:if and only if|"
        "Leftrightarrow:if and only if|cup:union|bigcup:union|cap:intersection|bigcap:intersection|setminus:difference|"
        "subset:subset|subseteq:subset|supset:superset|supseteq:superset|emptyset:empty set|varnothing:empty set|"
        "times:times|cdot:product|div:divided|pm:plus minus|mp:minus plus|otimes:tensor product|oplus:direct sum|"
        "bigoplus:direct sum|det:determinant|tr:trace|dim:dimension|ker:kernel|deg:degree|gcd:greatest common divisor|"
        "lcm:least common multiple|mod:modulo|pmod:modulo|bmod:modulo|binom:binomial|log:logarithm|ln:logarithm|"
        "exp:exponential|sin:sine|cos:cosine|tan:tangent|cot:cotangent|sec:secant|csc:cosecant|arcsin:arcsine|"
        "arccos:arccosine|arctan:arctangent|sinh:hyperbolic sine|cosh:hyperbolic cosine|tanh:hyperbolic tangent|"
        "max:maximum|min:minimum|sup:supremum|inf:infimum|arg:argument|Pr:probability|to:to|rightarrow:to|"
        "mapsto:maps to|longrightarrow:to|hookrightarrow:embedding|perp:perpendicular|parallel:parallel|"
        "angle:angle|triangle:triangle|circ:composition|prime:prime|hat:hat|bar:bar|overline:bar|tilde:tilde|vec:vector|"
        "dot:derivative|ddot:second derivative|langle:inner product|lfloor:floor|lceil:ceiling|vdots:dots|"
        "ldots:dots|cdots:dots|dots:dots|aleph:aleph|hbar:planck constant|ell:ell|Re:real part|Im:imaginary part|"
        "Box:box|square:square|therefore:therefore|because:because|models:models|vdash:proves|top:top|bot:bottom|matrix:matrix|"
        "pmatrix:matrix|bmatrix:matrix|vmatrix:determinant|cases:cases|align:equation|equation:equation"
    ).split("|")
)
GREEK = frozenset(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi varpi rho varrho "
    "sigma varsigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon "
    "Phi Psi Omega".split()
)
SYMBOLS = {
    "∫": "integral",
    "∮": "contour integral",
    "∑": "sum",
    "∏": "product",
    "√": "square root",
    "∞": "infinity",
    "∂": "partial derivative",
    "∇": "gradient",
    "≤": "less equal",
    "≥": "greater equal",
    "≠": "not equal",
    "≈": "approximately",
    "≡": "equivalent",
    "∈": "element",
    "∀": "for all",
    "∃": "exists",
    "¬": "not",
    "∧": "and",
    "∨": "or",
    "⇒": "implies",
    "⇔": "if and only if",
    "∪": "union",
    "∩": "intersection",
    "⊂": "subset",
    "⊆": "subset",
    "∅": "empty set",
    "⊗": "tensor product",
    "⊕": "direct sum",
    "→": "to",
    "⊥": "perpendicular",
}
SYMBOL = re.compile(f"[{''.join(SYMBOLS)}]")
BRACES = str.maketrans("{}$", "   ")


def is_latex(command: str) -> bool:
    """Whether the name of a command is one of LaTeX's."""
    return command in LATEX_WORDS or command in GREEK or command in LATEX_SILENT


def strip_latex(text: str) -> str:
    """Leave out LaTeX commands, braces and dollar signs; the arguments stay."""
    return LATEX_COMMAND.sub(" ", text).translate(BRACES) if "\\" in text else text


def spell_latex(text: str) -> str:
    """Write the word for a LaTeX command or symbol beside it: ``\\int integral``; layout commands vanish."""
    if not text.isascii():
        text = SYMBOL.sub(spell_symbol, text)
    return LATEX_COMMAND.sub(spell_command, text).translate(BRACES) if "\\" in text else text


def spell_symbol(symbol: re.Match[str]) -> str:
    """Returns the words for a mathematical symbol."""
    return f" {SYMBOLS[symbol[0]]} "


def spell_command(command: re.Match[str]) -> str:
    """Returns a command with its words; nothing for one of layout."""
    name = command[1]
    if name in LATEX_SILENT:
        return " "
    return f" {name} {LATEX_WORDS[name]} " if LATEX_WORDS.get(name, name) != name else f" {name} "
