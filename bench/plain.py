"""Plain stack: what a competent user would write from the spec's 'Processing Pipeline'.

    python -m bench.plain STORE

PyMuPDF → LangChain's splitter → sentence-transformers → Chroma, each used as its manual shows,
in an environment without quinion. `peer.py` defines the request protocol.
"""

import hashlib
import os
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"  # the model is a local folder

import chromadb
import pymupdf
from chromadb.config import Settings
from langchain_text_splitters import (  # type: ignore[import-not-found,unused-ignore]
    Language,
    RecursiveCharacterTextSplitter,
)
from sentence_transformers import (  # type: ignore[import-not-found,unused-ignore]
    SentenceTransformer,
)

from bench.peer import (
    BATCH_SIZE,
    CHUNK_OVERLAP,
    CHUNK_SIZE,
    RESULTS,
    SEPARATORS,
    find_model,
    serve,
)

LANGUAGES = {
    # The same maximum length as DocVec's chunks, also without overlap.
    ".py": RecursiveCharacterTextSplitter.from_language(
        Language.PYTHON, chunk_size=1016, chunk_overlap=0
    ),
    ".md": RecursiveCharacterTextSplitter.from_language(
        Language.MARKDOWN, chunk_size=1016, chunk_overlap=0
    ),
    ".txt": RecursiveCharacterTextSplitter(chunk_size=1016, chunk_overlap=0),
}
PACKAGES = (
    *("torch", "sentence-transformers", "transformers", "langchain-text-splitters"),
    *("chromadb", "pymupdf"),
)


class PlainStack:
    def __init__(self, store: Path) -> None:
        self._splitter = RecursiveCharacterTextSplitter(
            chunk_size=CHUNK_SIZE,
            chunk_overlap=CHUNK_OVERLAP,
            separators=SEPARATORS,
            keep_separator="end",
        )
        self._model = SentenceTransformer(str(find_model()))
        self._client = chromadb.PersistentClient(
            path=store, settings=Settings(anonymized_telemetry=False)
        )
        self._chunks = self._client.get_or_create_collection("application_docs")

    def ingest(self, file: str) -> dict[str, Any]:
        with pymupdf.open(file) as document:
            pages = [page.get_text("text") for page in document]
        texts = self._splitter.split_text("\n\n".join(pages))
        vectors = self._model.encode(texts, batch_size=BATCH_SIZE)
        prefix = hashlib.sha256(Path(file).read_bytes()).hexdigest()[:12]
        step = self._client.get_max_batch_size()
        for start in range(0, len(texts), step):
            indices = range(start, min(start + step, len(texts)))
            self._chunks.add(
                ids=[f"{prefix}_{index}" for index in indices],
                documents=texts[start : start + step],
                embeddings=vectors[start : start + step],
                metadatas=[{"file_path": file, "chunk_index": index} for index in indices],
            )
        return {"chunks": len(texts)}

    def index(self, folder: str) -> dict[str, Any]:
        """Index text files with LangChain's splitters; Python files with its Python separators."""
        texts: list[str] = []
        places: list[Any] = []
        for file in sorted(Path(folder).rglob("*")):
            if file.suffix in LANGUAGES:
                parts = LANGUAGES[file.suffix].split_text(file.read_text("utf-8", "replace"))
                texts += parts
                places += [{"file_path": str(file), "chunk_index": i} for i in range(len(parts))]
        vectors = self._model.encode(texts, batch_size=BATCH_SIZE)
        step = self._client.get_max_batch_size()
        for start in range(0, len(texts), step):
            part = places[start : start + step]
            self._chunks.add(
                ids=[f"{place['file_path']}_{place['chunk_index']}" for place in part],
                documents=texts[start : start + step],
                embeddings=vectors[start : start + step],
                metadatas=part,
            )
        return {"chunks": len(texts)}

    def search(self, query: str) -> dict[str, Any]:
        found = self._chunks.query(query_embeddings=self._model.encode([query]), n_results=RESULTS)
        return {"results": found["documents"]}


if __name__ == "__main__":
    serve(PlainStack, PACKAGES)
