"""What an image's file is called.

An id comes from the API and is never trusted as a name: what is left of it are ASCII letters,
digits, `-`, `_` and inner dots. No two names differ by case alone.
"""

import re
import unicodedata
from collections.abc import Set

EXTENSIONS = {
    "image/png": (".png",),
    "image/jpeg": (".jpeg", ".jpg"),
    "image/jpg": (".jpg", ".jpeg"),
    "image/gif": (".gif",),
    "image/webp": (".webp",),
    "image/bmp": (".bmp",),
    "image/tiff": (".tiff", ".tif"),
    "image/avif": (".avif",),
}
DEFAULT = (".png",)
LONGEST_STEM = 100

_KNOWN = {extension for extensions in (*EXTENSIONS.values(), DEFAULT) for extension in extensions}
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
# Windows takes these for devices, whatever their extension, and folders are shared.
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def choose_name(image_id: str, mime: str | None, taken: Set[str]) -> str:
    """A safe name for this image that is none of those `taken` (in lower case).

    The extension is the one that the data header says, `.png` without one.
    """
    extensions = EXTENSIONS.get(mime or "", DEFAULT)
    stem, extension = _split(_clean(image_id))
    if extension.lower() not in extensions:
        extension = extensions[0]
    stem = stem[:LONGEST_STEM].strip(".") or "image"
    if _DEVICES.fullmatch(stem):
        stem = f"_{stem}"
    name = stem + extension
    count = 1
    while name.lower() in taken:
        count += 1
        name = f"{stem}-{count}{extension}"
    return name


def _clean(image_id: str) -> str:
    plain = unicodedata.normalize("NFKC", image_id[: 10 * LONGEST_STEM])
    return _UNSAFE.sub("_", plain).strip(".")


def _split(name: str) -> tuple[str, str]:
    stem, dot, extension = name.rpartition(".")
    if dot and stem and dot + extension.lower() in _KNOWN:
        return stem, dot + extension
    return name, ""
