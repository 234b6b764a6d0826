"""Comparison of two revisions as one self-contained HTML page.

The page has no scripts and loads nothing. Texts of policies are escaped.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from quinion.model.comparison import Change, Comparison, Row, SectionText
from quinion.model.marked_text import Mark, Piece, mark_after, mark_before

_STYLE = """
:root { color-scheme: light dark; --line: #d0d5dd; --soft: #667085; --back: #f6f7f9;
  --del: #fde2e0; --ins: #d7f2dd; --flag: #8a4b00; }
@media (prefers-color-scheme: dark) {
  :root { --line: #444c56; --soft: #9aa4b2; --back: #22272e; --del: #5d2b2b; --ins: #1f4d2c;
    --flag: #f0b35e; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 84rem; padding: 1rem; }
h1 { font-size: 1.6rem; margin: .5rem 0; }
h2 { font-size: 1.05rem; margin: 0; overflow-wrap: anywhere; }
p { margin: .5rem 0; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .75rem .25rem 0; text-align: left; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
label { cursor: pointer; white-space: nowrap; }
article { border: 1px solid var(--line); border-radius: 6px; margin: 1rem 0; overflow: hidden; }
header.row { background: var(--back); padding: .5rem .75rem; border-bottom: 1px solid var(--line); }
.kind, .pages { color: var(--soft); font-size: .875rem; }
.flag { color: var(--flag); font-weight: 600; }
.sides { display: grid; grid-template-columns: 1fr 1fr; }
.side { padding: .5rem .75rem; overflow-wrap: anywhere; white-space: pre-line; min-width: 0; }
.side + .side { border-left: 1px solid var(--line); }
.side.none { background: var(--back); color: var(--soft); }
del { background: var(--del); }
ins { background: var(--ins); text-decoration-thickness: 2px; }
@media (max-width: 700px) {
  .sides { grid-template-columns: 1fr; }
  .side + .side { border-left: 0; border-top: 1px solid var(--line); }
  .side.none { display: none; } }
"""
_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
<p>From {before} to {after}. {share} of the text was added, removed or replaced.
Untick a kind of change to hide it.</p>
<table>
<thead>
<tr><th>change</th><th class="n">sections</th><th class="n">with other words</th></tr>
</thead>
<tbody>
{counts}
</tbody>
</table>
{rows}
</body>
</html>
"""
_ROW = """\
<article class="{change}">
<header class="row"><h2>{refs}</h2><span class="kind">{kind}</span>{flags}</header>
<div class="sides">{before}{after}</div>
</article>"""
_TAGS = {Mark.SAME: "{}", Mark.REMOVED: "<del>{}</del>", Mark.ADDED: "<ins>{}</ins>"}


def write_page(answer: Mapping[str, Any], comparison: Comparison) -> str:
    """Write the page: how much changed, then each changed section with both its texts."""
    kinds = [change for change in Change if change is not Change.UNCHANGED]
    hide = "\n".join(
        f"body:has(#show-{kind}:not(:checked)) article.{kind} {{ display: none; }}"
        for kind in kinds
    )
    return _PAGE.format(
        title=f"What changed in {escape(answer['source'])}",
        style=_STYLE + hide,
        before=_name(answer["before"]),
        after=_name(answer["after"]),
        share=f"{comparison.changed_share:.1%}",
        counts="\n".join(_count(comparison, change) for change in Change),
        rows="\n".join(map(_row, comparison.changed)),
    )


def _name(revision: Mapping[str, Any]) -> str:
    start, end = revision["effective_from"], revision["effective_to"]
    period = f"{start} to {end}" if end else f"from {start}"
    when = "a draft, planned" if revision.get("draft") else "in force"
    return (
        f"<strong>{escape(revision['version_label'])}</strong> "
        f"({escape(revision['revision_id'])}, {when} {period})"
    )


def _count(comparison: Comparison, change: Change) -> str:
    reworded = sum(row.is_reworded for row in comparison.rows if row.change is change)
    name = change.value
    if change is not Change.UNCHANGED:
        name = f'<label><input type="checkbox" id="show-{change}" checked> {change}</label>'
    return (
        f'<tr><td>{name}</td><td class="n">{comparison.counts[change]}</td>'
        f'<td class="n">{reworded or ""}</td></tr>'
    )


def _row(row: Row) -> str:
    words = [str(row.change)]
    if row.is_reworded and row.change is not Change.REWORDED:
        words.append("reworded")
    return _ROW.format(
        change=row.change,
        refs=escape(row.refs),
        kind=", ".join(words),
        flags="".join(f', <span class="flag">{flag} changed</span>' for flag in row.flags),
        before=_side(row.before, mark_before(row) if row.before else []),
        after=_side(row.after, mark_after(row) if row.after else []),
    )


def _side(sections: Sequence[SectionText], pieces: Sequence[Piece]) -> str:
    if not sections:
        return '<div class="side none">—</div>'
    pages = sorted({page for one in sections for page in one.pages})
    name = ", ".join(one.ref for one in sections)
    cited = f"{name}, {'pages' if len(pages) > 1 else 'page'} {', '.join(map(str, pages))}"
    text = "".join(_TAGS[piece.mark].format(escape(piece.text)) for piece in pieces)
    return f'<div class="side"><span class="pages">{escape(cited)}</span>\n{text}</div>'
