import gc
import weakref
from collections.abc import Iterator

import anyio.lowlevel
import pytest

from quinion.concurrency import together


@pytest.fixture
def no_search_for_cycles() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


class Pages:
    """Pages read by the jobs."""


@pytest.mark.usefixtures("no_search_for_cycles")
def test_a_failure_releases_the_data_read() -> None:
    held: list[weakref.ref[Pages]] = []

    async def read() -> None:
        pages = Pages()
        held.append(weakref.ref(pages))

        async def fail() -> None:
            await anyio.lowlevel.checkpoint()
            raise ValueError(f"{pages} are too many")

        async def go_on() -> None:
            await anyio.sleep_forever()
            assert pages

        await together(fail, go_on)

    async def main() -> None:
        with pytest.raises(ValueError, match="too many") as raised:
            await read()
        assert raised.value.__context__ is None
        del raised
        await anyio.lowlevel.checkpoint()
        assert held[0]() is None

    anyio.run(main)
