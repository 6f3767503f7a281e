"""Files and folders that are there whole or not at all."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from autoindex_haystack.errors import RunError
from autoindex_haystack.files import atomic_file, atomic_folder, refuse_existing, remove, sweep


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


WORK = """
import os, signal, sys
from contextlib import contextmanager
from pathlib import Path
from autoindex_haystack import files
place = Path(sys.argv[2])

@contextmanager
def scratch():
    with files.ScratchFolder() as folder:
        yield folder

@contextmanager
def nameless():
    yield files.nameless_file()

@contextmanager
def replaced():
    with files.replaced_at_the_end(place):
        place.mkdir()
        yield place

ways = {
    "new folder": lambda: files.atomic_folder(place),
    "other folder": lambda: files.atomic_folder(place, force=True),
    "file": lambda: files.atomic_file(place / "file"),
    "replaced": replaced,
    "scratch": scratch,
    "nameless": nameless,
}

def work(then):
    with ways[sys.argv[1]]() as at:
        if isinstance(at, Path) and at.is_dir():
            (at / "made").write_text("")
        then()

"""
WAIT = WORK + "work(lambda: (print('working', flush=True), sys.stdin.read()))"
PASS = WORK + "work(lambda: None)"
WAYS = ["new folder", "other folder", "file", "replaced", "scratch", "nameless"]


def python(code: str, *arguments: str, folder: Path, user=None) -> subprocess.Popen[str]:
    """A process for which `folder` is that of temporary files; of another user's if there is one."""
    return subprocess.Popen(
        [user.python if user else sys.executable, "-B", "-c", code, *arguments],
        env={"TMPDIR": str(folder), "PYTHONPATH": str(Path(__file__).parents[1])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **(user.become if user else {}),
    )


def begin(way: str, place: Path, **options) -> subprocess.Popen[str]:
    """A process that is in the middle of its work."""
    process = python(WAIT, way, str(place), folder=place.parent, **options)
    assert process.stdout
    assert process.stdout.readline() == "working\n"
    return process


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def finish(process: subprocess.Popen[str]) -> None:
    process.communicate(timeout=60)
    assert process.returncode == 0


def unfinished(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*autoindex*")]


@pytest.mark.parametrize("way", WAYS)
def test_what_a_killed_process_leaves_is_gone_after_the_next_start(tmp_path, way):
    place = tmp_path / "place"
    if way != "new folder":
        place.mkdir()
    kill(begin(way, place))
    assert bool(unfinished(tmp_path)) == (way != "nameless")
    (tmp_path / ".foreign.12345678.autoindex").write_text("")
    finish(python(PASS, way, str(place), folder=tmp_path))
    assert unfinished(tmp_path) == [".foreign.12345678.autoindex"]


@pytest.mark.parametrize("way", WAYS)
def test_what_a_living_process_works_at_is_never_taken(tmp_path, way):
    place = tmp_path / "place"
    if way != "new folder":
        place.mkdir()
    first = begin(way, place)
    seen = unfinished(tmp_path)
    finish(python(PASS, "scratch", str(place), folder=tmp_path))
    if way == "file":
        finish(python(PASS, "file", str(place), folder=tmp_path))
    assert unfinished(tmp_path) == seen
    finish(first)
    assert unfinished(tmp_path) == []


def test_files_of_other_users_are_taken_only_when_nobody_works_at_them_and_they_may_be(tmp_path, other_user):
    tmp_path.chmod(0o1777)
    for parent in list(tmp_path.parents)[:3]:
        parent.chmod(0o755)
    place = tmp_path / "place"
    theirs, own = begin("scratch", place, user=other_user), begin("scratch", place)
    both = sorted(unfinished(tmp_path))
    assert len(both) == 2
    finish(python(PASS, "scratch", str(place), folder=tmp_path))
    assert sorted(unfinished(tmp_path)) == both
    kill(own)
    finish(python(PASS, "scratch", str(place), folder=tmp_path, user=other_user))
    assert sorted(unfinished(tmp_path)) == both
    finish(python(PASS, "scratch", str(place), folder=tmp_path))
    [left] = unfinished(tmp_path)
    kill(theirs)
    assert unfinished(tmp_path) == [left]
    finish(python(PASS, "scratch", str(place), folder=tmp_path))
    assert unfinished(tmp_path) == []


KILLED_AT = """
import os, pathlib
left = int(sys.argv[3])

def counted(name):
    real = getattr(os, name)
    def call(*arguments, **options):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **options)
    return call

for name in ("rename", "replace", "mkdir", "rmdir", "unlink"):
    setattr(os, name, counted(name))
work(lambda: None)
"""


@pytest.mark.parametrize("way", ["other folder", "replaced"])
def test_a_folder_that_is_being_replaced_is_old_or_new_whenever_the_process_is_killed(tmp_path, way):
    """It dies before its first, second … change of the file system, until it comes through."""
    states = []
    for moment in range(1, 20):
        folder = tmp_path / str(moment)
        place = folder / "place"
        place.mkdir(parents=True)
        (place / "kept").write_text("")
        process = python(WORK + KILLED_AT, way, str(place), str(moment), folder=folder)
        process.communicate(timeout=60)
        finish(python(PASS, "file", str(folder), folder=folder))
        assert unfinished(folder) == []
        states.append(names(place))
        if process.returncode == 0:
            break
    assert {tuple(state) for state in states} <= {("kept",), ("made",), ()}
    assert ["kept"] in states
    assert states[-1] == ["made"]
    assert len(states) >= 5


def test_what_was_put_aside_comes_back_before_its_place_counts_as_free(tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    (place / "kept").write_text("")
    killed = begin("replaced", place)
    kill(killed)
    remove(place)
    with pytest.raises(RunError, match="exists"):
        fill(place)
    assert names(place) == ["kept"]


def test_a_link_in_the_place_of_a_left_folder_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "kept").write_text("")
    for kind in ("new", "old"):
        (tmp_path / f".x.12345678.autoindex-{kind}").symlink_to(tmp_path / "elsewhere")
    sweep(tmp_path)
    assert names(tmp_path / "elsewhere") == ["kept"]
    assert "kept" not in names(tmp_path)
