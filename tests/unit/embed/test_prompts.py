import pytest

from quinion.embed.prompts import Prompts, find_prompts

RELEVANT = "Represent this sentence for searching relevant passages: "
NOMIC = Prompts("search_document: ", "search_query: ")
PASSAGES = Prompts("", RELEVANT)
E5 = Prompts("passage: ", "query: ")


@pytest.mark.parametrize(
    ("model", "prompts"),
    [
        ("nomic-embed-text", NOMIC),
        ("nomic-embed-text:v1.5", NOMIC),
        ("text-embedding-nomic-embed-text-v1.5", NOMIC),
        ("nomic-ai/nomic-embed-text-v2-moe", NOMIC),
        ("mlx-community/nomicai-modernbert-embed-base-bf16", NOMIC),
        ("mxbai-embed-large", PASSAGES),
        ("mixedbread-ai/mxbai-embed-large-v1", PASSAGES),
        ("snowflake-arctic-embed:335m", PASSAGES),
        ("Snowflake/snowflake-arctic-embed-m-v1.5", PASSAGES),
        ("snowflake-arctic-embed2", Prompts("", "query: ")),
        ("Snowflake/snowflake-arctic-embed-l-v2.0", Prompts("", "query: ")),
        ("bge-large", PASSAGES),
        ("BAAI/bge-small-en-v1.5", PASSAGES),
        ("intfloat/e5-base-v2", E5),
        ("jeffh/intfloat-multilingual-e5-large:f16", E5),
        ("embeddinggemma:300m", Prompts("title: none | text: ", "task: search result | query: ")),
        (
            "Qwen/Qwen3-Embedding-0.6B",
            Prompts(
                "",
                "Instruct: Given a web search query, retrieve relevant passages that answer the "
                "query\nQuery:",
            ),
        ),
    ],
)
def test_a_model_has_the_prompts_of_its_family(model: str, prompts: Prompts) -> None:
    assert find_prompts(model) == prompts


@pytest.mark.parametrize(
    "model",
    [
        "all-minilm",
        "mlx-community/all-MiniLM-L6-v2-bf16",
        "bge-m3",
        "quentinz/bge-large-zh-v1.5",
        "intfloat/multilingual-e5-large-instruct",
        "intfloat/e5-mistral-7b-instruct",
        "nomic-embed-code",
        "text-embedding-3-small",
        "something-new",
    ],
)
def test_other_models_get_the_text_alone(model: str) -> None:
    assert find_prompts(model) == Prompts("", "")
    assert find_prompts(model).mark == ""


def test_other_prompts_have_another_mark() -> None:
    marks = {prompts.mark for prompts in (NOMIC, PASSAGES, E5, Prompts("passage: query: ", ""))}
    assert len(marks) == 4
    assert NOMIC.mark == "prompts-85230b"
