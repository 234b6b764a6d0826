"""Sandbox: the folder that the server may write to, and the only code that writes.

Threat model: paths and names come from a language model and from an API, and other programs may
rename folders and swap in links during a call. So the allowed folder is opened once, when the
server starts. Everything below it is opened from that handle, step by step, without following
links. Paths are only requests; all access goes through handles.

Accepted risks: a program that runs as the same user can do everything the server can. A process
that is killed while it writes leaves a folder whose name begins with `PREFIX`.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO

from mistral_ocr_mcp.errors import Failure, refuse

PREFIX = ".mistral-ocr-"
NAME_BYTES = 255
STAMP = "_%Y%m%d_%H%M%S"
STAMP_LENGTH = 16
STAMPS_TRIED = 60

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_TMPFILE: int | None = getattr(os, "O_TMPFILE", None)


class Sandbox:
    """The allowed folder and everything below it."""

    def __init__(self, root: Path, allowed: str) -> None:
        self._root = root
        self._allowed = allowed
        self._handle = os.open(root, _FOLDER)

    @contextmanager
    def open_folder(self, output_dir: str) -> Iterator["Folder"]:
        """Open a folder for writing; nothing is created.

        Raises:
            Failure: the path is relative, outside, missing, not a folder, or not writable.
        """
        path = self._resolve(output_dir)
        handle = self._walk(path, output_dir)
        try:
            if not os.access(".", os.W_OK | os.X_OK, dir_fd=handle, effective_ids=True):
                raise Failure(f"output_dir is not writable: {output_dir}")
            yield Folder(path, handle)
        finally:
            os.close(handle)

    def _resolve(self, output_dir: str) -> Path:
        if not Path(output_dir).is_absolute():
            raise Failure(f"output_dir must be an absolute path: {output_dir}")
        try:
            path = Path(output_dir).resolve()
        except (OSError, RuntimeError, ValueError) as cause:
            raise Failure(f"output_dir does not exist: {output_dir!r}") from cause
        if not path.is_relative_to(self._root):
            raise Failure(f"output_dir must be within the allowed directory: {self._allowed}")
        try:
            str(path).encode()
        except UnicodeEncodeError as cause:
            raise Failure(
                f"output_dir leads to a folder whose name is not UTF-8: {output_dir}"
            ) from cause
        return path

    def _walk(self, path: Path, output_dir: str) -> int:
        handle = os.dup(self._handle)
        for part in path.relative_to(self._root).parts:
            try:
                below = os.open(part, _FOLDER, dir_fd=handle)
            except FileNotFoundError as cause:
                raise Failure(f"output_dir does not exist: {output_dir}") from cause
            except NotADirectoryError as cause:
                raise Failure(f"output_dir is not a directory: {output_dir}") from cause
            except OSError as cause:
                raise refuse("open", output_dir, cause) from cause
            finally:
                os.close(handle)
            handle = below
        if not _is_at(handle, path):
            os.close(handle)
            raise Failure(
                f"output_dir is no longer the folder it was: {output_dir}. If the allowed "
                "directory was moved or recreated, restart the server."
            )
        return handle


class Folder:
    """An open folder inside the sandbox."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self._handle = handle

    def open_unnamed(self) -> BinaryIO:
        """Create a file without a name in this folder; it is deleted when closed.

        Raises:
            Failure: the file cannot be created.
        """
        try:
            return os.fdopen(self._create_unnamed(), "w+b")
        except OSError as cause:
            raise refuse("create a temporary file in", self.path, cause) from cause

    def _create_unnamed(self) -> int:
        if _TMPFILE is not None:
            with suppress(OSError):  # not supported by every file system
                flags = _TMPFILE | os.O_RDWR | os.O_CLOEXEC
                return os.open(".", flags, 0o600, dir_fd=self._handle)
        name = PREFIX + secrets.token_hex(8)
        handle = os.open(name, _NEW_FILE | os.O_RDWR, 0o600, dir_fd=self._handle)
        os.unlink(name, dir_fd=self._handle)
        return handle

    @contextmanager
    def draft(self) -> Iterator["Draft"]:
        """Create a folder under a hidden name; it is removed unless it is published.

        Raises:
            Failure: the folder cannot be created.
        """
        name = PREFIX + secrets.token_hex(8)
        try:
            os.mkdir(name, dir_fd=self._handle)
            handle = os.open(name, _FOLDER, dir_fd=self._handle)
        except OSError as cause:
            raise refuse("create a folder in", self.path, cause) from cause
        draft = Draft(self.path, self._handle, name, handle)
        try:
            yield draft
        finally:
            draft.discard()
            os.close(handle)


class Draft:
    """A folder that is being written."""

    def __init__(self, parent: Path, parent_handle: int, name: str, handle: int) -> None:
        self._parent = parent
        self._parent_handle = parent_handle
        self._name = name
        self._handle = handle
        self._files: list[str] = []
        self._is_published = False

    @contextmanager
    def create(self, name: str) -> Iterator[BinaryIO]:
        """Create a new file for writing; existing files and links are errors.

        Raises:
            Failure: the file cannot be created or written.
        """
        try:
            handle = os.open(name, _NEW_FILE | os.O_WRONLY, 0o666, dir_fd=self._handle)
            self._files.append(name)
            with os.fdopen(handle, "wb") as stream:
                yield stream
        except OSError as cause:
            raise refuse("write", self._parent / self._name / name, cause) from cause

    def publish(self, stem: str) -> Path:
        """Rename the folder to `stem`, with a time stamp if that name is taken.

        Raises:
            Failure: the folder cannot be renamed.
        """
        name = self._claim(stem)
        target = self._parent / name
        try:
            # Atomically replaces the empty folder that `_claim` has created.
            os.rename(
                self._name,
                name,
                src_dir_fd=self._parent_handle,
                dst_dir_fd=self._parent_handle,
            )
        except OSError as cause:
            with suppress(OSError):
                os.rmdir(name, dir_fd=self._parent_handle)
            raise refuse("create", target, cause) from cause
        self._is_published = True
        return target

    def _claim(self, stem: str) -> str:
        for name in _names(stem):
            try:
                os.mkdir(name, dir_fd=self._parent_handle)
            except FileExistsError:
                continue
            except OSError as cause:
                raise refuse("create", self._parent / name, cause) from cause
            return name
        raise Failure(f"Cannot create {self._parent / stem}: all candidate names are taken")

    def discard(self) -> None:
        """Remove the written files, unless published; files of other programs stay."""
        if self._is_published:
            return
        for name in self._files:
            with suppress(OSError):
                os.unlink(name, dir_fd=self._handle)
        with suppress(OSError):
            os.rmdir(self._name, dir_fd=self._parent_handle)


def _names(stem: str) -> Iterator[str]:
    """Candidate names, best first; each taken time stamp is followed by the next second."""
    stem = stem if stem.strip(".") else "document"
    yield _cut(stem, NAME_BYTES)
    now = datetime.now()
    for seconds in range(STAMPS_TRIED):
        stamp = (now + timedelta(seconds=seconds)).strftime(STAMP)
        yield _cut(stem, NAME_BYTES - STAMP_LENGTH) + stamp


def _cut(name: str, size: int) -> str:
    return name.encode()[:size].decode(errors="ignore")


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except OSError:
        return False
