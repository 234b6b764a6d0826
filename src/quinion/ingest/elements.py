"""Element detection: file → figures, tables and equations, in separate worker processes."""

from quinion.concurrency import together
from quinion.framing import Frame
from quinion.ingest.progress import Progress
from quinion.ingest.resources import Resources
from quinion.ingest.source import Source
from quinion.model.element import Element, element_of_json

SLICE_PAGES = 8


async def find_elements(
    resources: Resources, source: Source, page_count: int, progress: Progress
) -> list[Element]:
    """Find the elements of a document, in page order.

    Raises:
        ExtractionFailed: the file can't be read.
        ToolMissing: a page needs OCR and Tesseract is not installed.
    """
    found: dict[int, list[Element]] = {}
    workers = resources.element_workers
    slices = iter(range(1, page_count + 1, SLICE_PAGES))

    async def keep(item: Frame) -> None:
        found[item["number"]] = list(map(element_of_json, item["elements"]))
        message = f"looked for figures on page {item['number']} of {page_count}"
        await progress(len(found), page_count, message)

    async def work() -> None:
        for first in slices:
            last = min(first + SLICE_PAGES - 1, page_count)
            await workers.run(
                "find_elements",
                keep,
                path=str(source.real_path),
                first=first,
                last=last,
                ocr=resources.settings.enable_ocr,
            )

    await together(*[work] * workers.size)
    return [element for number in sorted(found) for element in found[number]]
