"""Forms of English words that no suffix rule joins: irregular nouns and verbs, British and American spelling."""

import re

IRREGULAR = {
    word: group
    for group in (
        "child children|man men|woman women|mouse mice|foot feet|tooth teeth|goose geese|person people|"
        "index indices indexes|matrix matrices|vertex vertices|axis axes|analysis analyses|hypothesis hypotheses|"
        "thesis theses|crisis crises|criterion criteria|phenomenon phenomena|bacterium bacteria|datum data|"
        "spectrum spectra|nucleus nuclei|radius radii|stimulus stimuli|focus foci|appendix appendices|"
        "diagnosis diagnoses|synthesis syntheses|parenthesis parentheses|formula formulae|antenna antennae|"
        "larva larvae|leaf leaves|life lives|knife knives|half halves|wolf wolves|shelf shelves|thief thieves|"
        "wife wives|calf calves|quantum quanta|maximum maxima|minimum minima|optimum optima|metastasis metastases|"
        "go goes went gone|see saw seen|take took taken|give gave given|make made|know knew known|get got gotten|"
        "think thought|come came|say said|tell told|become became|begin began begun|break broke broken|bring brought|"
        "build built|buy bought|catch caught|choose chose chosen|draw drew drawn|drive drove driven|eat ate eaten|"
        "fall fell fallen|feel felt|fly flew flown|forget forgot forgotten|freeze froze frozen|grow grew grown|"
        "hear heard|hide hid hidden|hold held|keep kept|lead led|lose lost|mean meant|meet met|pay paid|"
        "ride rode ridden|rise rose risen|run ran|sell sold|send sent|shake shook shaken|shoot shot|sing sang sung|"
        "sink sank sunk|sleep slept|speak spoke spoken|spend spent|stand stood|steal stole stolen|swim swam swum|"
        "teach taught|throw threw thrown|understand understood|wear wore worn|win won|write wrote written|bend bent|"
        "bite bitten|blow blew blown|seek sought|fight fought|feed fed|spin spun|strike struck|swell swollen|"
        "stick stuck|sweep swept|deal dealt|weave woven|undergo underwent undergone|overcome overcame|"
        "gray grey|tire tyre|aluminum aluminium|plow plough|mold mould|skeptic sceptic|sulfur sulphur|jewelry jewellery"
    ).split("|")
    for word in group.split()
}
"""Each irregular word to all the forms of it."""

SPELLINGS = (
    (r"([iy])s(e|ed|es|ing|er|ers|ation|ations|able)$", r"\1z\2"),
    (r"(..)our(s|ed|ing|able|ful|less|al|ite|ites)?$", r"\1or\2"),
    (r"(.[bt])re(s?)$", r"\1er\2"),
    (r"ogue(s?)$", r"og\1"),
    (r"ence(s?)$", r"ense\1"),
    (r"gramme(s?)$", r"gram\1"),
    (r"([aeiouy][^aeiouy]+[aeiou])ll(ed|ing|er|ers|ation)$", r"\1l\2"),
    (r"ae(?=[a-z]{2})|oe(?=[dmst][a-z])", "e"),
)
AMERICAN = [(re.compile(pattern), american) for pattern, american in SPELLINGS]
BRITISH = re.compile("|".join(pattern for pattern, _ in SPELLINGS))


def american(word: str) -> str:
    """Returns a lower-case word in American spelling, which need not be a word where the rules do not apply."""
    # Few words are spelled in another way: one look tells which.
    if len(word) > 4 and BRITISH.search(word):
        for pattern, spelling in AMERICAN:
            word = pattern.sub(spelling, word)
    return word
