import io

import pytest

from quinion.framing import decode_length, encode, receive

PAGE = {"number": 1, "text": "2 × 4 £", "hidden": None}


def test_frames_arrive_in_order_and_equal() -> None:
    stream = io.BytesIO(encode(PAGE) + encode({}))
    assert [receive(stream), receive(stream), receive(stream)] == [PAGE, {}, None]


@pytest.mark.parametrize("sent", [0, 2, 4, 20])
def test_a_frame_cut_off_by_the_end_of_the_process_is_none(sent: int) -> None:
    assert receive(io.BytesIO(encode(PAGE)[:sent])) is None


def test_the_length_is_that_of_the_json() -> None:
    frame = encode(PAGE)
    assert decode_length(frame[:4]) == len(frame) - 4
