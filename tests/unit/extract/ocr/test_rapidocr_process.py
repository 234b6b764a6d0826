"""RapidOCR in its process: words with boxes, no network, the worker's limits."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from PIL import Image
from PIL.Image import Transpose

from quinion.errors import ToolMissing
from quinion.extract.ocr import page_reader, rapidocr_process
from quinion.extract.ocr.rapidocr_process import SHARED_ROWS, RapidocrProcess, bands
from quinion.extract.ocr.raster import Raster
from quinion.extract.ocr.words import Engine, Word
from quinion.workers.kinds import DOCUMENTS
from tests.documents import PROSE, picture_of

needs_rapidocr = pytest.mark.skipif(
    not rapidocr_process.is_installed(), reason="the package rapidocr is not installed"
)
TIMEOUT_S = 100.0
WITHOUT_NETWORK = """
import sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "urllib.Request"):
        print(event, arguments, file=sys.stderr, flush=True)
        raise SystemExit(9)

sys.addaudithook(refuse)
"""

# In a process of its own, which is as small as a worker; this one may exceed the limit already.
READ_DENSE_PAGE = f"""
import resource
import sys

from PIL import Image, ImageDraw, ImageFont

from quinion.extract.ocr import rapidocr_process
from quinion.extract.ocr.raster import Raster
from tests.documents import PROSE

limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
image = Image.new("L", (1240, 1000), "white")
draw = ImageDraw.Draw(image)
font = ImageFont.load_default(size=15)
for top in range(20, 960, 20):
    draw.text((20, top), " ".join(PROSE.split()[:26]), fill="black", font=font)
lines = rapidocr_process.read(Raster(image, 200), {TIMEOUT_S})
print(len(lines))
"""


@pytest.fixture(scope="module")
def process() -> Iterator[RapidocrProcess]:
    one = RapidocrProcess()
    yield one
    one.close()


@pytest.fixture
def _engine() -> Iterator[None]:
    yield
    page_reader.use("eng")


def read(process: RapidocrProcess, image: Image.Image) -> list[list[Word]]:
    lines = process.read(Raster(image, 200), TIMEOUT_S)
    assert lines is not None
    return sorted(lines, key=lambda line: line[0].box[1])


@pytest.mark.slow
@needs_rapidocr
def test_lines_have_words_with_spaces_confidences_and_boxes(process: RapidocrProcess) -> None:
    image = picture_of(PROSE)
    lines = read(process, image)
    assert [" ".join(word.text for word in line) for line in lines] == PROSE.splitlines()
    for line in lines:
        lefts = [word.box[0] for word in line]
        assert lefts == sorted(lefts)
        for word in line:
            assert 0 <= word.box[0] < word.box[2] <= image.width
            assert 50 < word.confidence <= 100
    first, second = lines[0][:2]
    assert first.box[2] <= second.box[0] + 4


@pytest.mark.slow
@needs_rapidocr
@pytest.mark.parametrize("turn", [Transpose.ROTATE_90, Transpose.ROTATE_270])
def test_a_line_that_runs_up_or_down_is_read(process: RapidocrProcess, turn: Transpose) -> None:
    image = picture_of(PROSE.splitlines()[0])
    lines = read(process, image.transpose(turn))
    words = [word for line in lines for word in line]
    # Detection cuts such lines into pieces, also within words.
    whole = [word for word in words if word.text in PROSE.splitlines()[0].split()]
    assert len(whole) >= 5
    tops = {word.text: word.box[1] for word in whole}
    assert (tops["The"] > tops["two"]) is (turn is Transpose.ROTATE_90)


@needs_rapidocr
def test_a_blank_page_has_no_lines(process: RapidocrProcess) -> None:
    assert read(process, Image.new("L", (300, 400), "white")) == []


@pytest.mark.slow
@needs_rapidocr
def test_a_run_that_takes_too_long_is_killed(process: RapidocrProcess) -> None:
    with pytest.raises(TimeoutError, match="rapidocr took more than 0 s"):
        process.read(Raster(picture_of(PROSE), 200), 0.01)
    assert read(process, picture_of(PROSE))


@pytest.mark.slow
@needs_rapidocr
def test_nothing_is_downloaded() -> None:
    code = WITHOUT_NETWORK + (
        "import numpy as np\n"
        "from quinion.extract.ocr.rapidocr_process import Reader\n"
        "from tests.documents import PROSE, picture_of\n"
        "reader = Reader()\n"
        "page = np.asarray(picture_of(PROSE))\n"
        "lines = [reader.recognize(page, quad) for quad in reader.detect(page)]\n"
        "print(sum(map(len, lines)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == len(PROSE.split())


@pytest.mark.slow
@needs_rapidocr
def test_a_dense_page_fits_into_the_memory_of_a_worker() -> None:
    limit = str(DOCUMENTS.address_space_bytes)
    done = subprocess.run(
        [sys.executable, "-c", READ_DENSE_PAGE, limit],
        check=False,
        capture_output=True,
        text=True,
        timeout=1.2 * TIMEOUT_S,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 47


def test_bands_overlap_and_each_row_is_in_the_core_of_one() -> None:
    found = list(bands(1500, 2200))
    assert len(found) > 1
    assert (found[0].top, found[-1].bottom) == (0, 2200)
    for row in range(2200):
        [band] = [one for one in found if one.core_top <= row < one.core_bottom]
        assert band.top <= max(0, row - SHARED_ROWS / 2 + 1)
        assert band.bottom >= min(2200, row + SHARED_ROWS / 2 - 1)


@needs_rapidocr
@pytest.mark.usefixtures("_engine")
def test_the_engine_of_the_setting_reads() -> None:
    page_reader.use("eng", "rapidocr")
    result = page_reader.read(Raster(picture_of(PROSE), 200), TIMEOUT_S)
    assert result.engine is Engine.RAPIDOCR
    assert result.text == PROSE


@pytest.mark.usefixtures("_engine")
def test_without_the_package_the_error_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rapidocr_process, "find_spec", lambda _: None)
    page_reader.use("eng", "rapidocr")
    with pytest.raises(ToolMissing, match="pip install 'rapidocr"):
        page_reader.read(Raster(picture_of(PROSE), 200), TIMEOUT_S)


@needs_rapidocr
@pytest.mark.usefixtures("_engine")
@pytest.mark.parametrize(
    ("languages", "engine", "expected"),
    [
        ("eng", "auto", True),
        ("eng+rus", "auto", False),
        ("eng", "tesseract", False),
    ],
)
def test_a_doubtful_page_is_read_again(languages: str, engine: str, expected: bool) -> None:
    # Type of 8 pixels, of which Tesseract is sure but which is doubtful by its size.
    image = picture_of(PROSE, dpi=90)
    page_reader.use("eng", engine)
    page_reader._languages = languages
    result, _ = page_reader.read_page(Raster(image, 90), TIMEOUT_S)
    assert (result.engine is not Engine.TESSERACT) is expected
    if expected:
        assert result.text.split() == PROSE.split()
