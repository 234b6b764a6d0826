"""Export of a document's elements: a folder of images and tables with one HTML page.

The folder is written under a temporary name and renamed when complete.
"""

import re
import shutil
from html import escape
from pathlib import Path
from tempfile import mkdtemp
from types import TracebackType
from typing import Any, Self

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
  pre {{ overflow-x: auto; background: #f6f6f6; padding: .75rem; }}
</style>
<h1>{title}</h1>
<p>{count} elements</p>
{figures}
</html>
"""
_FIGURE = """\
<figure id="{name}">
<figcaption><strong>{label}</strong> <span class="page">{type}, page {page}</span><br>
{caption}</figcaption>
<a href="{name}.png"><img src="{name}.png" alt="{label}" loading="lazy"></a>
{extra}</figure>
"""


class Gallery:
    """Context manager that writes the folder, and removes it on failure."""

    def __init__(self, folder: Path, title: str) -> None:
        self._folder = folder
        self._title = title
        self._figures: list[str] = []
        self._names: set[str] = set()

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
            title=escape(self._title), count=len(self._figures), figures="\n".join(self._figures)
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
        self._figures.append(
            _FIGURE.format(
                name=name,
                label=escape(element["element_label"]),
                type=escape(element["element_type"]),
                page=element["page_number"],
                caption=escape(element["description"]),
                extra=extra,
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
