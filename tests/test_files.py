"""Files and folders that are there whole or not at all."""

import errno
import os
import stat
from pathlib import Path

import pytest

from autoindex_haystack.errors import RunError
from autoindex_haystack.files import atomic_file, atomic_folder, refuse_existing, remove


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def fill(folder: Path, error: type[BaseException] | None = None, *, force: bool = False) -> None:
    """Fill a folder and fail when it is half done, if an error is given."""
    with atomic_folder(folder, force=force) as temporary:
        (temporary / "half").write_text("")
        if error:
            raise error


def write(path: Path, error: type[BaseException] | None = None) -> None:
    with atomic_file(path) as temporary:
        temporary.write_text("half")
        if error:
            raise error


def test_a_folder_is_seen_when_it_is_whole(tmp_path):
    with atomic_folder(tmp_path / "deep" / "new") as folder:
        (folder / "file").write_text("x")
        assert not (tmp_path / "deep" / "new").exists()
    assert names(tmp_path / "deep") == ["new"]
    assert names(tmp_path / "deep" / "new") == ["file"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_folder_that_fails_leaves_nothing_and_changes_nothing(tmp_path, error):
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "kept").write_text("")
    for name, force in (("new", False), ("old", True)):
        with pytest.raises(error):
            fill(tmp_path / name, error, force=force)
    assert names(tmp_path) == ["old"]
    assert names(tmp_path / "old") == ["kept"]


def test_what_is_there_is_replaced_only_when_allowed(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "old").write_text("")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "kept").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("file", "folder", "link"):
        with pytest.raises(RunError, match="exists; choose another place or replace it with --force"):
            fill(tmp_path / name)
        with atomic_folder(tmp_path / name, force=True) as folder:
            (folder / "new").write_text("")
        assert names(tmp_path / name) == ["new"]
    assert names(tmp_path) == ["elsewhere", "file", "folder", "link"]
    assert names(tmp_path / "elsewhere") == ["kept"]


def test_an_empty_folder_may_be_filled_also_the_current_one(tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    with atomic_folder(Path()) as folder:
        (folder / "new").write_text("")
    assert names(tmp_path) == ["empty"]
    assert names(tmp_path / "empty") == ["new"]


def test_a_place_that_cannot_be_replaced_keeps_what_it_has(tmp_path, monkeypatch):
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "kept").write_text("")
    real = Path.rename

    def busy(self, target):
        if self.name.startswith(".old.") and not self.name.endswith(".old"):
            raise OSError(errno.EBUSY, "Device or resource busy")
        return real(self, target)

    monkeypatch.setattr(Path, "rename", busy)
    with pytest.raises(
        RunError, match=r"old cannot be replaced \(Device or resource busy\); choose another output folder"
    ):
        fill(tmp_path / "old", force=True)
    assert names(tmp_path) == ["old"]
    assert names(tmp_path / "old") == ["kept"]


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "deep" / "file"
    with atomic_file(path) as temporary:
        temporary.write_text("first")
        assert not path.exists()
    with pytest.raises(KeyboardInterrupt):
        write(path, KeyboardInterrupt)
    assert path.read_text() == "first"
    assert names(path.parent) == ["file"]


def test_permissions_are_those_of_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        with atomic_folder(tmp_path / "folder"), atomic_file(tmp_path / "file"):
            pass
    finally:
        os.umask(before)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("folder", "file")]
    assert modes == [0o750, 0o640]


def test_places_that_cannot_be_written_are_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"cannot write to .*; choose another output folder"):
        fill(tmp_path / "file" / "folder")
    with pytest.raises(RunError, match=r"cannot write .*; choose another place"):
        write(tmp_path / "file" / "other")


def test_removing_follows_no_link_and_may_be_done_twice(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "kept").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    for _ in range(2):
        remove(tmp_path / "link")
    assert names(tmp_path) == ["folder"]
    remove(tmp_path / "folder")
    assert names(tmp_path) == []


def test_an_empty_place_is_not_taken(tmp_path):
    refuse_existing(tmp_path / "nothing")
    refuse_existing(tmp_path)
    (tmp_path / "file").write_text("")
    refuse_existing(tmp_path / "file", force=True)
    for taken in (tmp_path, tmp_path / "file"):
        with pytest.raises(RunError, match="exists"):
            refuse_existing(taken)
