from types import SimpleNamespace

from quinion.extract.markdown.scan_order import order_boxes

Box = tuple[float, float, float, float]


def box(name: str, place: Box) -> SimpleNamespace:
    x0, y0, x1, y1 = place
    return SimpleNamespace(name=name, x0=x0, y0=y0, x1=x1, y1=y1)


def test_boxes_are_in_the_order_of_the_words_inside() -> None:
    boxes = [
        box("1", (0, 0, 90, 50)),
        box("3", (110, 0, 200, 50)),
        box("2", (0, 60, 90, 100)),
        box("4", (110, 60, 200, 100)),
    ]
    read = [(10, 10), (10, 30), (10, 70), (120, 10), (120, 70)]
    order_boxes(boxes, [((x, y, x + 20, y + 10), "word") for x, y in read])
    assert [one.name for one in boxes] == ["1", "2", "3", "4"]


def test_a_box_without_words_stays_behind_the_one_before_it() -> None:
    boxes = [box("right", (110, 0, 200, 50)), box("figure", (110, 60, 200, 100))]
    boxes.append(box("left", (0, 0, 90, 50)))
    order_boxes(boxes, [((10, 10, 30, 20), "first"), ((120, 10, 140, 20), "second")])
    assert [one.name for one in boxes] == ["left", "right", "figure"]
