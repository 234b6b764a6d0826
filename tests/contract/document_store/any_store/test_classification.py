"""What `test_classification` says of the Document Store, on a store of dictionaries."""

import pytest

from tests.contract.document_store import test_classification as contract
from tests.contract.document_store.any_store.behaviours import behaviours

pytestmark = pytest.mark.slow  # it hardly depends on the store

globals().update(behaviours(contract))
