"""All errors that callers can handle, as one tree.

    QuinionError
    ├── InvalidInput            invalid_input          an argument is wrong
    ├── FileProblem
    │   ├── FileMissing         file_not_found         no such file, or outside the read roots
    │   │   └── FileUnreadable  permission_denied      it exists, but this server may not read it
    │   ├── UnsupportedFile     unsupported_file_type  an extension that is not supported
    │   ├── ExtractionFailed    extraction_failed      damaged, encrypted, too large, too slow
    │   ├── NoContent           no_content             read successfully, but without any text
    │   └── NoChunks            no_chunks              it has text, but no chunk to index
    ├── DocumentMissing         document_not_found
    ├── ElementMissing          element_not_found      no figure, table or equation with that label
    ├── OriginalMissing         original_missing       the library's copy of a file is missing
    ├── PolicyProblem
    │   ├── PolicyMissing       policy_not_found       no policy with that source
    │   ├── PolicyExists        policy_exists          the source is taken
    │   ├── RevisionMissing     revision_not_found     the policy has no such revision
    │   ├── RevisionExists      revision_exists        the revision's id is taken
    │   ├── RevisionOverlap     revision_overlap       two revisions would be in force at once
    │   ├── SoleRevision        sole_active_revision   the last active one may not be deleted
    │   └── SectionMissing      section_not_found
    ├── InvalidDate             invalid_date           not YYYY-MM-DD, or not a calendar day
    ├── RegistryUnavailable     registry_unavailable   the policy registry does not answer
    ├── StoreUnavailable        store_unavailable      the vector store does not answer
    │   ├── TransactionConflict                        another transaction was in the way: repeat it
    │   └── LeaseLost                                  another engine took this work over
    ├── Busy                    busy                   too many concurrent requests
    ├── HomeInUse               home_in_use            another process has locked the home
    ├── ModelUnavailable        embedding_failed       the embedding model cannot be loaded or run
    ├── EnricherUnavailable     enricher_unavailable   the vision model does not answer correctly
    ├── ToolMissing             tool_missing           an external program is not installed
    ├── ExtraMissing            extra_missing          a package of an extra is not installed
    └── BadSetting              bad_setting            a variable has an invalid value

Servers and the CLI map each `code` to an error of their own. The message says what is wrong
and what to do next.
"""

from pathlib import Path


class QuinionError(Exception):
    """Base class of errors that a caller can handle."""

    code = "internal_error"

    @property
    def message(self) -> str:
        return str(self)


class InvalidInput(QuinionError):
    code = "invalid_input"


class FileProblem(QuinionError):
    """A file that cannot be ingested."""


class FileMissing(FileProblem):
    code = "file_not_found"


class FileUnreadable(FileMissing):
    code = "permission_denied"


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


class ElementMissing(QuinionError):
    code = "element_not_found"


class OriginalMissing(QuinionError):
    code = "original_missing"


class PolicyProblem(QuinionError):
    """A missing or conflicting policy or revision."""


class PolicyMissing(PolicyProblem):
    code = "policy_not_found"


class PolicyExists(PolicyProblem):
    code = "policy_exists"


class RevisionMissing(PolicyProblem):
    code = "revision_not_found"


class RevisionExists(PolicyProblem):
    code = "revision_exists"


class RevisionOverlap(PolicyProblem):
    code = "revision_overlap"


class SoleRevision(PolicyProblem):
    code = "sole_active_revision"


class SectionMissing(PolicyProblem):
    code = "section_not_found"


class InvalidDate(QuinionError):
    code = "invalid_date"


class RegistryUnavailable(QuinionError):
    code = "registry_unavailable"


class StoreUnavailable(QuinionError):
    code = "store_unavailable"


class TransactionConflict(StoreUnavailable):
    """A transaction that was rolled back because of another one, and may succeed now."""


class LeaseLost(StoreUnavailable):
    """A transaction of work that another engine has taken over."""


class Busy(QuinionError):
    code = "busy"


class HomeInUse(QuinionError):
    code = "home_in_use"

    def __init__(self, message: str, folder: Path | None = None) -> None:
        super().__init__(message)
        self.folder = folder


class ModelUnavailable(QuinionError):
    code = "embedding_failed"


class EnricherUnavailable(QuinionError):
    code = "enricher_unavailable"


class ToolMissing(QuinionError):
    code = "tool_missing"


class ExtraMissing(QuinionError):
    code = "extra_missing"


class BadSetting(QuinionError):
    code = "bad_setting"
