"""Starting the server as its users know it, and sharing a home with its commands."""

import pytest

from tests.contract.conftest import NewHome
from tests.contract.doclibrary.asking import say, show
from tests.contract.doclibrary.conftest import STDIO, serve_http
from tests.contract.doclibrary.documents import SURVEY
from tests.contract.process import run_stdio, run_to_end

pytestmark = pytest.mark.slow

WRONG_USE, BAD_SETTING = 2, 3


def test_a_second_process_and_the_commands_work_through_the_first(new_library: NewHome) -> None:
    home = new_library()
    with serve_http(home), run_stdio(home, {}, STDIO) as session:
        assert f"({SURVEY})" in say(session, "list_documents")
        assert show(session, "get_page_image", document_slug=SURVEY, page_number=1)
        listed = run_to_end(home, {}, "library", "list", "--json", program="quinion")
        assert listed.returncode == 0
        assert f'"slug": "{SURVEY}"' in listed.stdout
