"""Small functions that run inside the JVM, put together from Lucene's own methods, without any Java source.

A call from Python into Java costs microseconds and every object that crosses over costs more: reading 10,000 hits
one by one takes 50 ms, as much as ten searches. ``java.lang.invoke.MethodHandle`` joins existing Java methods into one
function that takes many texts and gives back one array of bytes, and that runs without Python's global lock: the same
10,000 hits then take 0.2 ms.

Java's types are named without their package (see ``_PACKAGES``), with ``[]`` for arrays; a function's type is its
result followed by its parameters. Functions are put together by one thread at a time (inside
:func:`pyserini_backend.jvm.java`) and called by any number.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from pyserini_backend.jvm import java_class

Handle = Any
"""A ``java.lang.invoke.MethodHandle``."""

SEPARATOR = "\0"

_PACKAGES = {
    "io.anserini.search.query": ("BagOfWordsQueryGenerator",),
    "java.lang": ("CharSequence", "Class", "Float", "Iterable", "Long", "Math", "Object", "String"),
    "java.lang.invoke": ("MethodHandle", "MethodHandleProxies", "MethodType"),
    "java.nio": ("ByteBuffer", "IntBuffer", "LongBuffer"),
    "java.nio.charset": ("Charset",),
    "java.util": ("Arrays", "List", "Map", "Set"),
    "java.util.concurrent.atomic": ("AtomicReference",),
    "java.util.function": (
        "Function",
        "IntConsumer",
        "IntFunction",
        "IntToLongFunction",
        "IntUnaryOperator",
        "ToIntFunction",
    ),
    "java.util.stream": ("BaseStream", "Collector", "Collectors", "IntStream", "LongStream", "Stream"),
    "org.apache.lucene.analysis": ("Analyzer",),
    "org.apache.lucene.document": (
        "BinaryDocValuesField",
        "Field",
        "Field$Store",
        "NumericDocValuesField",
        "StringField",
    ),
    "org.apache.lucene.index": (
        "BinaryDocValues",
        "CodecReader",
        "IndexReader",
        "IndexWriter",
        "IndexableFieldType",
        "MultiReader",
        "NumericDocValues",
        "Term",
    ),
    "org.apache.lucene.search": ("IndexSearcher", "Query", "ScoreDoc", "TopDocs"),
    "org.apache.lucene.store": ("Directory",),
    "org.apache.lucene.util": ("Bits", "BytesRef"),
}
_FULL_NAMES = {name: f"{package}.{name}" for package, names in _PACKAGES.items() for name in names}
_PRIMITIVES = {"boolean": "Z", "byte": "B", "int": "I", "long": "J", "float": "F", "void": "V"}
_BOXES = {"int": "Integer", "long": "Long", "float": "Float"}


def method(owner: str, name: str, returns: str, *parameters: str) -> Handle:
    """Returns a method of objects; its first parameter is the object."""
    return _lookup().findVirtual(_class(owner), name, _type(returns, *parameters))


def static(owner: str, name: str, returns: str, *parameters: str) -> Handle:
    """Returns a method of a class."""
    return _lookup().findStatic(_class(owner), name, _type(returns, *parameters))


def constructor(owner: str, *parameters: str) -> Handle:
    """Returns the function that makes a new object."""
    return _lookup().findConstructor(_class(owner), _type("void", *parameters))


def field(owner: str, name: str, kind: str) -> Handle:
    """Returns the function that reads a field of an object."""
    return _lookup().findGetter(_class(owner), name, _class(kind))


def length(array: str) -> Handle:
    """Returns the function that gives the length of an array."""
    return _handles().arrayLength(_class(array))


def constant(kind: str, value: object) -> Handle:
    """Returns a function without parameters that gives a value."""
    return _handles().constant(_class(kind), value)


def then(first: Handle, *following: Handle) -> Handle:
    """Returns the function that passes the result of each function to the next."""
    for after in following:
        first = _handles().filterReturnValue(first, _accepting(after, 0, first))
    return first


def feed(target: Handle, position: int, source: Handle) -> Handle:
    """Returns ``target`` with the parameter at a position replaced by those of ``source``, which computes it."""
    return _handles().collectArguments(_accepting(target, position, source), position, source)


def arrange(target: Handle, order: tuple[int, ...], *parameters: str) -> Handle:
    """Give a function other parameters.

    :param target: The function.
    :param order: For each parameter of ``target`` the position of the new parameter to take.
    :param parameters: The types of the new parameters.
    :returns: The function with the new parameters.
    """
    kind = _type("void", *parameters).changeReturnType(_result(target))
    return _handles().permuteArguments(target, _cast("MethodType", kind), *order)


def collected(target: Handle, array: str, count: int = 1) -> Handle:
    """Returns ``target`` with so many elements in the place of its last parameter, an array."""
    return target.asCollector(_class(array), count)


def after(action: Handle, target: Handle) -> Handle:
    """Returns ``target``, run after ``action`` on the same leading arguments."""
    return _handles().foldArguments(target, _handles().dropReturn(action))


def with_first(source: Handle, target: Handle) -> Handle:
    """Returns ``target`` with its first argument computed by ``source`` from the arguments that follow."""
    return _handles().foldArguments(_accepting(target, 0, source), source)


def split() -> Handle:
    """Returns the function from a string to the ``String[]`` between its separators; see :func:`joined`."""
    cut = method("String", "split", "String[]", "String", "int")
    return feed(feed(cut, 2, constant("int", -1)), 1, constant("String", SEPARATOR))


def joined(texts: Sequence[str]) -> str:
    """Join texts to one string, to be cut again by :func:`split`.

    A Python list would reach Java too, but pyjnius would never let go of the array it makes of it.

    :param texts: The texts, at least one; none may contain a NUL.
    :returns: One string.
    """
    return SEPARATOR.join(texts)


def as_kind(target: Handle, returns: str, *parameters: str) -> Handle:
    """Returns a function with its types converted, as by an assignment or a cast in Java."""
    return _handles().explicitCastArguments(target, _type(returns, *parameters))


def instance(interface: str, target: Handle) -> Handle:
    """Make an object of a Java interface with one method out of a function.

    :param interface: For example ``Function``.
    :param target: What its method does.
    :returns: A function without parameters that gives the object.
    """
    if java_class("java.lang.Runtime").version().feature() < _NAMELESS:
        maker = java_class(_FULL_NAMES["MethodHandleProxies"])
        return constant(interface, maker.asInterfaceInstance(_class(interface), target))
    make = static("MethodHandleProxies", "asInterfaceInstance", "Object", "Class", "MethodHandle")
    reference = java_class(_FULL_NAMES["AtomicReference"])()
    keep = method("AtomicReference", "set", "void", "Object").bindTo(reference)
    call(feed(keep, 0, make.bindTo(_class(interface))), target)
    return as_kind(method("AtomicReference", "get", "Object").bindTo(reference), interface)


_NAMELESS = 22
"""From this version of Java on, the object's class has no name that pyjnius could look up, so it must stay in Java;
before, the method that makes it may only be called from outside."""


def call(target: Handle, *arguments: object) -> Any:
    """Run a function.

    :param target: The function.
    :param arguments: Strings or Java objects; numbers go in by :func:`constant`, many strings by :func:`joined`.
    :returns: The result: for an array of bytes an object with ``tostring()``.
    """
    from jnius import cast

    # Nobody else has this class, so nobody else changes the object that its methods are about to be called on.
    own = _own_classes.pop() if _own_classes else _own_class()
    try:
        for argument in arguments:
            target = cast(own, target).bindTo(argument)
        return cast(own, target).invokeWithArguments(_no_arguments())
    finally:
        _own_classes.append(own)


_own_classes: list[Any] = []
"""Classes not in use; taking one and giving it back are single steps that no other thread can interrupt."""


def _own_class() -> Any:
    """Returns a new Python class of the Java class ``MethodHandle``, with methods of its own."""
    from jnius import JavaClass, JavaMethod, MetaJavaClass

    body = {
        "__javaclass__": "java/lang/invoke/MethodHandle",
        "bindTo": JavaMethod("(Ljava/lang/Object;)Ljava/lang/invoke/MethodHandle;"),
        "invokeWithArguments": JavaMethod("(Ljava/util/List;)Ljava/lang/Object;"),
    }
    # Under a key of its own it does not replace the class that `autoclass` gives to others.
    return MetaJavaClass.__new__(MetaJavaClass, "MethodHandle", (JavaClass,), body, classparams=("autoindex",))


def _accepting(target: Handle, position: int, source: Handle) -> Handle:
    kind = target.type().changeParameterType(position, _result(source))
    return target.asType(_cast("MethodType", kind))


def _result(target: Handle) -> Any:
    return _cast("Class", target.type().returnType())


def _cast(name: str, value: Any) -> Any:
    """Returns a Java object under its real type; of some methods pyjnius sees only the type that an interface gives."""
    from jnius import cast

    return cast(_FULL_NAMES[name], value)


@cache
def _handles() -> Any:
    return java_class("java.lang.invoke.MethodHandles")


@cache
def _lookup() -> Any:
    return _handles().publicLookup()


@cache
def _no_arguments() -> Any:
    return java_class("java.util.ArrayList")()


@cache
def _class(name: str) -> Any:
    if name in _BOXES:
        return java_class(f"java.lang.{_BOXES[name]}").TYPE
    full = _descriptor(name).replace("/", ".") if name.endswith("[]") else _FULL_NAMES[name]
    return java_class("java.lang.Class").forName(full)


def _type(returns: str, *parameters: str) -> Any:
    kind = java_class("java.lang.invoke.MethodType")
    descriptor = f"({''.join(map(_descriptor, parameters))}){_descriptor(returns)}"
    return kind.fromMethodDescriptorString(descriptor, None)


def _descriptor(name: str) -> str:
    if name.endswith("[]"):
        return "[" + _descriptor(name[:-2])
    return _PRIMITIVES.get(name) or f"L{_FULL_NAMES[name].replace('.', '/')};"
