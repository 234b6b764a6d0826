import io
import time
from base64 import b64decode

import pytest
from PIL import Image

from tests.unit.elements.conftest import Worker

DEEP = "x"
for _ in range(40):
    DEEP = rf"\frac{{1}}{{1+{DEEP}}}"


def render(worker: Worker, latex: str) -> Image.Image:
    [item] = worker.ask("render_formula", latex=latex)
    image = Image.open(io.BytesIO(b64decode(item["png"])))
    assert image.format == "PNG"
    return image.convert("L")


def ink(image: Image.Image) -> int:
    """Count the dark pixels."""
    return sum(image.histogram()[:128])


@pytest.mark.parametrize(
    "latex",
    [
        r"\frac{a+b}{c-d} = \frac{1}{1+\frac{1}{x}}",
        r"x = \frac{-b \pm \sqrt{b^2-4ac}}{2a}",
        r"\begin{bmatrix} 1 & 0 \\ 0 & 1 \end{bmatrix}",
        r"\alpha\beta\gamma\Gamma\Delta\Omega",
        r"\sum_{i=1}^{n} i, \quad \int_0^\infty e^{-x^2}\,dx",
        r"\begin{aligned} x &= R\lambda \\ y &= R \ln\tan\left(\frac{\pi}{4}\right) \end{aligned}",
        r"f(x)=\begin{cases} x^2 & \text{if } x>0 \\ 0 & \text{otherwise}\end{cases}",
        r"\mathbf{A}\vec{x}=\hat{b}, \bar{y}, \mathcal{L}, \mathbb{R}",
        r"50\,\% \quad \{a\} \quad A \setminus B",
    ],
)
def test_a_formula_is_dark_on_white_with_a_margin(worker: Worker, latex: str) -> None:
    image = render(worker, latex)
    assert ink(image) > 500
    width, height = image.size
    for edge in ((0, 0, width, 8), (0, height - 8, width, height), (0, 0, 8, height)):
        assert ink(image.crop(edge)) == 0
    assert ink(image.crop((width - 8, 0, width, height))) == 0


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ("a/b", r"\frac{a}{b}"),
        (r"\frac{a}{b}", r"\frac{a}{b+\frac{c}{d}}"),
        (r"\begin{matrix} a \\ b \end{matrix}", r"\begin{matrix} a \\ b \\ c \end{matrix}"),
        ("x", r"\sum_{i=1}^{n} x"),
    ],
)
def test_what_is_set_above_each_other_is_higher(worker: Worker, low: str, high: str) -> None:
    assert render(worker, high).height > render(worker, low).height * 1.2


def test_a_root_has_its_bar(worker: Worker) -> None:
    bare, rooted = render(worker, "x"), render(worker, r"\sqrt{x}")
    top = rooted.crop(rooted.point(lambda value: 255 if value < 128 else 0).getbbox())
    longest = max(
        sum(row)
        for row in (
            [top.getpixel((x, y)) < 128 for x in range(top.width)]  # type: ignore[operator]
            for y in range(top.height // 4)
        )
    )
    assert longest > bare.width / 3


def test_greek_letters_are_letters_of_their_own(worker: Worker) -> None:
    letters = [r"\alpha", r"\beta", r"\omega", r"\Omega", "a", "w"]
    assert len({render(worker, letter).tobytes() for letter in letters}) == len(letters)


def test_a_wide_formula_is_made_smaller(worker: Worker) -> None:
    assert render(worker, "x_{1} + " * 60 + "y").width == 2_000


@pytest.mark.parametrize(
    ("latex", "words"),
    [
        (r"\frac{a}{b", "unbalanced brace"),
        ("a}b", "unbalanced brace"),
        ("$x$", "dollar sign"),
        (r"\left( a", "cannot be rendered"),
        (r"\frac", "cannot be rendered"),
        ("a & b < c", "cannot be rendered"),
        (r"\unheardof{x} + y", r"unknown command: '\\\\unheardof'"),
        (r"\input{/etc/passwd}", "unknown command"),
        (r"\text{a \_ b}", "unknown command"),
        (r"\def\a{\a\a}\a", "cannot be rendered"),
        ("日本", "font for formulas has no '日'"),
        ("{}", "renders as an empty picture"),
        ("", "renders as an empty picture|cannot be rendered"),
        (r"a \hspace{10000em} b", "too large"),
        (r"\rule{10000em}{10000em}", "too large"),
        ("x" * 2_001, "may have 2000 characters; it has 2001"),
        ("{" * 500 + "x" + "}" * 500, "cannot be rendered"),
    ],
)
def test_output_that_is_not_the_formula_is_refused(worker: Worker, latex: str, words: str) -> None:
    with pytest.raises(RuntimeError, match=f"^InvalidInput: .*({words})"):
        render(worker, latex)


@pytest.mark.slow
def test_a_slow_formula_is_refused_at_the_timeout(worker: Worker) -> None:
    begin = time.process_time()
    with pytest.raises(RuntimeError, match=r"^InvalidInput: .*more than 3 seconds"):
        render(worker, DEEP)
    assert time.process_time() - begin < 3
    assert ink(render(worker, "x")) > 0
