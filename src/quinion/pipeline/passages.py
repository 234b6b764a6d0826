"""file → passages: text files are read and split in worker processes, pages of a PDF are read
there and split here."""

from quinion.chunk.paged import split_pages
from quinion.embed.local.weights import find_tokenizer
from quinion.model.passage import Format, Passage, passage_of_json
from quinion.pipeline import ingest
from quinion.pipeline.engine import Engine, in_thread
from quinion.pipeline.frames import Frame
from quinion.pipeline.progress import Progress
from quinion.pipeline.source import Source, check_unchanged

ANY_PICTURE = 1.0
"""The image ratio above which a PDF is not read: none. Whoever indexes a file wants its text."""


async def read_passages(
    engine: Engine, source: Source, kind: Format, size: int, progress: Progress
) -> list[Passage]:
    """The passages of a file, of at most `size` tokens each; none where it has no text.

    Raises:
        ExtractionFailed: it can't be read, or changed meanwhile.
        ModelUnavailable: the model, whose tokens are counted, is not installed.
        ToolMissing: a page needs OCR and Tesseract is not installed.
    """
    if kind is Format.PDF:
        reading = await ingest.read(
            engine,
            source,
            ocr=engine.settings.enable_ocr,
            threshold=ANY_PICTURE,
            progress=progress,
        )
        return await in_thread(lambda: split_pages(reading.pages, engine.counter.starts, size))
    passages: list[Passage] = []

    async def keep(item: Frame) -> None:
        passages.extend(map(passage_of_json, item["passages"]))

    await engine.workers.run(
        "read_passages",
        keep,
        path=str(source.real_path),
        extension=source.path.suffix.lower(),
        size=size,
        tokenizer=str(find_tokenizer(engine.settings.models, engine.settings.model_dir)),
    )
    await in_thread(check_unchanged, source)
    return passages
