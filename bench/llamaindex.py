"""LlamaIndex stack with the plain stack's libraries, each used as its manual shows.

    python -m bench.llamaindex STORE

Its PyMuPDF reader → LangChain's splitter → its HuggingFace embedding → its Chroma store, in an
ingestion pipeline. Two settings differ from the defaults, both to its advantage: batches of 32
instead of 10, and page metadata is not embedded with each chunk. `peer.py` defines the request
protocol.
"""

import os
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"  # the model is a local folder

import chromadb
from chromadb.config import Settings
from langchain_text_splitters import (  # type: ignore[import-not-found,unused-ignore]
    RecursiveCharacterTextSplitter,
)
from llama_index.core import VectorStoreIndex  # type: ignore[import-not-found,unused-ignore]
from llama_index.core.ingestion import (  # type: ignore[import-not-found,unused-ignore]
    IngestionPipeline,
)
from llama_index.core.node_parser import (  # type: ignore[import-not-found,unused-ignore]
    LangchainNodeParser,
)
from llama_index.embeddings.huggingface import (  # type: ignore[import-not-found,unused-ignore]
    HuggingFaceEmbedding,
)
from llama_index.readers.file import (  # type: ignore[import-not-found,unused-ignore]
    PyMuPDFReader,
)
from llama_index.vector_stores.chroma import (  # type: ignore[import-not-found,unused-ignore]
    ChromaVectorStore,
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

PACKAGES = (
    *("llama-index-core", "llama-index-readers-file", "llama-index-embeddings-huggingface"),
    *("llama-index-vector-stores-chroma", "torch", "sentence-transformers", "chromadb", "pymupdf"),
)


class LlamaIndexStack:
    def __init__(self, store: Path) -> None:
        splitter = RecursiveCharacterTextSplitter(
            chunk_size=CHUNK_SIZE,
            chunk_overlap=CHUNK_OVERLAP,
            separators=SEPARATORS,
            keep_separator="end",
        )
        model = HuggingFaceEmbedding(model_name=str(find_model()), embed_batch_size=BATCH_SIZE)
        client = chromadb.PersistentClient(
            path=store, settings=Settings(anonymized_telemetry=False)
        )
        vectors = ChromaVectorStore(
            chroma_collection=client.get_or_create_collection("application_docs")
        )
        self._reader = PyMuPDFReader()
        self._pipeline = IngestionPipeline(
            transformations=[LangchainNodeParser(splitter), model], vector_store=vectors
        )
        index = VectorStoreIndex.from_vector_store(vectors, embed_model=model)
        self._retriever = index.as_retriever(similarity_top_k=RESULTS)

    def ingest(self, file: str) -> dict[str, Any]:
        pages = self._reader.load_data(file_path=file)
        for page in pages:
            page.excluded_embed_metadata_keys = list(page.metadata)
        nodes = self._pipeline.run(documents=pages)
        return {"chunks": len(nodes)}

    def search(self, query: str) -> dict[str, Any]:
        found = self._retriever.retrieve(query)
        return {"results": [node.get_content() for node in found]}


if __name__ == "__main__":
    serve(LlamaIndexStack, PACKAGES)
