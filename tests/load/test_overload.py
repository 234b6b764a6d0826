"""Four hundred concurrent writers, more than the limit: clients that retry after "busy" are served
eventually, and other clients are not affected."""

import time
from collections import Counter
from pathlib import Path

import anyio
import httpx2
import pytest

from tests.contract.conftest import NewHome, models, new_home  # noqa: F401 - fixtures here too
from tests.contract.process import Home
from tests.documents import PROSE
from tests.doors.asking import HEADERS, META, parse
from tests.doors.house import DOCVEC, House, open_house

CLIENTS = 400
PAUSE_S = 0.5
PATIENCE_S = 200.0


@pytest.fixture
def home(new_home: NewHome) -> Home:  # noqa: F811
    return new_home()


@pytest.mark.timeout(300)
def test_who_is_told_busy_and_comes_again_is_served_in_the_end(home: Home) -> None:
    with open_house(home, {}) as house:
        told, longest_s = anyio.run(_flood, house, home.files)
    assert told["BUSY"] > 0, "there was never too much to do"
    assert set(told) == {"", "BUSY"}, told
    assert told[""] == CLIENTS, told
    assert longest_s < 10, "others had to wait"
    print(f"{told['BUSY']} times busy; /health took {longest_s * 1000:.0f} ms at the most")


async def _flood(house: House, folder: Path) -> tuple[Counter[str], float]:
    """Return the number of answers by error code, and the slowest `/health`."""
    told: Counter[str] = Counter()
    longest_s = 0.0
    address = house[DOCVEC].address
    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(timeout=PATIENCE_S, verify=False, limits=limits) as http:

        async def write(number: int) -> None:
            file = folder / f"{number}.md"
            file.write_text(f"# Note {number}\n\n{PROSE}\n")
            code = "BUSY"
            while code == "BUSY":
                code = await _index(http, address, file)
                told[code] += 1
                if code:
                    await anyio.sleep(PAUSE_S)

        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as group:
                for number in range(CLIENTS):
                    group.start_soon(write, number)
                while told[""] < CLIENTS:
                    asked = time.monotonic()
                    assert (await http.get(f"{address}/health")).status_code == 200
                    longest_s = max(longest_s, time.monotonic() - asked)
                    await anyio.sleep(PAUSE_S)
    return told, longest_s


async def _index(http: httpx2.AsyncClient, address: str, file: Path) -> str:
    """Index a note; return the error code of the answer, empty on success."""
    arguments = {"file_path": str(file)}
    params = {"name": "index_file", "arguments": arguments, "_meta": META}
    answer = await http.post(
        f"{address}/mcp",
        headers={**HEADERS, "Mcp-Method": "tools/call", "Mcp-Name": "index_file"},
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
    )
    result = parse(answer)["result"]["structuredContent"]
    code: str = result.get("error_code") or ""
    return code
