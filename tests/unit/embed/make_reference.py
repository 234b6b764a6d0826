"""Generator of reference.json: vectors of a few texts from sentence-transformers.

Not a test. It ran once, in an environment with sentence-transformers and the model's original
folder, and must run again only when a text is added:

    python tests/unit/embed/make_reference.py MODEL_FOLDER
"""

import json
import sys
from pathlib import Path

TEXTS = {
    "one word": "Floodplain",
    "a question": "How much affordable housing must a major development provide?",
    "a paragraph": (
        "Planning law requires that applications for planning permission be determined in "
        "accordance with the development plan, unless material considerations indicate "
        "otherwise. The framework must be taken into account in preparing the development plan, "
        "and is a material consideration in planning decisions. Planning policies and decisions "
        "must also reflect relevant international obligations and statutory requirements. Where "
        "a plan is silent, or the policies which are most important are out of date, permission "
        "should be granted unless the adverse impacts of doing so would significantly and "
        "demonstrably outweigh the benefits, when assessed against the policies as a whole."
    ),
    "over 256 tokens": " ".join(f"({i}) {i * 37 % 101}.{i % 10}%;" for i in range(80)),
    "lines of a page": "4.2.1\tTransport assess-\nment\n\n•  Trip rates  –  a.m. peak\n",
    "several scripts": "Ένα σχέδιο πόλης: 都市計画 и генплан, façade naïve Zürich 🏗️ ﬁne",
    "no known words": "zxqv Brzęczyszczykiewicz 0x7f3a__init__ €1,234.56/m²",
}


def main() -> None:
    import sentence_transformers  # type: ignore[import-not-found,unused-ignore]

    model = sentence_transformers.SentenceTransformer(sys.argv[1], device="cpu")
    vectors = model.encode(list(TEXTS.values()), batch_size=1, normalize_embeddings=True)
    reference = {
        "made_by": f"make_reference.py with sentence-transformers "
        f"{sentence_transformers.__version__}",
        "texts": [
            {"name": name, "text": text, "vector": [round(float(x), 6) for x in vector]}
            for (name, text), vector in zip(TEXTS.items(), vectors, strict=True)
        ],
    }
    content = json.dumps(reference, ensure_ascii=False, separators=(",", ":"))
    content = content.replace('{"name"', '\n{"name"')
    Path(__file__).with_name("reference.json").write_text(content + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
