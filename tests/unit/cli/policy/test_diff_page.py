"""The HTML page of a comparison."""

from quinion.cli.policy.diff_page import write_page
from quinion.compare.revisions import compare
from quinion.model.comparison import SectionText

REVISION = {
    "revision_id": "rev_A_2024_01",
    "version_label": "2024",
    "effective_from": "2024-01-01",
    "effective_to": None,
}


def test_texts_and_references_are_escaped() -> None:
    text = "<script>alert(1)</script> & homes near a station that nobody uses any more"
    before = [SectionText("<b>Aims</b>", ("<b>Aims</b>",), (1,), text)]
    after = [SectionText("<b>Aims</b>", ("<b>Aims</b>",), (1,), text.replace("near", "<i>by</i>"))]
    answer = {"source": "A", "before": REVISION, "after": REVISION}
    for sides in ((before, after), (before, []), ([], after)):
        page = write_page(answer, compare(*sides))
        assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; homes" in page
        assert "&lt;b&gt;Aims&lt;/b&gt;" in page
        assert not any(tag in page for tag in ("<script", "<b>", "<i>"))
