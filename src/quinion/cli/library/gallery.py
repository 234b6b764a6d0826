"""Export of a document's elements: a folder of images and tables with one HTML page.

The folder is written under a temporary name and renamed when complete.
"""

import re
import shutil
import struct
from collections.abc import Iterable
from html import escape
from pathlib import Path
from tempfile import mkdtemp
from types import TracebackType
from typing import Any, Self

PNG = b"\x89PNG\r\n\x1a\n"

_PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
  body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem;
         padding: 0 1rem; color: #222; background: #fff; }}
  figure {{ margin: 2.5rem 0; border-top: 1px solid #ddd; padding-top: 1rem; }}
  img {{ max-width: 100%; height: auto; }}
  figcaption {{ margin-bottom: .75rem; }}
  .page {{ color: #666; }}
  nav {{ columns: 16rem; }}
  nav section {{ break-inside: avoid; }}
  nav h2 {{ font-size: 1rem; margin: 0 0 .25rem; }}
  nav ul {{ margin: 0 0 1rem; padding-left: 1.25rem; }}
  pre {{ overflow-x: auto; background: #f6f6f6; padding: .75rem; }}
</style>
<h1>{title}</h1>
<p>{count} elements</p>
<nav aria-label="By type">
{by_type}
</nav>
<nav aria-label="By page">
{by_page}
</nav>
{figures}
</html>
"""
_FIGURE = """\
<figure id="{name}">
<figcaption><strong>{label}</strong> <span class="page">{type}, page {page}</span><br>
{caption}</figcaption>
<a href="{name}.png"><img src="{name}.png" alt="{label}" loading="lazy" decoding="async"{size}></a>
{extra}</figure>
"""


_GROUP = """\
<section><h2>{title}</h2>
<ul>
{links}
</ul></section>
"""


class Gallery:
    """Context manager that writes the folder, and removes it on failure."""

    def __init__(self, folder: Path, title: str) -> None:
        self._folder = folder
        self._title = title
        self._figures: list[str] = []
        self._names: set[str] = set()
        self._by_type: dict[str, list[str]] = {}
        self._by_page: dict[int, list[str]] = {}

    def __enter__(self) -> Self:
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        self._scratch = Path(mkdtemp(prefix=".writing-", dir=self._folder.parent))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
            return
        page = _PAGE.format(
            title=escape(self._title),
            count=len(self._figures),
            by_type=_index(
                (kind.capitalize(), self._by_type[kind]) for kind in sorted(self._by_type)
            ),
            by_page=_index((f"Page {page}", self._by_page[page]) for page in sorted(self._by_page)),
            figures="\n".join(self._figures),
        )
        (self._scratch / "index.html").write_text(page, encoding="utf-8")
        self._scratch.chmod(0o755)
        self._scratch.rename(self._folder)

    def add(self, element: dict[str, Any], picture: bytes) -> None:
        """Write one element: its image, caption, and table rows if any."""
        name = self._name(element)
        (self._scratch / f"{name}.png").write_bytes(picture)
        extra = ""
        if element["table_csv"]:
            (self._scratch / f"{name}.csv").write_text(element["table_csv"], encoding="utf-8")
            extra += f'<p><a href="{name}.csv">Rows as CSV</a></p>\n'
        if element["latex"]:
            extra += f"<pre>{escape(element['latex'])}</pre>\n"
        link = f'<li><a href="#{name}">{escape(element["element_label"]) or name}</a></li>'
        page = f', <span class="page">page {element["page_number"]}</span></li>'
        self._by_type.setdefault(element["element_type"], []).append(link.replace("</li>", page))
        self._by_page.setdefault(element["page_number"], []).append(link)
        self._figures.append(
            _FIGURE.format(
                name=name,
                label=escape(element["element_label"]),
                type=escape(element["element_type"]),
                page=element["page_number"],
                caption=escape(element["description"]),
                extra=extra,
                size=_size(picture),
            )
        )

    def _name(self, element: dict[str, Any]) -> str:
        label = re.sub(r"\W+", "-", element["element_label"].lower(), flags=re.ASCII).strip("-")
        stem = f"p{element['page_number']:04d}-{label or 'element'}"[:80]
        name, number = stem, 2
        while name in self._names:
            name, number = f"{stem}-{number}", number + 1
        self._names.add(name)
        return name


def _index(groups: Iterable[tuple[str, list[str]]]) -> str:
    return "".join(
        _GROUP.format(title=escape(title), links="\n".join(links)) for title, links in groups
    )


def _size(picture: bytes) -> str:
    """Write the size of a PNG as attributes, so that the page does not jump while it loads."""
    if picture[:8] != PNG:
        return ""
    width, height = struct.unpack(">II", picture[16:24])
    return f' width="{width}" height="{height}"'
