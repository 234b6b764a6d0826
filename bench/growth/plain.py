"""Plain stack with filters: `python -m bench.growth.plain STORE`."""

from typing import Any

from bench.peer import RESULTS, serve
from bench.plain import PACKAGES, PlainStack


class FilteringStack(PlainStack):
    def find(self, request: dict[str, Any]) -> dict[str, Any]:
        found = self._chunks.query(
            query_embeddings=self._model.encode([request["query"]]),
            n_results=RESULTS,
            where=request["where"],
        )
        return {"ids": found["ids"][0], "documents": found["documents"]}


if __name__ == "__main__":
    serve(FilteringStack, PACKAGES)
