"""What `test_reading` says of the Document Store, on a store of dictionaries."""

from tests.contract.document_store import test_reading as contract
from tests.contract.document_store.any_store.behaviours import behaviours

globals().update(behaviours(contract))
