"""Files wherever fsspec reaches: local disks, ``s3://``, ``gs://``, ``hdfs://`` and what else it knows."""

import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from autoindex_haystack.errors import AutoIndexError, BackendError

_UNFINISHED = ".unfinished"


def open_filesystem(url: str, error: type[AutoIndexError] = BackendError) -> tuple[Any, str]:
    """Find the file system of a URL.

    :param url: A URL, or the path of a local file.
    :param error: What to raise.
    :returns: fsspec's file system and the path in it.
    :raises AutoIndexError: If fsspec, or what it needs for this kind of URL, is missing.
    """
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        msg = "reading and writing in blocks needs fsspec and pyarrow: run `pip install 'autoindex-haystack[blocks]'`"
        raise error(msg) from None
    try:
        filesystem, path = url_to_fs(url)
    except ImportError as missing:
        msg = f"{url} cannot be opened, on every machine of the job: {str(missing).rstrip('.')}"
        raise error(msg) from missing
    except ValueError as wrong:
        msg = f"{url} cannot be opened: {str(wrong).rstrip('.')}; give a local path or a URL that fsspec knows"
        raise error(msg) from wrong
    return filesystem, path


def shown(url: str) -> str:
    """Returns a URL as people would write it: local files by their paths."""
    return url.removeprefix("file://")


@dataclass(frozen=True)
class Folder:
    """A folder on any file system. What is written there is there whole or not at all.

    :param url: Its URL, or a local path.
    """

    url: str

    @property
    def local(self) -> Path | None:
        """Its path, if it is on a local disk."""
        filesystem, path = open_filesystem(self.url)
        protocol = filesystem.protocol
        return Path(path) if "file" in ((protocol,) if isinstance(protocol, str) else protocol) else None

    def __truediv__(self, name: str) -> "Folder":
        return Folder(f"{self.url.rstrip('/')}/{name}")

    @contextmanager
    def writing(self, name: str) -> Iterator[IO[bytes]]:
        """Write a file beside its place and move it there at the end.

        :param name: Its name in the folder.
        :returns: A context manager that gives the stream.
        """
        filesystem, folder = open_filesystem(self.url)
        path = f"{folder}/{name}"
        filesystem.makedirs(path.rpartition("/")[0], exist_ok=True)
        temporary = f"{path}.{uuid.uuid4().hex}{_UNFINISHED}"
        try:
            with filesystem.open(temporary, "wb") as stream:
                yield stream
                if self.local is not None:
                    stream.flush()
                    os.fsync(stream.fileno())
            # Another attempt at the same work has written the same.
            with suppress(FileExistsError):
                filesystem.mv(temporary, path)
        finally:
            with suppress(FileNotFoundError):
                if filesystem.exists(temporary):
                    filesystem.rm_file(temporary)

    @contextmanager
    def reading(self, name: str) -> Iterator[IO[bytes]]:
        """Open a file.

        :param name: Its name in the folder.
        :returns: A context manager that gives the stream.
        """
        filesystem, folder = open_filesystem(self.url)
        with filesystem.open(f"{folder}/{name}", "rb") as stream:
            yield stream

    def write_json(self, name: str, value: dict[str, Any]) -> None:
        """Write a JSON object."""
        with self.writing(name) as stream:
            stream.write(json.dumps(value, ensure_ascii=False, indent=1).encode("utf-8") + b"\n")

    def read_json(self, name: str) -> dict[str, Any] | None:
        """Returns the JSON object of a file; None if there is no such file.

        :raises BackendError: If it is none.
        """
        try:
            with self.reading(name) as stream:
                value = json.loads(stream.read())
        except FileNotFoundError:
            return None
        except ValueError as error:
            msg = f"{self.url}/{name} cannot be read ({error}); remove it and run the command again"
            raise BackendError(msg) from error
        return dict(value)

    def names(self, suffix: str = "") -> list[str]:
        """Returns the names of the finished files in it, in order.

        :param suffix: How the names end.
        """
        names = (path.rstrip("/").rpartition("/")[2] for path in self._paths())
        return sorted(name for name in names if name.endswith(suffix) and not name.endswith(_UNFINISHED))

    def sweep(self) -> None:
        """Remove what those left who were killed while they wrote files in it; nobody may be writing there."""
        filesystem, _ = open_filesystem(self.url)
        for path in self._paths():
            if path.endswith(_UNFINISHED):
                with suppress(FileNotFoundError):
                    filesystem.rm_file(path)

    def _paths(self) -> list[str]:
        """What is in it now; nothing where there is no such folder."""
        filesystem, folder = open_filesystem(self.url)
        filesystem.invalidate_cache()
        try:
            return list(filesystem.ls(folder, detail=False))
        except FileNotFoundError:
            return []

    def remove(self) -> None:
        """Remove the folder with all it holds, if it is there."""
        filesystem, folder = open_filesystem(self.url)
        with suppress(FileNotFoundError):
            filesystem.rm(folder, recursive=True)

    def fetch(self, to: Path) -> None:
        """Copy the folder to a local one, which must not exist yet."""
        filesystem, folder = open_filesystem(self.url)
        filesystem.get(folder.rstrip("/") + "/", str(to) + "/", recursive=True)

    def put(self, source: Path) -> None:
        """Copy what a local folder holds to this one; not atomic, so something must tell that it is finished."""
        filesystem, folder = open_filesystem(self.url)
        for path in sorted(source.rglob("*")):
            if path.is_file():
                target = f"{folder}/{path.relative_to(source).as_posix()}"
                filesystem.makedirs(target.rpartition("/")[0], exist_ok=True)
                filesystem.put_file(str(path), target)
