"""Chunks of policies as passages, and the URIs of their pages."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from quinion.concurrency import in_thread
from quinion.evidence.passages import Evidence, Passage
from quinion.ingest.policies import Key, KnowledgeBase
from quinion.model.page import PAGE_SPANS, parse_spans
from quinion.servers.policy_kb.records import CHUNKS
from quinion.servers.resources import fill_uri

PAGE = "policy://{source}/revision/{revision_id}/page/{number}{?chunk}"


class PolicyCitations:
    """Citations of the Policy KB. The id of a document is its source and its revision's id."""

    def __init__(self, knowledge: KnowledgeBase, evidence: Evidence) -> None:
        self.evidence = evidence
        self._knowledge = knowledge

    async def passages(self, ids: Sequence[str]) -> dict[str, Passage]:
        """Return the passages of these chunks; see `Citations`."""
        chunks = await self._knowledge.resources.collections.get(CHUNKS, ids=ids)
        keys = {(str(one.metadata["source"]), str(one.metadata["revision_id"])) for one in chunks}
        revisions = await self._find_revisions(keys)
        found = {}
        for chunk in chunks:
            data = chunk.metadata
            revision = revisions.get((str(data["source"]), str(data["revision_id"])))
            if revision is not None:
                pages = str(data.get("page_numbers", data["page_number"]))
                found[chunk.id] = replace(
                    revision,
                    id=chunk.id,
                    text=chunk.text,
                    sha256=str(data.get("file_hash", "")),
                    pages=tuple(map(int, pages.split(","))),
                    spans=parse_spans(str(data.get(PAGE_SPANS, ""))),
                )
        return found

    async def document(self, document_id: str) -> Passage | None:
        """Return a revision as a passage without text; see `Citations`."""
        source, _, revision_id = document_id.partition(" ")
        revision = (await self._find_revisions({(source, revision_id)})).get((source, revision_id))
        hashes = await self._knowledge.find_hash(source, revision_id)
        return replace(revision, sha256=hashes[0]) if revision and hashes else revision

    def uri(self, passage: Passage, page: int) -> str:
        """Return the URI of the page with the passage marked."""
        source, _, revision_id = passage.document_id.partition(" ")
        return fill_uri(PAGE, source=source, revision_id=revision_id, number=page, chunk=passage.id)

    async def _find_revisions(self, keys: set[Key]) -> dict[Key, Passage]:
        registry = await self._knowledge.registry()
        by_source = await in_thread(registry.list_all_revisions)
        found = {}
        for key in keys:
            for one in by_source.get(key[0], []):
                if one.revision_id == key[1] and one.file_path is not None:
                    name = f"{one.source}, {one.version_label}"
                    path = Path(one.file_path)
                    found[key] = Passage("", "", " ".join(key), name, path, "", (1,))
        return found
