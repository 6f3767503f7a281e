"""Names that reached code may use: none of them finds out about other parts of a program by a name made at run time.

Whatever is not listed makes the whole program count, so the lists may be short but must not be wrong.
"""

import builtins

SAFE_BUILTINS = frozenset(
    "abs all any ascii bin bool bytearray bytes chr classmethod complex dict divmod enumerate filter float frozenset "
    "hex int isinstance issubclass iter len list map max min next object oct ord pow print property range repr "
    "reversed round set slice sorted staticmethod str sum super tuple zip NotImplemented Ellipsis".split()
) | {name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)}
"""Builtins without ``getattr``, ``vars``, ``type``, ``eval`` and the like."""

UNSAFE_BUILTINS = frozenset(vars(builtins)) - SAFE_BUILTINS

SAFE_MEMBERS = {
    "__future__": frozenset({"annotations"}),
    "bisect": frozenset("bisect bisect_left bisect_right insort insort_left insort_right".split()),
    "collections": frozenset("Counter OrderedDict ChainMap defaultdict deque".split()),
    "collections.abc": frozenset(
        "Callable Collection Container Generator Hashable ItemsView Iterable Iterator KeysView Mapping "
        "MutableMapping MutableSequence MutableSet Sequence Set Sized ValuesView".split()
    ),
    "functools": frozenset("cache cmp_to_key lru_cache partial reduce".split()),
    "hashlib": frozenset("blake2b blake2s md5 sha1 sha256 sha512".split()),
    "heapq": frozenset("heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest".split()),
    "html": frozenset("escape unescape".split()),
    "itertools": frozenset(
        "accumulate chain combinations combinations_with_replacement compress count cycle dropwhile filterfalse "
        "groupby islice pairwise permutations product repeat starmap takewhile tee zip_longest".split()
    ),
    "json": frozenset("dumps loads".split()),
    "math": frozenset(
        "ceil comb cos dist e exp exp2 expm1 fabs floor fmod fsum gcd hypot inf isclose isfinite isinf isnan isqrt lcm "
        "log log10 log1p log2 modf nan perm pi pow prod sin sqrt tan tanh tau trunc".split()
    ),
    "operator": frozenset("add and_ contains eq ge gt itemgetter le lt mul ne neg not_ or_ sub truediv".split()),
    "random": frozenset("Random choice choices randint random randrange sample shuffle uniform".split()),
    "re": frozenset(
        "A ASCII DOTALL I IGNORECASE M MULTILINE Match NOFLAG Pattern S U UNICODE VERBOSE X compile escape findall "
        "finditer fullmatch match search split sub subn".split()
    ),
    "statistics": frozenset("fmean geometric_mean mean median mode pstdev pvariance quantiles stdev variance".split()),
    "string": frozenset(
        "ascii_letters ascii_lowercase ascii_uppercase digits hexdigits punctuation whitespace".split()
    ),
    "textwrap": frozenset("dedent fill indent shorten wrap".split()),
    "typing": frozenset(
        "Any Callable Collection Counter DefaultDict Deque Dict Final FrozenSet Generator Iterable Iterator List "
        "Literal Mapping Optional Sequence Set Tuple Type TypeAlias Union".split()
    ),
    "unicodedata": frozenset("category combining decomposition is_normalized lookup name normalize numeric".split()),
    **dict.fromkeys(
        ("autoindex_haystack.program", "schema", "base"), frozenset({"BasePreprocessor", "Chunk", "Document"})
    ),
}
"""Modules with the members that may be used, directly or by ``from``."""

FRAME_ATTRIBUTES = frozenset(
    "gi_frame gi_code gi_yieldfrom cr_frame cr_code cr_await cr_origin ag_frame ag_code ag_await".split()
)
"""The ways from an object to its frame or code that have ordinary names; all others are dunder names."""

FORMATTING = frozenset({"format", "format_map"})
"""Methods of strings that read attributes by a name inside of a string."""

PURE_CALLS = frozenset(
    "abs bool chr dict float frozenset int len list max min ord range round set sorted str sum tuple".split()
)
"""Builtins that only make plain values of plain values."""

CONSUMED = frozenset({"enumerate", "zip", "reversed"})
"""Builtins that give an iterator, which must be used up at once."""

PURE_METHODS = frozenset(
    "casefold count decode encode endswith fromkeys get isalnum isalpha isascii isdigit isidentifier islower isupper "
    "items join keys lower lstrip maketrans partition removeprefix removesuffix replace rstrip split splitlines "
    "startswith strip title union upper values".split()
)
"""Methods of plain values that change nothing."""

_CONSTANTS = frozenset("A ASCII DOTALL I IGNORECASE M MULTILINE NOFLAG S U UNICODE VERBOSE X".split())
_NUMBERS = frozenset("e inf nan pi tau".split())

PURE_VALUES = {"re": _CONSTANTS, "math": _NUMBERS, "string": SAFE_MEMBERS["string"]}
"""Members of modules that are plain values."""

PURE_FUNCTIONS = {"re": frozenset({"compile", "escape"}), "math": SAFE_MEMBERS["math"] - _NUMBERS}
"""Functions of modules that only make a value."""

PURE_DECORATORS = frozenset({"staticmethod", "classmethod", "property"})
