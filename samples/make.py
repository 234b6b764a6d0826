"""Makes the sample documents beside it: an invented planning application, 26/00001/FUL.

Run as `python samples/make.py` after changing a text; the outcome is committed, so that
`make run` has something to show at once. There is one of each sort that the Document Store meets:
text, a scan (pixels only, so that it must be read by OCR), a drawing and a rendering.
"""

import random
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageDraw, ImageFilter

from quinion.extract.pdf.mupdf import pymupdf

HERE = Path(__file__).parent
A4 = (595, 842)
MARGIN = 64
SCAN_DPI = 200

TRANSPORT = [
    """Transport Assessment

Land at Mill Lane, Ashbourne Green
Application 26/00001/FUL

1. Introduction

1.1 This Transport Assessment supports the planning application of Ashbourne Homes for 84
dwellings, a community hub and public open space on land at Mill Lane.

1.2 It describes the existing highway network, the trips that the development is expected to
generate, and the measures by which residents are offered a choice of how to travel.

2. Existing conditions

2.1 Mill Lane is a two-way single carriageway with a speed limit of 30 mph. The seven-day average
flow measured in March 2025 was 3,140 vehicles a day, of which 2.1 per cent were heavy vehicles.

2.2 The nearest bus stops are 240 metres from the site entrance. Route 14 runs every twenty
minutes between Ashbourne Green and the railway station.

2.3 Five personal injury collisions were recorded within 500 metres of the site in five years. None
was serious, and no pattern was found that the development would make worse.""",
    """3. Proposed development

3.1 Vehicular access is taken from Mill Lane by a priority junction with a visibility splay of 2.4
by 43 metres in both directions.

3.2 Car parking is provided at 1.5 spaces for each dwelling, 126 spaces in all, of which every one
has a charging point for electric vehicles.

3.3 Cycle parking: the development provides 200 covered and secure cycle parking spaces, two for
each dwelling and 32 for visitors of the community hub. The stores are lit, overlooked, and
reached without steps. Ten spaces take cargo bicycles and adapted cycles.

3.4 A path three metres wide, shared by people walking and cycling, joins the site to the canal
towpath and so to the town centre, which is reached in seven minutes by bicycle.

4. Trip generation

4.1 From the TRICS database, the development generates 41 two-way vehicle trips in the morning
peak hour and 38 in the evening peak hour.""",
    """5. Junction capacity

5.1 The junction of Mill Lane and Station Road was modelled for 2031 with and without the
development. The greatest ratio of flow to capacity rises from 0.71 to 0.74, and the queue on the
busiest arm from two vehicles to three. No mitigation is needed.

6. Travel plan

6.1 A travel plan coordinator is appointed three months before the first occupation. Each household
is given a voucher of 150 pounds towards a bicycle or a season ticket.

6.2 The target is to lower the share of trips by single-occupancy car from 62 to 52 per cent within
five years. Progress is reported to the county council each year.

7. Conclusion

7.1 The residual cumulative impact on the road network is not severe, and there is no highway reason
to withhold permission.""",
]

DESIGN = [
    """Design and Access Statement

Land at Mill Lane, Ashbourne Green
Application 26/00001/FUL

1. The site and its setting

The site lies between the former flour mill, a Grade II listed building, and the canal. It slopes
gently from 61 metres at Mill Lane to 57 metres at the towpath. A row of mature lime trees stands
along its northern edge and is kept.

2. Design principles

The layout follows three principles: streets that lead to the water, fronts that face fronts, and
gardens that back on to gardens. Heights step down from three storeys at the hub to two storeys
beside the existing houses of Weaver Row.""",
    """3. Appearance and materials

Walls are of red brick with a lighter band at the eaves, as at the mill. Roofs are of natural
slate. Windows are set back by a brick's depth, so that façades have relief.

4. Access

Every dwelling meets the standard for accessible and adaptable homes, and nine are built for
wheelchair users. No path is steeper than one in twenty-one.

5. Landscape

Sixty-two trees are planted, all of native species. Rain gardens along the streets hold the water of
a one in thirty year storm and make a biodiversity net gain of 14 per cent.""",
]

FLOOD = [
    """FLOOD RISK ASSESSMENT

Land at Mill Lane, Ashbourne Green

1. Summary

The site lies in Flood Zone 1, with a yearly
probability of river flooding of less than
one in a thousand. The sequential test is
therefore passed, and no exception test is
needed.

2. Surface water

Runoff is held back to the greenfield rate of
4.2 litres per second for each hectare. An
attenuation basin of 780 cubic metres takes
a storm of one in a hundred years with an
allowance of 40 per cent for climate change.

3. Groundwater

Groundwater was met at 2.8 metres below the
ground in two of six boreholes.""",
    """4. Residual risk

If the outlet of the basin were blocked, water
would spread over the open space to a depth of
150 millimetres and reach no dwelling. Finished
floor levels are at least 300 millimetres above
the ground around them.

5. Maintenance

The basin and its outlet are inspected each
spring and after every severe storm. A
management company is responsible, and its
costs are met by a yearly charge.

6. Conclusion

The development is safe for its lifetime and
does not increase flood risk elsewhere.""",
]


