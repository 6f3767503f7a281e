"""What the host is told when a program fails."""

# Since Python 3.13 `linecache`, which tracebacks read, loads it late: when a worker can load nothing any more.
import tokenize  # noqa: F401
import traceback

FILE_NAME = "/autoindex/representation/programs/current/candidate/program.py"
"""The made-up ``__file__`` of programs: deep enough for programs that look at their parent folders."""

_FRAMES = 20
_MESSAGE, _LINE = 2_000, 200
"""Characters of a message, and of a line of source or a name, that are shown."""


class Rejected(Exception):
    """The program broke the contract; the message completes 'the program …'."""


def failure(error: BaseException) -> dict[str, str]:
    """Describe an error: a message that completes 'the program …', and the program's own traceback."""
    if isinstance(error, Rejected):
        return {"message": _shorten(str(error), _MESSAGE), "traceback": ""}
    if isinstance(error, SystemExit):
        message = "called sys.exit; raise nothing and return the chunks"
    elif isinstance(error, MemoryError):
        message = "needs more memory than it is allowed"
    else:
        message = "raised " + _shorten(type(error).__name__, _LINE)
    return {"message": message, "traceback": own_traceback(error)}


def own_traceback(error: BaseException) -> str:
    """The error's traceback from the program's first frame on."""
    last = _shorten("".join(traceback.format_exception_only(error)), _MESSAGE)
    frames = traceback.extract_tb(error.__traceback__)
    first = next((i for i, frame in enumerate(frames) if frame.filename == FILE_NAME), None)
    if isinstance(error, SyntaxError) or first is None:
        return last
    lines = [
        f'  File "{frame.filename.rpartition("/")[2]}", line {frame.lineno}, in {frame.name}\n'
        f"    {_shorten(frame.line or '', _LINE)}\n"
        for frame in frames[first:][-_FRAMES:]
    ]
    return "".join(["Traceback of the program:\n", *lines, last])


def kind(value: object) -> str:
    """How a message calls a value of the wrong type."""
    return "None" if value is None else "a " + type(value).__name__


def _shorten(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + " …"
