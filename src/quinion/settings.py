"""Settings, read from environment variables; no other module reads the environment.

One frozen object is built in `main` and passed down. An invalid value stops the start with an
error that names the variable, so a typing error never becomes a silent default. An empty
variable counts as unset, unless its description gives the empty value a meaning.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import platformdirs
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from quinion.errors import BadSetting
from quinion.model.record import Mode
from quinion.setting_values import (
    Folder,
    check_postgres,
    refuse_login,
    split_commas,
    split_paths,
    strip,
)

CONTAINER_CHROMA = Path("/data/chroma")


class Settings(BaseModel):
    """All settings; each field is one environment variable."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    home: Folder = Field(
        default_factory=lambda: platformdirs.user_data_path("quinion", appauthor=False),
        validation_alias="QUINION_HOME",
        description="Folder for all data.",
    )
    model_dir: Folder | None = Field(
        default=None,
        validation_alias="QUINION_MODEL_DIR",
        description="Folder with the weights of all-MiniLM-L6-v2. Unset: the installed package.",
    )
    models: Folder = Field(
        default_factory=lambda known: known["home"] / "models",
        description="Folder of the prepared model: in the home, shared by all servers.",
    )
    embedding_engine: Literal["auto", "onnx", "ctranslate2"] = Field(
        default="auto",
        validation_alias="QUINION_EMBEDDING_ENGINE",
        description=(
            "What runs the local embedding model: `onnx` (ONNX Runtime, float32), `ctranslate2` "
            "(CTranslate2, eight bits), or `auto`: CTranslate2 if it does well in a benchmark when "
            "a home is first used, else ONNX Runtime. The choice is kept for the home."
        ),
    )
    read_roots: Annotated[tuple[Path, ...], BeforeValidator(split_paths)] = Field(
        default=(),
        validation_alias="QUINION_READ_ROOTS",
        description="Folders that tools may read from, separated like PATH. Unset: any.",
    )
    allowed_hosts: Annotated[tuple[str, ...], BeforeValidator(split_commas)] = Field(
        default=(),
        validation_alias="QUINION_ALLOWED_HOSTS",
        description=(
            "Comma-separated host names that clients may use for this machine, besides "
            "localhost and its own host name. `*` accepts any name."
        ),
    )
    workers: int = Field(
        default_factory=lambda: os.cpu_count() or 1,
        ge=1,
        le=256,
        validation_alias="QUINION_WORKERS",
        description="Number of processes that read documents. Default: one per core.",
    )
    idle_seconds: float = Field(
        default=120.0,
        ge=0,
        le=86_400,
        validation_alias="QUINION_IDLE_SECONDS",
        description=(
            "Seconds that a background engine keeps running after its last client has disconnected."
        ),
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info",
        validation_alias="QUINION_LOG_LEVEL",
        description="Level of the log of servers: the least severe messages that it has.",
    )
    log_format: Literal["text", "json"] = Field(
        default="text",
        validation_alias="QUINION_LOG_FORMAT",
        description="Format of the log of servers: `text`, or `json` with an object in each line.",
    )
    otel_endpoint: str | None = Field(
        default=None,
        pattern=r"^https?://",
        validation_alias="OTEL_EXPORTER_OTLP_ENDPOINT",
        description=(
            "OpenTelemetry collector (OTLP over gRPC) that servers send traces to. Unset: no "
            "traces, and nothing leaves this machine."
        ),
    )
    chroma_dir: Folder | None = Field(
        default=None,
        validation_alias="CHROMA_PERSIST_DIR",
        description=(
            "Folder that holds the store and its Chroma mirror. Unset: `/data/chroma` where that "
            "exists and is writable (as in a container), else inside the home. Set to empty: in "
            "memory, without persistence."
        ),
    )
    chroma_in_memory: bool = Field(default=False, description="`CHROMA_PERSIST_DIR` set to empty.")
    chroma_url: Annotated[str | None, BeforeValidator(refuse_login)] = Field(
        default=None,
        pattern=r"^https?://",
        validation_alias="CHROMA_URL",
        description="Address of a Chroma server to mirror the store to, instead of a folder.",
    )
    mirror: Literal["on", "off"] = Field(
        default="on",
        validation_alias="QUINION_MIRROR",
        description=(
            "Whether the store is mirrored to Chroma for other programs. `off`: Chroma is not used."
        ),
    )
    keep_originals: Literal["on", "off"] = Field(
        default="on",
        validation_alias="QUINION_KEEP_ORIGINALS",
        description=(
            "Whether the home keeps a copy of each PDF and image, so that its pages can be shown "
            "after the file has moved or changed. `off`: only doclibrary does."
        ),
    )
    search_mode: Mode | None = Field(
        default=None,
        validation_alias="QUINION_SEARCH_MODE",
        description=(
            "How searches compare without a `mode` of their own: `semantic` by meaning, `keyword` "
            "by words, `hybrid` by both. Unset: hybrid in doclibrary, semantic elsewhere."
        ),
    )
    api_key: Annotated[SecretStr | None, BeforeValidator(strip)] = Field(
        default=None,
        validation_alias="MCP_API_KEY",
        description="Bearer token that HTTP clients must send. Unset or empty: no authentication.",
    )
    enable_ocr: bool = Field(
        default=True,
        validation_alias="ENABLE_OCR",
        description="Read pages without a text layer with Tesseract.",
    )
    ocr_languages: str = Field(
        default="eng",
        pattern=r"^[A-Za-z][\w/]*(\+[A-Za-z][\w/]*)*$",
        validation_alias="OCR_LANGUAGES",
        description=(
            "Languages of scanned pages, by Tesseract's names: `eng+deu` for English and German. "
            "Their data must be installed; `quinion doctor` names the command."
        ),
    )
    ocr_engine: Literal["auto", "tesseract", "rapidocr"] = Field(
        default="auto",
        validation_alias="OCR_ENGINE",
        description="OCR of scans. `auto`: Tesseract, and RapidOCR for pages it is unsure of.",
    )
    image_ratio_threshold: float = Field(
        default=0.7,
        ge=0.0,
        le=1.0,
        validation_alias="IMAGE_RATIO_THRESHOLD",
        description="Average image-to-page-area ratio above which a document may be an image.",
    )
    console_port: int = Field(
        default=3000,
        ge=0,
        le=65535,
        validation_alias="QUINION_CONSOLE_PORT",
        description="Port of the console of `quinion serve`.",
    )
    document_store_port: int = Field(
        default=3002,
        ge=0,
        le=65535,
        validation_alias="DOCUMENT_STORE_PORT",
        description="Port of the Document Store.",
    )

    policy_kb_port: int = Field(
        default=3003,
        ge=0,
        le=65535,
        validation_alias="POLICY_KB_PORT",
        description="Port of the Policy KB.",
    )
    docvec_port: int = Field(
        default=3004,
        ge=0,
        le=65535,
        validation_alias="DOCVEC_PORT",
        description="Port of DocVec.",
    )
    docvec_db_path: Folder | None = Field(
        default=None,
        validation_alias="DOCVEC_DB_PATH",
        description="Folder that holds DocVec's index. Unset: the home.",
    )
    docvec_collection: str = Field(
        default="documents",
        pattern=r"^[a-zA-Z0-9]([a-zA-Z0-9._-]{0,198}[a-zA-Z0-9])?$",
        validation_alias="DOCVEC_COLLECTION",
        description="Name of the collection that DocVec indexes into and searches.",
    )
    docvec_chunk_size: int = Field(
        default=254,
        ge=32,
        le=8192,
        validation_alias="DOCVEC_CHUNK_SIZE",
        description=(
            "Maximum number of tokens of a DocVec chunk. The local model reads the first 254 "
            "tokens of a text, so larger chunks need another backend."
        ),
    )
    docvec_backend: Literal["local", "ollama", "openai", "mlx"] = Field(
        default="local",
        validation_alias="DOCVEC_BACKEND",
        description="Embedding backend of DocVec: `local`, `ollama`, `openai` or `mlx`.",
    )
    docvec_host: str | None = Field(
        default=None,
        pattern=r"^https?://",
        validation_alias="DOCVEC_HOST",
        description="Address of the embedding service. Unset: `http://localhost:11434` for Ollama.",
    )
    docvec_model: str | None = Field(
        default=None,
        validation_alias="DOCVEC_MODEL",
        description="Embedding model of that service. Unset: `nomic-embed-text` for Ollama.",
    )
    docvec_api_key: Annotated[SecretStr | None, BeforeValidator(strip)] = Field(
        default=None,
        validation_alias="DOCVEC_API_KEY",
        description="Key for an OpenAI-compatible embedding service.",
    )
    docvec_timeout: float = Field(
        default=30.0,
        gt=0,
        le=3600,
        validation_alias="DOCVEC_TIMEOUT",
        description="Timeout in seconds for one request to the embedding service.",
    )
    doclibrary_port: int = Field(
        default=3005,
        ge=0,
        le=65535,
        validation_alias="DOCLIBRARY_PORT",
        description="Port of doclibrary.",
    )
    mistral_ocr_port: int = Field(
        default=3006,
        ge=0,
        le=65535,
        validation_alias="MISTRAL_OCR_PORT",
        description="Port of Mistral OCR, if `quinion serve` runs it.",
    )
    vision_url: str | None = Field(
        default=None,
        pattern=r"^https?://",
        validation_alias="DOCLIBRARY_VISION_URL",
        description=(
            "Address of an OpenAI-compatible vision model that describes figures and writes "
            "LaTeX. Unset: neither is done, and nothing leaves this machine."
        ),
    )
    vision_model: str | None = Field(
        default=None,
        validation_alias="DOCLIBRARY_VISION_MODEL",
        description="Vision model at that address.",
    )
    vision_api_key: Annotated[SecretStr | None, BeforeValidator(strip)] = Field(
        default=None,
        validation_alias="DOCLIBRARY_VISION_API_KEY",
        description="Key for that address.",
    )
    redis_url: str | None = Field(
        default=None,
        pattern=r"^(rediss?|unix)://",
        validation_alias="REDIS_URL",
        description="Redis that holds the policy registry. Unset: SQLite inside the home.",
    )
    database_url: Annotated[SecretStr | None, BeforeValidator(check_postgres)] = Field(
        default=None,
        validation_alias="QUINION_DATABASE_URL",
        description=(
            "PostgreSQL database, with pgvector, that holds the store and the policy registry. "
            "Unset: both are in the home."
        ),
    )
    read_url: Annotated[SecretStr | None, BeforeValidator(check_postgres)] = Field(
        default=None,
        validation_alias="QUINION_DATABASE_READ_URL",
        description="Standby of the database, for searches and reads. Unset: they use it, too.",
    )
    blobs_url: str | None = Field(
        default=None,
        pattern=r"^(file:///|s3://[^/])",
        validation_alias="QUINION_BLOBS_URL",
        description=(
            "Shared folder (`file:///srv/quinion`) or S3-compatible bucket (`s3://bucket/folder`) "
            "for the originals of a store in a database. Unset: they are in the home of the "
            "server that ingested them."
        ),
    )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """Read the variables.

        Raises:
            BadSetting: a variable has a value that cannot be used; the message names it.
        """
        values: dict[str, Any] = {
            variable: environment[variable]
            for variable in cls.variables()
            if environment.get(variable)
        }
        values["chroma_in_memory"] = environment.get("CHROMA_PERSIST_DIR") == ""
        try:
            settings = cls.model_validate(values)
        except ValidationError as error:
            problems = "; ".join(f"{e['loc'][0]}: {e['msg']}" for e in error.errors())
            raise BadSetting(
                f"{problems}. Correct or unset the variable and start again."
            ) from error
        needless = "QUINION_BLOBS_URL" if settings.blobs_url else "QUINION_DATABASE_READ_URL"
        if (settings.blobs_url or settings.read_url) and not settings.database_url:
            raise BadSetting(
                f"{needless}: it is for a store in a database. Set QUINION_DATABASE_URL, "
                "too, or unset it and start again."
            )
        return settings

    @classmethod
    def variables(cls) -> list[str]:
        """The names of all environment variables."""
        aliases = (field.validation_alias for field in cls.model_fields.values())
        return [alias for alias in aliases if isinstance(alias, str)]

    @classmethod
    def variable(cls, field: str) -> str:
        """The variable that a field is read from."""
        alias = cls.model_fields[field].validation_alias
        return alias if isinstance(alias, str) else "CHROMA_PERSIST_DIR"

    def dump(self) -> dict[str, Any]:
        """All values in JSON form, including secrets, for another process of the same user."""
        secrets = {
            name: value.get_secret_value()
            for name in type(self).model_fields
            if isinstance(value := getattr(self, name), SecretStr)
        }
        return {**self.model_dump(mode="json"), **secrets}

    def at(self, folder: Path | None) -> Self:
        """A copy with all data in another folder; `None` returns the settings unchanged."""
        if folder is None:
            return self
        places = {
            "home": folder,
            "chroma_dir": folder / "chroma",
            "chroma_in_memory": False,
            "chroma_url": None,
            "database_url": None,
            "read_url": None,
            "blobs_url": None,
        }
        return self.model_copy(update=places)

    @property
    def database(self) -> str | None:
        """The address of the database, with its password."""
        return self.database_url.get_secret_value() if self.database_url else None

    @property
    def chroma_folder(self) -> Path | None:
        """The folder of the Chroma mirror; `None` if everything is in memory."""
        if self.chroma_in_memory:
            return None
        if self.chroma_dir is not None:
            return self.chroma_dir
        if CONTAINER_CHROMA.is_dir() and os.access(CONTAINER_CHROMA, os.W_OK):
            return CONTAINER_CHROMA
        return self.home / "chroma"
