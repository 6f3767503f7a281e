"""Functions put together in Java do what their parts say, and calls do not get into each other's way."""

from typing import Any

from pyserini_backend import handles, jvm


def length() -> Any:
    with jvm.java("no function"):
        return handles.method("String", "length", "int")


def test_functions_are_chained_and_fed() -> None:
    with jvm.java("no function"):
        double = handles.static("Math", "multiplyExact", "int", "int", "int")
        twice_the_length = handles.then(length(), handles.feed(double, 1, handles.constant("int", 2)))
    assert handles.call(twice_the_length, "four") == 8


def test_arguments_are_rearranged() -> None:
    with jvm.java("no function"):
        join = handles.arrange(handles.method("String", "concat", "String", "String"), (1, 0), "String", "String")
    assert handles.call(join, "first", "second") == "secondfirst"


def test_texts_come_apart_as_they_were_joined() -> None:
    texts = ["", "one", "\U0001f600 two\n", "", ""]
    with jvm.java("no function"):
        split = handles.split()
    assert handles.call(split, handles.joined(texts)) == texts
    assert handles.call(split, handles.joined([""])) == [""]


def test_a_call_in_the_middle_of_a_call_does_not_change_its_object() -> None:
    with jvm.java("no function"):
        outer, inner = handles.length("String[]"), length()

    class Interrupting(list[str]):
        """Stands for another thread, or the garbage collector, at work while pyjnius reads the arguments."""

        def __len__(self) -> int:
            assert handles.call(inner, "other") == 5
            return super().__len__()

    assert handles.call(outer, Interrupting(["a", "b", "c"])) == 3
