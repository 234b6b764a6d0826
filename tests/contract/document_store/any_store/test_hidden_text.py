"""What `test_hidden_text` says of the Document Store, on a store of dictionaries."""

import pytest

from tests.contract.document_store import test_hidden_text as contract
from tests.contract.document_store.any_store.behaviours import behaviours

pytestmark = pytest.mark.slow  # it hardly depends on the store

globals().update(behaviours(contract))
