"""NFR-3.2: memory stays flat, however many images an answer has."""

import base64
import json
import random
from collections.abc import Iterator

import psutil
import pytest
from conftest import Place
from ocr_client import Session
from ocr_front import Front, image, page

MB = 1 << 20
PAGES = 60
IMAGES = 200
LIMIT_MB = 250


@pytest.mark.slow
@pytest.mark.parametrize("size", [100_000, 1_000_000])
def test_60_pages_with_200_images_take_less_than_250_mb(
    own_session: Session, front: Front, own_place: Place, size: int
) -> None:
    """At a megabyte each, the answer alone is larger than that."""
    session, place = own_session, own_place
    data = f"data:image/jpeg;base64,{base64.b64encode(random.Random(1).randbytes(size)).decode()}"
    front.answer = lambda: _answer(data)
    answer = session.save(file_path=place.document(), output_dir=str(place.allowed))
    assert len(answer["images"]) == IMAGES
    saved = [(place.allowed / "report" / name).stat().st_size for name in answer["images"]]
    assert saved == [size] * IMAGES
    assert _peak_mb(_find_server(place)) < LIMIT_MB


def _answer(data: str) -> Iterator[bytes]:
    yield b'{"pages": ['
    for number in range(PAGES):
        names = [f"img-{count}.jpeg" for count in range(IMAGES) if count % PAGES == number]
        markdown = "\n\n".join(f"Text of page {number}. ![{name}]({name})" for name in names)
        one = page(markdown, *(image(name, data) for name in names), index=number)
        yield (b"," if number else b"") + json.dumps(one).encode()
    yield b'], "model": "m", "usage_info": {"pages_processed": 60}}'


def _find_server(place: Place) -> psutil.Process:
    """The process that was started for this place."""
    [server] = [
        child
        for child in psutil.Process().children(recursive=True)
        if child.environ().get("MISTRAL_OCR_ALLOWED_DIR") == str(place.allowed)
    ]
    return server


def _peak_mb(process: psutil.Process) -> float:
    """The most that the process ever had in memory."""
    with open(f"/proc/{process.pid}/status") as status:  # noqa: PTH123
        [line] = [line for line in status if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024
