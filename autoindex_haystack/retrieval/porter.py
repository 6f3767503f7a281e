"""Porter's stemming algorithm for lower-case English words.

M. F. Porter: An algorithm for suffix stripping, Program 14(3), 1980, with the two later changes of the author's own
implementation, which Lucene has too: ``-bli`` becomes ``-ble`` and ``-logi`` becomes ``-log``.
"""

LONGEST_SUFFIX = 7
STEP_2 = dict(
    rule.split(":")
    for rule in (
        "ational:ate tional:tion enci:ence anci:ance izer:ize bli:ble alli:al entli:ent eli:e ousli:ous ization:ize "
        "ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive biliti:ble logi:log"
    ).split()
)
STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
STEP_4 = dict.fromkeys("al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize".split(), "")


def porter_stem(word: str) -> str:
    """Returns the stem of a lower-case word; words of one or two letters are their own stems."""
    if len(word) < 3:
        return word
    word = strip_plural(word)
    word = strip_past(word)
    if word.endswith("y") and "v" in letter_kinds(word[:-1]):
        word = word[:-1] + "i"
    word = replace_suffix(word, STEP_2, 1)
    word = replace_suffix(word, STEP_3, 1)
    word = replace_suffix(word, STEP_4, 2)
    return strip_final(word)


def letter_kinds(word: str) -> str:
    """Returns c for each consonant and v for each vowel; y is a vowel after a consonant."""
    kinds = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and kinds.endswith("c"))
        kinds += "v" if vowel else "c"
    return kinds


def measure(word: str) -> int:
    """Returns how often a consonant follows a vowel: the m of Porter's paper."""
    return letter_kinds(word).count("vc")


def ends_short(word: str) -> bool:
    """Whether a word ends consonant, vowel, consonant, the last being none of w, x, y."""
    return letter_kinds(word).endswith("cvc") and word[-1] not in "wxy"


def strip_plural(word: str) -> str:
    """Step 1a: -sses, -ies, -s."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def strip_past(word: str) -> str:
    """Step 1b: -eed, -ed, -ing."""
    if word.endswith("eed"):
        return word[:-1] if measure(word[:-3]) > 0 else word
    suffix = "ed" if word.endswith("ed") else "ing" if word.endswith("ing") else ""
    stem = word[: len(word) - len(suffix)]
    if not suffix or "v" not in letter_kinds(stem):
        return word
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if len(stem) > 1 and stem[-1] == stem[-2] and letter_kinds(stem)[-1] == "c":
        return stem if stem[-1] in "lsz" else stem[:-1]
    return stem + "e" if measure(stem) == 1 and ends_short(stem) else stem


def replace_suffix(word: str, rules: dict[str, str], least: int) -> str:
    """Steps 2 to 4: replace the longest suffix that has a rule, when the measure before it is at least so much."""
    for length in range(min(LONGEST_SUFFIX, len(word)), 1, -1):
        suffix = word[-length:]
        if suffix in rules:
            stem = word[:-length]
            if measure(stem) < least or (suffix == "ion" and not stem.endswith(("s", "t"))):
                return word
            return stem + rules[suffix]
    return word


def strip_final(word: str) -> str:
    """Step 5: a final -e, and one of a final -ll."""
    if word.endswith("e"):
        stem = word[:-1]
        if measure(stem) > 1 or (measure(stem) == 1 and not ends_short(stem)):
            word = stem
    if word.endswith("ll") and measure(word) > 1:
        word = word[:-1]
    return word
