"""Every error that a caller can meet, as one tree.

    QuinionError
    ├── InvalidInput            invalid_input          an argument is wrong
    ├── FileProblem
    │   ├── FileMissing         file_not_found         no such file, or outside the read roots
    │   ├── UnsupportedFile     unsupported_file_type  an extension that we do not read
    │   ├── ExtractionFailed    extraction_failed      damaged, encrypted, too large, too slow
    │   ├── NoContent           no_content             read well, but there is no text in it
    │   └── NoChunks            no_chunks              text, but nothing to index
    ├── DocumentMissing         document_not_found
    ├── StoreUnavailable        store_unavailable      the vector store does not answer
    ├── HomeInUse               home_in_use            another process holds the home
    ├── ModelUnavailable        embedding_failed       the embedding model cannot be loaded or run
    ├── ToolMissing             tool_missing           an external program is not installed
    └── BadSetting              bad_setting            a variable has a value that we can't use

`code` is what the servers and the CLI translate from; the message says what is wrong and
what to do next, and is written for the person who will read it.
"""


class QuinionError(Exception):
    """Something that the caller can understand and act on."""

    code = "internal_error"

    @property
    def message(self) -> str:
        return str(self)


class InvalidInput(QuinionError):
    code = "invalid_input"


class FileProblem(QuinionError):
    """A file that cannot be taken in."""


class FileMissing(FileProblem):
    code = "file_not_found"


class UnsupportedFile(FileProblem):
    code = "unsupported_file_type"


class ExtractionFailed(FileProblem):
    code = "extraction_failed"


class NoContent(FileProblem):
    code = "no_content"


class NoChunks(FileProblem):
    code = "no_chunks"


class DocumentMissing(QuinionError):
    code = "document_not_found"


class StoreUnavailable(QuinionError):
    code = "store_unavailable"


class HomeInUse(QuinionError):
    code = "home_in_use"


class ModelUnavailable(QuinionError):
    code = "embedding_failed"


class ToolMissing(QuinionError):
    code = "tool_missing"


class BadSetting(QuinionError):
    code = "bad_setting"
