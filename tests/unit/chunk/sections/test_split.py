"""Section splitting of small documents that are defined line by line."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from quinion.chunk.recursive import Sizes
from quinion.chunk.sections.headers_footers import find_furniture
from quinion.chunk.sections.references import join_chunks, select
from quinion.chunk.sections.split import chunk_sections, document_text, find_sections
from quinion.model.line import Line
from quinion.model.section import Kind, Section

BODY = 11.0
LEFT = 57.0
PROSE = "Planning decisions weigh what a proposal brings against what it takes away from a place"


def body(text: str, *, left: float = LEFT) -> Line:
    return line(text, BODY, left=left)


def head(text: str, size: float = 18.0) -> Line:
    return line(text, size)


def bold(text: str, *, left: float = LEFT) -> Line:
    return replace(line(text, BODY, left=left), bold=True)


def note(text: str) -> Line:
    """Build a line in small print at the foot of the page."""
    return line(text, 8.0)


def line(text: str, size: float, *, left: float = LEFT) -> Line:
    return Line(1, text, (left, 0.0, left + 5 * len(text), size), size)


def document(*pages: Sequence[Line]) -> list[Line]:
    """Place the lines one below the other, with a number at the foot of each page."""
    lines = []
    for number, page in enumerate(pages, 1):
        top = 60.0
        for one in page:
            assert one.box is not None and one.size is not None
            left, _, right, _ = one.box
            top += one.size  # white space, so that headings of two lines are not made by chance
            box = (left, top, right, top + one.size)
            lines.append(replace(one, page_number=number, box=box))
            top += one.size
        lines.append(Line(number, str(number), (300.0, 800.0, 306.0, 811.0), BODY))
    return lines


def numbered(first: int, last: int) -> list[Line]:
    return [body(f"{number}. {matter(number)}.") for number in range(first, last + 1)]


def matter(number: int) -> str:
    """Return distinct text per page, because text that recurs at the edges counts as furniture."""
    return f"{PROSE} in the matter of {chr(ord('a') + number) * 3}"


def without_layout(lines: Sequence[Line]) -> list[Line]:
    return [replace(one, box=None, size=None, bold=False, marked=False) for one in lines]


def refs(lines: Sequence[Line], *kinds: Kind) -> list[str]:
    return [one.ref for one in find_sections(lines) if not kinds or one.kind in kinds]


def section(lines: Sequence[Line], ref: str) -> Section:
    (found,) = [one for one in find_sections(lines) if one.ref == ref]
    return found


def test_a_paragraph_across_a_page_break_is_joined_without_the_footnote() -> None:
    mark = replace(note("1 A note about the fifth paragraph."), marked=True)
    lines = document(
        numbered(1, 4),
        [*numbered(5, 5), body("goes on here¹ and"), mark],
        [body("ends on the next page."), *numbered(6, 10)],
    )
    fifth = section(lines, "Para 5")
    assert fifth.text == f"5. {matter(5)}.\ngoes on here¹ and\nends on the next page."
    assert fifth.pages == (2, 3)
    assert section(lines, "Footnote 1").text == "1 A note about the fifth paragraph."


def test_a_footnote_continued_on_the_next_page_is_joined() -> None:
    lines = document(
        numbered(1, 4),
        [*numbered(5, 6), replace(note("1 This note is long and"), marked=True)],
        [
            *numbered(7, 9),
            note("ends on the next page."),
            replace(note("2 Another one."), marked=True),
        ],
    )
    first = section(lines, "Footnote 1")
    assert (first.text, first.pages) == ("1 This note is long and\nends on the next page.", (2, 3))


def test_items_of_a_list_stay_in_their_paragraph() -> None:
    items = [body("a) first;", left=80), body("1. counted;", left=80), body("2. counted.", left=80)]
    lines = document([*numbered(1, 6), *items, *numbered(7, 9)])
    assert refs(lines, Kind.PARA) == [f"Para {number}" for number in range(1, 10)]
    assert section(lines, "Para 6").text.endswith("a) first;\n1. counted;\n2. counted.")


def test_a_paragraph_that_is_missing_does_not_end_the_numbering() -> None:
    lines = document([*numbered(1, 5), *numbered(7, 12)])
    assert refs(lines, Kind.PARA) == [f"Para {n}" for n in range(1, 13) if n != 6]


def test_a_number_at_the_beginning_of_a_line_that_breaks_the_sequence_is_text() -> None:
    stray = [body("214. Nothing counts to this."), body("2031. A year.")]
    lines = document([*numbered(1, 6), *stray, *numbered(7, 9)])
    assert refs(lines, Kind.PARA) == [f"Para {number}" for number in range(1, 10)]


def test_a_mention_in_passing_is_no_section() -> None:
    passing = [
        body("Chapter 3 sets out how plans are made, and"),
        body("Table 2 shows the rates. As was said,"),
        body("Policy H1 applies to houses. So does"),
        body("Annex 4, and so does paragraph"),
        body("Figure 7: Widths are those of the table before it"),
    ]
    lines = document([head("1. Introduction"), *numbered(1, 9), *passing])
    labelled = {Kind.TABLE, Kind.POLICY, Kind.ANNEX, Kind.FIGURE}
    assert refs(lines, Kind.CHAPTER, *labelled) == ["Chapter 1"]


def plain_plan(*titles: str, passing: str = "") -> list[Line]:
    """A plan whose headings have the type of the body text."""
    pages = [
        [body(title), body(f"{matter(n)}."), *([body(passing)] if passing else [])]
        for n, title in enumerate(titles)
    ]
    return document([head("A plan")], *pages, [body("The end of it.")])


def test_headings_in_body_type_count_if_their_numbers_follow_one_another() -> None:
    titles = ["Chapter 1 Walking", "Chapter 2 Buses", "Chapter 3 Cycling"]
    lines = plain_plan(*titles)
    assert refs(lines, Kind.CHAPTER) == ["Chapter 1", "Chapter 2", "Chapter 3"]
    assert section(lines, "Chapter 3").text.startswith("Chapter 3 Cycling\nPlanning decisions")
    codes = ["Policy T1 Walking", "Policy T2: Buses", "Policy T3"]
    assert refs(plain_plan(*codes), Kind.POLICY) == ["Policy T1", "Policy T2", "Policy T3"]


def test_headings_in_body_type_without_their_sequence_are_text() -> None:
    assert refs(plain_plan("Chapter 5 Cycling"), Kind.CHAPTER) == []
    assert refs(plain_plan("Chapter 1 Walking", "Chapter 2 Buses"), Kind.CHAPTER) == []
    gap = ["Chapter 1 Walking", "Chapter 2 Buses", "Chapter 9 Cycling"]
    assert refs(plain_plan(*gap), Kind.CHAPTER) == []


def test_a_heading_in_body_type_may_complete_the_sequence_of_others() -> None:
    lines = document(
        [head("Chapter 1 Walking"), body(f"{matter(1)}.")],
        [body("Chapter 2 Buses"), body(f"{matter(2)}.")],
        [head("Chapter 3 Cycling"), body(f"{matter(3)}.")],
    )
    assert refs(lines, Kind.CHAPTER) == ["Chapter 1", "Chapter 2", "Chapter 3"]


def test_mentions_at_the_start_of_a_line_are_no_headings_in_body_type() -> None:
    passing = [
        *(body("As it says in"), body("Chapter 1 Walking")),
        *(
            body("This is said before."),
            body("Chapter 2 Buses sets out the"),
            body("rules for it."),
        ),
        *(body("So it was."), body("Chapter 3 Cycling is about bicycles.")),
    ]
    assert refs(document([head("A plan"), *passing, body("The end.")]), Kind.CHAPTER) == []


def test_a_heading_in_body_type_that_the_contents_name_counts() -> None:
    entries = ["Chapter 4 Walking 2", "Chapter 5 Cycling 3", "Chapter 6 Buses 3", "Index 4"]
    lines = document(
        [head("Contents"), *(body(entry) for entry in entries)],
        [body("Chapter 5 Cycling"), body(f"{matter(1)}.")],
    )
    assert refs(lines, Kind.CHAPTER) == ["Chapter 5"]


def test_the_list_of_contents_is_one_section_and_its_entries_are_none() -> None:
    entries = ["1. Introduction 2", "2. Housing 3", "3. Transport 3", "Annex A: Terms 4"]
    lines = document(
        [head("A plan")],
        [head("Contents"), *(bold(entry) for entry in entries)],
        [head("1. Introduction"), body(matter(1)), head("2. Housing"), body(matter(2))],
        [head("3. Transport"), body(matter(3)), head("Annex A: Terms"), body(matter(4))],
    )
    assert refs(lines)[1:] == ["Contents", "Chapter 1", "Chapter 2", "Chapter 3", "Annex A"]
    assert section(lines, "Contents").pages == (2,)
    assert section(lines, "Annex A").title == "Terms"


def test_text_before_the_first_heading_is_front_matter() -> None:
    lines = document(
        [head("The plan of a town", 30.0), head("December 2024")],
        [head("1. Introduction"), *numbered(1, 9)],
    )
    front, *_ = find_sections(lines)
    assert (front.ref, front.text) == ("Front matter", "The plan of a town\nDecember 2024")


def plan() -> list[Line]:
    """A typical chapter of a local plan: dotted paragraphs, headings, a policy in a box."""
    return document(
        [head("A plan")],
        [
            head("5 Housing"),
            body(f"5.1 {PROSE}."),
            bold("Affordable homes"),
            body(f"5.2 {PROSE}, and there were"),
            body("2.5 million homes."),
            bold("Policy H1: Affordable housing", left=70),
            body(f"{PROSE}.", left=70),
            bold("Larger sites", left=70),
            body(f"A. {PROSE}.", left=70),
        ],
        [body(f"5.3 {PROSE}."), head("6 Transport"), body(f"6.1 {PROSE}."), body(f"6.2 {PROSE}.")],
    )


def test_dotted_paragraphs_are_found_and_decimals_are_not() -> None:
    assert refs(plan(), Kind.PARA) == [f"Para {n}" for n in ("5.1", "5.2", "5.3", "6.1", "6.2")]
    assert section(plan(), "Para 5.2").text.endswith("there were\n2.5 million homes.")


def test_a_policy_keeps_the_headings_in_its_box_and_ends_with_the_next_paragraph() -> None:
    policy = section(plan(), "Policy H1")
    assert policy.title == "Affordable housing"
    assert policy.text.endswith(f"Larger sites\nA. {PROSE}.")
    assert section(plan(), "Para 5.3").path == ("Chapter 5", "Para 5.3")


def test_a_bold_heading_of_the_texts_size_counts_before_a_numbered_paragraph() -> None:
    assert section(plan(), "Para 5.2").path == ("Chapter 5", "Affordable homes", "Para 5.2")


def test_a_bold_line_inside_a_paragraph_is_no_heading() -> None:
    lines = document(
        [*numbered(1, 8), bold("What this means"), body("More of it."), *numbered(9, 9)]
    )
    assert section(lines, "Para 8").text.endswith("What this means\nMore of it.")


def test_the_heading_before_paragraph_5_1_is_chapter_5_where_none_has_the_number() -> None:
    lines = document(
        [head("A plan")],
        [head("Housing"), *(body(f"5.{n} {PROSE}.") for n in range(1, 4))],
        [*(body(f"6.{n} {PROSE}.") for n in range(1, 4))],
    )
    assert section(lines, "Chapter 5").title == "Housing"
    assert section(lines, "Para 6.2").path == ("Chapter 6", "Para 6.2")


def test_a_heading_as_large_as_the_chapters_does_not_end_it_while_its_numbers_go_on() -> None:
    lines = document(
        [head("A plan")],
        [head("5 Housing"), body(f"5.1 {PROSE}."), head("Homes"), body(f"5.2 {PROSE}.")],
        [body(f"5.3 {PROSE}.")],
    )
    assert section(lines, "Para 5.2").path == ("Chapter 5", "Homes", "Para 5.2")


def coded(prefix: str, count: int) -> list[Line]:
    rows = (
        (bold(f"{prefix}{n}: {'ABCDE'[n - 1]} aim of ours"), body(matter(n)))
        for n in range(1, count + 1)
    )
    return [one for pair in rows for one in pair]


def test_codes_head_policies_where_the_text_calls_them_so() -> None:
    called = document([head("A plan")], [*coded("DM", 5), body("This is subject to policy DM2.")])
    assert refs(called, Kind.POLICY) == [f"Policy DM{number}" for number in range(1, 6)]
    aims = document([head("A plan")], [*coded("SA", 5), body("This is subject to policy SA2.1.")])
    assert refs(aims, Kind.POLICY) == []


def test_paragraphs_that_are_counted_in_each_policy_are_named_by_it() -> None:
    pages = [
        [
            bold(f"Policy PM{n}: {'ABCDE'[n - 1]} plans"),
            body(f"1. {matter(n)}."),
            body(f"2. {matter(n + 5)}:"),
            body("a) an item;", left=80),
        ]
        for n in range(1, 6)
    ]
    lines = document([head("A plan")], *pages)
    assert refs(lines, Kind.PARA)[:3] == [
        "Policy PM1 Para 1",
        "Policy PM1 Para 2",
        "Policy PM2 Para 1",
    ]
    assert section(lines, "Policy PM2 Para 2").path == ("Policy PM2", "Policy PM2 Para 2")


def test_a_list_that_does_not_open_its_policy_stays_in_it() -> None:
    lines = document([head("A plan")], [bold("Policy H1: Homes"), body(PROSE), *numbered(1, 3)])
    assert refs(lines, Kind.PARA) == []
    assert section(lines, "Policy H1").text.endswith(numbered(3, 3)[0].text)


def test_a_table_has_its_rows_and_a_figure_is_its_caption() -> None:
    lines = document(
        [head("A plan")],
        [
            body(f"5.1 {PROSE}."),
            bold("Table 5-2: Widths"),
            bold("Speed Width"),
            body("20 mph 1.5 m"),
            body(f"5.2 {PROSE}."),
            bold("Figure 3 A lane"),
            body("more of paragraph 5.2."),
            body(f"5.3 {PROSE}."),
        ],
    )
    table = section(lines, "Table 5-2")
    assert table.text == "Table 5-2: Widths\nSpeed Width\n20 mph 1.5 m"
    assert table.path == ("Chapter 5", "Para 5.1", "Table 5-2")
    assert section(lines, "Figure 3").text == "Figure 3 A lane"
    assert section(lines, "Para 5.2").text == f"5.2 {PROSE}.\nmore of paragraph 5.2."


def test_where_paragraphs_have_no_numbers_a_table_ends_with_the_next_running_text() -> None:
    lines = document(
        [head("A plan")],
        [head("Rates"), body(PROSE), bold("Table 1: Rates"), bold("Zone Rate"), body("a 1")],
        [body(f"{PROSE},"), body(PROSE)],
    )
    assert section(lines, "Table 1").text == "Table 1: Rates\nZone Rate\na 1"
    assert section(lines, "Rates").text.count(PROSE) == 3


def test_the_heading_of_a_continued_policy_begins_no_second_one() -> None:
    lines = document(
        [head("A plan")],
        [bold("Policy H1: Homes"), body(PROSE)],
        [bold("Policy H1: Homes (continued)"), body(PROSE)],
    )
    policy = section(lines, "Policy H1")
    assert policy.pages == (2, 3)
    assert policy.text.count(PROSE) == 2


def test_a_heading_of_two_lines_is_one() -> None:
    first, second = head("9. Conserving and enhancing the"), head("natural environment")
    lines = document([head("A plan")], [first, second, *numbered(1, 9)])
    # Set without the white space that `document` puts between lines.
    below = next(n for n, one in enumerate(lines) if one.text == second.text)
    box = lines[below - 1].box
    assert box is not None
    lines[below] = replace(lines[below], box=(LEFT, box[3] + 1, box[2], box[3] + 19))
    assert section(lines, "Chapter 9").title == "Conserving and enhancing the natural environment"


def test_without_layout_numbers_labels_and_the_contents_have_to_do() -> None:
    entries = ["1. Introduction 2", "2. Conserving and enhancing the", "environment 3"]
    more = ["3. Transport 4", "4. Homes 5", "Annex A: Terms 6"]
    pages = [
        [head("Contents"), *(body(entry) for entry in [*entries, *more])],
        [head("1. Introduction"), *numbered(1, 4)],
        [head("2. Conserving and enhancing the"), head("environment"), *numbered(5, 7)],
        [head("3. Transport"), *numbered(8, 9), body("as Annex A says.")],
        [head("4. Homes"), bold("Policy H1: Homes"), *numbered(10, 11)],
        [head("Annex A: Terms"), body(PROSE)],
    ]
    lines = without_layout(document([head("A plan")], *pages))
    assert refs(lines, Kind.PARA) == [f"Para {number}" for number in range(1, 12)]
    assert refs(lines, Kind.CHAPTER) == [f"Chapter {number}" for number in range(1, 5)]
    assert refs(lines, Kind.POLICY, Kind.ANNEX) == ["Policy H1", "Annex A"]
    assert section(lines, "Para 6").path == ("Chapter 2", "Para 6")


def test_a_document_without_lines_has_no_sections() -> None:
    assert find_sections([]) == []
    assert chunk_sections([]) == []


TEXTS = st.sampled_from(
    [
        *(
            "1. One",
            "2. Two",
            "3.1 Three",
            "3.2 Four",
            "116. Much",
            "Chapter 2",
            "Chapter 2: Homes",
        ),
        *(
            "Policy H1",
            "H1: Homes",
            "policy H1",
            "Table 1: Rates",
            "Figure 2",
            "Annex A",
            "a) item",
        ),
        *("Contents", "Homes 12", "Rates ..... 14", "Terms 15", "Maps 16", "7", "1 A note.", PROSE),
    ]
)
SIZES = st.sampled_from([8.0, BODY, BODY, 18.0])


@st.composite
def any_lines(draw: st.DrawFn) -> list[Line]:
    lines = []
    for number in range(1, draw(st.integers(1, 4)) + 1):
        for place in range(draw(st.integers(0, 12))):
            one = Line(number, draw(TEXTS))
            if draw(st.booleans()):
                size = draw(SIZES)
                box = (LEFT, 40.0 * place, 300.0, 40.0 * place + size)
                one = replace(one, box=box, size=size, bold=draw(st.booleans()))
            lines.append(one)
    return lines


@given(any_lines())
def test_each_line_is_in_one_section_or_is_furniture(lines: list[Line]) -> None:
    text = document_text(lines)
    covered = [
        place
        for one in find_sections(lines)
        for start, end in one.spans
        for place in range(start, end)
    ]
    assert len(covered) == len(set(covered))
    furniture = find_furniture(lines)
    offset = 0
    for index, one in enumerate(lines):
        inside = offset in set(covered)
        assert inside is (index not in furniture)
        offset += len(one.text) + 1
    assert all(
        one.text == "\n".join(text[a:b] for a, b in one.spans) for one in find_sections(lines)
    )


@given(any_lines(), st.integers(10, 60))
def test_chunks_are_parts_of_one_section_and_make_it_up_again(lines: list[Line], size: int) -> None:
    sections = find_sections(lines)
    chunks = chunk_sections(lines, Sizes(size, size // 4))
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    for chunk in chunks:
        owner = sections[chunk.section_index]
        assert chunk.text == owner.text[chunk.start : chunk.end]
        assert (chunk.ref, chunk.path) == (owner.ref, owner.path)
        assert chunk.pages and set(chunk.pages) <= set(owner.pages)
    whole = "\n\n".join(owner.text for owner in sections)
    assert join_chunks(chunks).split() == whole.split()


def test_a_chunk_names_only_the_pages_that_it_lies_on() -> None:
    first, second = [body(f"{PROSE} {n}") for n in range(9)], [body(f"More {n}") for n in range(9)]
    lines = document([head("A plan")], [head("Homes"), *first], second)
    for chunk in chunk_sections(lines, Sizes(200, 0)):
        if chunk.ref == "Homes":
            on = {2} if PROSE[:20] in chunk.text or "Homes" in chunk.text else set()
            assert set(chunk.pages) == on | ({3} if "More" in chunk.text else set())


def test_a_chapter_is_all_that_lies_inside_it() -> None:
    found = select(find_sections(plan()), "Chapter 5")
    assert [one.ref for one in found] == [
        "Chapter 5",
        "Para 5.1",
        "Affordable homes",
        "Para 5.2",
        "Policy H1",
        "Para 5.3",
    ]


def test_parts_contain_chapters_and_a_part_of_a_policy_is_not_a_part() -> None:
    lines = document(
        [head("A plan")],
        [head("Part 1", 30.0), head("1. Housing"), *numbered(1, 4)],
        [bold("Policy H1: Homes"), bold("Part A – Larger sites"), body(PROSE), *numbered(5, 9)],
        [head("Annex 1: Terms"), body(PROSE)],
    )
    assert refs(lines, Kind.PART) == ["Part 1"]
    assert section(lines, "Para 6").path == ("Part 1", "Chapter 1", "Para 6")
    assert "Part A" in section(lines, "Policy H1").text
    assert section(lines, "Annex 1").path == ("Annex 1",)


def test_a_title_below_its_label_is_the_title() -> None:
    lines = document([head("A plan")], [head("Policy CSP 1", 14.0), bold("Homes"), body(PROSE)])
    policy = section(lines, "Policy CSP 1")
    assert (policy.title, policy.text) == ("Homes", f"Policy CSP 1\nHomes\n{PROSE}")


def test_a_paragraph_further_left_than_a_boxed_heading_is_outside_it() -> None:
    boxed = line("Issue in a box", 14.0, left=70)
    lines = document(
        [head("A plan")], [*numbered(1, 6), boxed, body(PROSE, left=70), *numbered(7, 9)]
    )
    assert section(lines, "Para 7").path == ("Para 7",)
    assert section(lines, "Issue in a box").text == f"Issue in a box\n{PROSE}"


def test_a_heading_larger_than_the_policys_ends_it() -> None:
    lines = document(
        [head("A plan")], [bold("Policy H1: Homes"), body(PROSE), head("Roads"), body(PROSE)]
    )
    assert section(lines, "Policy H1").text == f"Policy H1: Homes\n{PROSE}"
    assert section(lines, "Roads").path == ("Roads",)


def test_notes_numbered_per_chapter_are_named_by_their_chapter() -> None:
    def note_one(text: str) -> Line:
        return replace(note(f"1 {text}."), marked=True)

    lines = document(
        [head("A plan")],
        [head("1. Housing"), *numbered(1, 4), note_one("About homes")],
        [head("2. Roads"), *numbered(5, 9), note_one("About roads")],
    )
    assert refs(lines, Kind.FOOTNOTE) == ["Chapter 1 Footnote 1", "Chapter 2 Footnote 1"]


def test_a_smaller_heading_stays_in_the_policy_and_a_bold_end_of_a_sentence_is_none() -> None:
    lines = document(
        [head("A plan")],
        [head("Policy H1: Homes", 14.0), body(PROSE), bold("Larger sites"), body(PROSE)],
        [bold("and other places"), body("More of it.")],
    )
    assert refs(lines)[1:] == ["Policy H1", "Larger sites"]
    assert section(lines, "Larger sites").path == ("Policy H1", "Larger sites")
    assert section(lines, "Larger sites").text.endswith("and other places\nMore of it.")


def test_a_policy_that_starts_with_a_number_other_than_1_has_no_paragraphs() -> None:
    rows = [body(f"3. {matter(3)}."), *numbered(1, 2)]
    lines = document([head("A plan")], [bold("Policy H1: Homes"), *rows])
    assert refs(lines, Kind.PARA) == []
