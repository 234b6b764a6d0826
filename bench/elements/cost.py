"""CPU time and memory of element detection, page by page.

    python -m bench.elements.cost FILE

Child processes are included, so OCR counts for scanned pages.
"""

import os
import sys
from pathlib import Path

from quinion.elements.document import find_elements, open_document
from quinion.extract.page_image import render_page
from quinion.workers.jobs.elements import read_words

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def main(path: Path) -> None:
    with open_document(path) as document:
        count = document.page_count
    start, slowest, before = spent(), 0.0, spent()
    print("| after page | CPU-seconds a page | resident MB |")
    print("|--:|--:|--:|")
    for page in find_elements(path, 1, count, read_words):
        slowest, before = max(slowest, spent() - before), spent()
        if page.number in {1, 10, 25, 50, 75, 100, count}:
            print(f"| {page.number} | {(before - start) / page.number:.2f} | {resident()} |")
    print(f"\nThe slowest page took {slowest:.2f} CPU-seconds.")
    pictures = []
    for number in range(1, min(count, 30) + 1):
        before = spent()
        size = len(render_page(path, number))
        pictures.append((size, spent() - before))
    times = sorted(time for _, time in pictures)
    largest = max(size for size, _ in pictures)
    print(
        f"Page images: median {1000 * times[len(times) // 2]:.0f} ms, slowest "
        f"{1000 * times[-1]:.0f} ms of processor time; the largest has {largest / 1000:.0f} kB."
    )


def spent() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES >> 20


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_file():
        sys.exit("usage: python -m bench.elements.cost FILE")
    main(Path(sys.argv[1]))
