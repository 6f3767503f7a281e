"""Numbers and units: 1,000 beside 1000, 5 mg beside 5mg and milligram, ten beside 10, second beside 2nd.

It helps in medical, technical and legal text, where a question writes a quantity in another way. The index grows by the
quantities alone.
"""

import re

from autoindex_haystack.proposers.builtin.transforms.words import words_of

QUANTITY = re.compile(r"(?<![\w.,])(\d{1,12}(?:,\d{3}){0,4}(?:\.\d{1,9})?)([ -]?)([A-Za-z\u00b5\u03bc]{1,12}\b)?")
UNITS = dict(
    pair.split(":")
    for pair in (
        "mg:milligram mcg:microgram kg:kilogram ml:milliliter dl:deciliter mm:millimeter cm:centimeter km:kilometer "
        "nm:nanometer ms:millisecond min:minute hr:hour hrs:hours sec:second lb:pound lbs:pounds oz:ounce ft:feet "
        "mph:miles hz:hertz khz:kilohertz mhz:megahertz ghz:gigahertz kb:kilobyte mb:megabyte gb:gigabyte tb:terabyte "
        "kw:kilowatt mw:megawatt kv:kilovolt mv:millivolt db:decibel rpm:revolutions psi:pounds mol:mole kcal:calories "
        "kpa:kilopascal mpa:megapascal kbit:kilobit mbit:megabit yr:year yrs:years wk:week iu:units"
    ).split()
)
SHORT_UNITS = {form: short for short, unit in reversed(UNITS.items()) for form in (unit, f"{unit}s")}
NUMBER_WORDS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty".split()
ORDINALS = "1st:first 2nd:second 3rd:third 4th:fourth 5th:fifth 6th:sixth 7th:seventh 8th:eighth 9th:ninth 10th:tenth"
NAMES = {str(number): word for number, word in enumerate(NUMBER_WORDS, start=10)}
NAMES |= dict(pair.split(":") for pair in ORDINALS.split())
NAMES |= {f"{n}0": w for n, w in enumerate("thirty forty fifty sixty seventy eighty ninety hundred".split(), start=3)}
DIGITS = {word: number for number, word in NAMES.items()}
DIGIT = re.compile(r"\d")


def quantity_forms(number: str, blank: str, unit: str) -> str:
    """Returns the other ways of writing a quantity."""
    name = NAMES.get(number if blank or not unit else number + unit)
    forms = [name] if name else []
    if "," in number:
        forms.append(number.replace(",", ""))
    low = unit.lower()
    if low in UNITS:
        forms += [UNITS[low], f"{number}{unit}" if blank else unit]
    elif low in SHORT_UNITS:
        forms += [SHORT_UNITS[low], f"{number}{SHORT_UNITS[low]}"]
    return " ".join(forms)


def add_number_forms(text: str) -> str:
    """Append the other ways of writing the text's numbers and quantities."""
    added = list(filter(None, map(DIGITS.get, words_of(text))))
    if DIGIT.search(text):
        added += [forms for found in QUANTITY.findall(text) if (forms := quantity_forms(*found))]
    return f"{text}\n{' '.join(added)}" if added else text
