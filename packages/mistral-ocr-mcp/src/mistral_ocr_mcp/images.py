"""File names of images.

Ids come from the API and are not trusted as file names. A name keeps only ASCII letters, digits,
`-`, `_` and inner dots. No two names differ only by case.
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
MAX_STEM = 100

_KNOWN = {extension for extensions in (*EXTENSIONS.values(), DEFAULT) for extension in extensions}
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
# Reserved device names on Windows, with any extension; folders may be shared with Windows.
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def choose_name(image_id: str, mime: str | None, taken: Set[str]) -> str:
    """Choose a safe name that is not in `taken` (lower-case names).

    The extension follows the MIME type of the data header, or is `.png` without one.
    """
    extensions = EXTENSIONS.get(mime or "", DEFAULT)
    stem, extension = _split(_clean(image_id))
    if extension.lower() not in extensions:
        extension = extensions[0]
    stem = stem[:MAX_STEM].strip(".") or "image"
    if _DEVICES.fullmatch(stem):
        stem = f"_{stem}"
    name = stem + extension
    count = 1
    while name.lower() in taken:
        count += 1
        name = f"{stem}-{count}{extension}"
    return name


def _clean(image_id: str) -> str:
    plain = unicodedata.normalize("NFKC", image_id[: 10 * MAX_STEM])
    return _UNSAFE.sub("_", plain).strip(".")


def _split(name: str) -> tuple[str, str]:
    stem, dot, extension = name.rpartition(".")
    if dot and stem and dot + extension.lower() in _KNOWN:
        return stem, dot + extension
    return name, ""