def make_text_pdf(name: str, pages: list[str]) -> None:
    """A PDF with a text layer."""
    with pymupdf.open() as document:
        for text in pages:
            page = document.new_page(width=A4[0], height=A4[1])
            frame = pymupdf.Rect(MARGIN, MARGIN, A4[0] - MARGIN, A4[1] - MARGIN)
            room = page.insert_textbox(frame, text, fontsize=11, lineheight=1.35)
            if room < 0:
                raise ValueError(f"a page of {name} has too much text")
        document.set_metadata({"title": name.replace("_", " ")})
        document.save(HERE / f"{name}.pdf", garbage=4, deflate=True, no_new_id=True)


def make_scan(name: str, pages: list[str]) -> None:
    """A PDF of pixels: printed, laid askew on the glass, and scanned."""
    dice = random.Random(26)
    with pymupdf.open() as document:
        for text in pages:
            picture = scan(print_page(text), dice)
            page = document.new_page(width=A4[0], height=A4[1])
            page.insert_image(page.rect, stream=picture)
        document.save(HERE / f"{name}.pdf", garbage=4, deflate=True, no_new_id=True)


def print_page(text: str) -> Image.Image:
    """A page of text as pixels."""
    with pymupdf.open() as document:
        page = document.new_page(width=A4[0], height=A4[1])
        frame = pymupdf.Rect(MARGIN, MARGIN, A4[0] - MARGIN, A4[1] - MARGIN)
        page.insert_textbox(frame, text, fontsize=14, lineheight=1.4, fontname="tiro")
        pixels = page.get_pixmap(dpi=SCAN_DPI, colorspace=pymupdf.csGRAY)
        return Image.frombytes("L", (pixels.width, pixels.height), pixels.samples)


def scan(page: Image.Image, dice: random.Random) -> bytes:
    """What a scanner makes of a page: a little askew, a little soft, black and white."""
    askew = page.rotate(dice.uniform(-0.6, 0.6), fillcolor=255, resample=Image.Resampling.BICUBIC)
    soft = askew.filter(ImageFilter.GaussianBlur(0.7))
    bilevel = soft.point(lambda value: 255 if value > 150 else 0, mode="1")
    file = BytesIO()
    bilevel.save(file, "PNG", optimize=True)
    return file.getvalue()


def make_drawing(name: str) -> None:
    """A site plan in lines, with a few labels."""
    dice = random.Random(1)
    with pymupdf.open() as document:
        page = document.new_page(width=A4[1], height=A4[0])
        page.draw_rect(pymupdf.Rect(20, 20, A4[1] - 20, A4[0] - 20), width=1.5)
        for row in range(6):
            for column in range(14):
                x, y = 60 + column * 52, 60 + row * 78
                depth = 22 + dice.random() * 8
                page.draw_rect(pymupdf.Rect(x, y, x + 30, y + depth), width=0.6)
                page.draw_line((x, y + depth), (x, y + 60), width=0.3)
                page.draw_line((x + 30, y + depth), (x + 30, y + 60), width=0.3)
        for y in (52, 130, 208, 286, 364, 442, 520):
            page.draw_bezier((30, y), (260, y - 12), (540, y + 12), (A4[1] - 30, y), width=0.8)
        page.insert_text((600, 560), "SITE LOCATION PLAN  1:1250", fontsize=9)
        document.save(HERE / f"{name}.pdf", garbage=4, deflate=True, no_new_id=True)


def make_rendering(name: str) -> None:
    """A picture of houses as they might look one day."""
    picture = Image.new("RGB", (1000, 560), (176, 208, 236))
    draw = ImageDraw.Draw(picture)
    draw.rectangle((0, 400, 1000, 560), fill=(118, 150, 92))
    for place, height in enumerate((150, 190, 170, 210, 160)):
        left = 60 + place * 185
        draw.rectangle((left, 420 - height, left + 150, 420), fill=(168, 92, 74))
        draw.polygon(
            ((left - 12, 420 - height), (left + 162, 420 - height), (left + 75, 350 - height)),
            fill=(84, 88, 96),
        )
        for window in range(3):
            x = left + 16 + window * 46
            draw.rectangle((x, 440 - height, x + 26, 480 - height), fill=(236, 236, 214))
    picture.filter(ImageFilter.GaussianBlur(1.2)).save(HERE / f"{name}.jpg", quality=70)


if __name__ == "__main__":
    make_text_pdf("Transport_Assessment", TRANSPORT)
    make_text_pdf("Design_and_Access_Statement", DESIGN)
    make_scan("Flood_Risk_Assessment", FLOOD)
    make_drawing("Site_Location_Plan")
    make_rendering("CGI_View_from_the_Canal")
