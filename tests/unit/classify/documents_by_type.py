"""Texts of each document type, written for the tests: covers, first sentences, plain prose."""

from quinion.model.document_type import DocumentType

COVERS = {
    DocumentType.TRANSPORT_ASSESSMENT: [
        "Land at Mill Lane, Ashbourne Green\nTransport Assessment\nMay 2025\nPrepared for Hartley "
        "Homes",
        "RESIDENTIAL TRAVEL PLAN\nPhase 2, Kiln Farm\nRevision B",
    ],
    DocumentType.DESIGN_ACCESS_STATEMENT: [
        "12 High Street, Ashbourne Green\nDesign & Access\nStatement\nStudio North Architects",
        "Design and Access Statement for a single-storey rear extension\n1. Introduction",
    ],
    DocumentType.PLANNING_STATEMENT: [
        "PLANNING STATEMENT\nChange of use from office to dwellings\nJune 2025",
        "Kiln Farm – Planning Statement\nOn behalf of Hartley Homes",
    ],
    DocumentType.ENVIRONMENTAL_STATEMENT: [
        "Environmental Statement\nVolume 1: Main Text\nKiln Farm Solar Park",
        "Kiln Farm Quarry Extension\nEnvironmental Impact Assessment\nMarch 2025",
    ],
    DocumentType.NOISE_ASSESSMENT: [
        "Noise Impact Assessment\nProposed café, 4 Station Road\nReport 25-118 Rev 2",
        "4 Station Road\nAcoustic Report\nDate: 12 May 2025",
    ],
    DocumentType.FLOOD_RISK_ASSESSMENT: [
        "Flood Risk Assessment and Drainage Strategy\nMill Lane, Ashbourne Green",
        "MILL LANE\nSURFACE WATER DRAINAGE STRATEGY\nISSUE 3",
    ],
    DocumentType.ECOLOGY_REPORT: [
        "Preliminary Ecological Appraisal\nOld Barn, Kiln Farm\nSurvey date: 3 April 2025",
        "Old Barn\nBat Emergence Survey Report\nSeptember 2025",
    ],
    DocumentType.HERITAGE_STATEMENT: [
        "Heritage Statement\nThe Old Rectory, Church Lane\nGrade II",
        "Archaeological Desk-Based Assessment\nLand north of Church Lane",
    ],
    DocumentType.ARBORICULTURAL_REPORT: [
        "Arboricultural Impact Assessment\nMill Lane\nwith Tree Protection Plan",
        "Tree Survey to BS 5837:2012\nMill Lane, Ashbourne Green",
    ],
}
"""First pages with a title and too few words to be told by anything else."""

SELVES = {
    DocumentType.TRANSPORT_ASSESSMENT: "1 Introduction\n1.1 This Transport Statement has been "
    "written for Hartley Homes in support of twelve houses at Mill Lane.",
    DocumentType.DESIGN_ACCESS_STATEMENT: "Introduction\nThis design and access statement explains "
    "the thinking behind the new library and how visitors will reach it.",
    DocumentType.PLANNING_STATEMENT: "Introduction\nThis planning statement reviews the policies "
    "that apply to the conversion of the old mill.",
    DocumentType.ENVIRONMENTAL_STATEMENT: "1.1 This Environmental Statement reports what was found "
    "about the quarry's extension and its neighbours.",
    DocumentType.NOISE_ASSESSMENT: "1.1 Quiet Partners was instructed by Mr Hall to carry out a "
    "noise assessment for a heat pump behind 4 Station Road.",
    DocumentType.FLOOD_RISK_ASSESSMENT: "1.1 Wetherby Water Ltd has been appointed to prepare a "
    "Flood Risk Assessment for a bungalow beside the river.",
    DocumentType.ECOLOGY_REPORT: "Summary\nThis report presents the results of a bat survey at the "
    "old barn, done on three evenings in June.",
    DocumentType.HERITAGE_STATEMENT: "1. Purpose\nThis updated heritage statement accompanies the "
    "application to replace the windows of the rectory.",
    DocumentType.ARBORICULTURAL_REPORT: "Instruction\nOak & Ash Ltd was commissioned by Hartley "
    "Homes to undertake a tree survey along the eastern boundary.",
}
"""First sentences in which a document says what it is."""

PROSE = {
    DocumentType.TRANSPORT_ASSESSMENT: """The twelve houses would be reached from Mill Lane, where
traffic counts were made in March. In the morning peak hour 310 vehicles pass the site, and in the
evening peak hour 344. Trip rates from the TRICS database show that the houses would add nine
vehicle movements in either peak. The junction with the A52 works well within its capacity, and the
queue would grow by less than one car. Visibility splays of 43 metres are available in both
directions. Buses stop 200 metres away and the school is a ten-minute walk. There has been one
slight personal injury collision in five years. The effect on the highway network is small.""",
    DocumentType.DESIGN_ACCESS_STATEMENT: """The house stands at the end of a terrace of brick and
slate. The design concept is a quiet addition that reads as a garden room. Its massing steps down
towards the neighbour, and its appearance follows the rhythm of the bays. Facing brickwork matches
the old walls, with a restrained palette of materials: brick, oak and zinc. The layout turns the
kitchen to the sun. There is level access from the street, a step-free route to the garden, and a
door wide enough for a wheelchair. The design evolution is shown in the sketches: an earlier version
with a higher roof was set aside because of its effect on the character of the street.""",
    DocumentType.PLANNING_STATEMENT: """The site and its surroundings are described first, then the
planning history: an office was approved in 1987 and extended in 1999. The principle of development
is established by Policy H2, which supports homes in the built-up area. Relevant policies on parking
and open space are met. Pre-application advice was sought in May and the layout changed in response.
Section 38(6) of the 2004 Act requires decisions in accordance with the plan unless material
considerations indicate otherwise. In the planning balance the benefits of nine homes are
substantial, and no harm outweighs them. Permission should be granted without delay.""",
    DocumentType.ENVIRONMENTAL_STATEMENT: """The quarry's extension is EIA development under the EIA
Regulations 2017, and the council's scoping opinion of June listed the topics to be covered. Each
chapter describes the baseline, the likely significant effects during working and restoration, the
mitigation measures, and the residual effects. Dust at the nearest sensitive receptors would be
negligible. Cumulative effects with the landfill to the north were considered and none is
significant. A non-technical summary is bound separately.""",
    DocumentType.NOISE_ASSESSMENT: """A sound meter stood at the rear of the flats for a week. By
day the level was 54 dB LAeq,16h and by night 47 dB LAeq,8h, with individual trucks reaching 71 dB
LAmax. Background sound fell to 36 dB LA90 between two and four in the morning. The heat pump's
rating level, with three decibels added for its tone, would be 33 dB at the nearest window, three
below the background sound level, which BS 4142 takes as a sign of low impact. With ordinary double
glazing the bedrooms meet the noise criteria of BS 8233.""",
    DocumentType.FLOOD_RISK_ASSESSMENT: """The bungalow would stand in Flood Zone 2, forty metres
from the river. The modelled flood level for the one in a hundred year event, with an allowance for
climate change, is 42.6 metres above datum, and floors are set 600 millimetres higher. There are no
records of groundwater flooding or sewer flooding. Surface water from the roof is led to a crate
that provides attenuation for the design storm, because infiltration is not possible in the clay.
Runoff does not exceed the greenfield rate. The sequential test was applied to the whole ward.""",
    DocumentType.ECOLOGY_REPORT: """The barn and its yard were visited in April by a licensed
ecologist. The grassland is species-poor and grazed short, and the hedgerow along the lane is
gappy. Gaps under the ridge tiles could be used by roosting bats, and droppings were found on the
loft floor. No badger sett lies within thirty metres. The pond is dry in summer and unsuitable for
great crested newts. Nesting birds use the ivy. Reptiles are unlikely because the habitat is
isolated. Lighting should be kept away from foraging routes, and two boxes fixed to the oak.""",
    DocumentType.HERITAGE_STATEMENT: """The rectory was built about 1740 of red brick and altered in
1862. It was listed Grade II in 1967 and stands in the Church Lane conservation area. Its historic
interest lies in its link with the parish, its architectural interest in the staircase and the
garden front. The windows to be replaced date from 1975 and contribute nothing to the significance
of the building. The setting of the church, a heritage asset of the highest importance, is not
affected. The map of 1841 shows the outbuildings that stood to the west. There would be no harm to
its significance.""",
    DocumentType.ARBORICULTURAL_REPORT: """Eleven trees were inspected from the ground in February.
Stem diameters were measured at 1.5 metres and the crown spread paced out to the four points of the
compass. The oak on the boundary is a category A tree with a root protection area of 11.4 metres.
Two ash trees with dieback are category U. The path inside the root protection area is to be laid
without digging, and protective fencing stands before work begins. A crown lift of the lime to
three metres is proposed. One tree is covered by a tree preservation order. The canopy would recover
in a season.""",
}
"""Plain prose that never says what kind of document it is."""

DRAWINGS = {
    DocumentType.SITE_PLAN: "Hartley Homes\nSite Location Plan\nScale 1:1250 @ A4\n"
    "Drawing No. 101\nMill Lane\nApplication boundary",
    DocumentType.FLOOR_PLAN: "Proposed Ground Floor Plan\nKitchen\nHall\nUtility\nScale 1:50 @ A1\n"
    "Drawing No. 202 Rev C",
    DocumentType.ELEVATION: "Front Elevation\nSide Elevation\nRear Elevation\nScale 1:100\n"
    "Drawing No. 303\nSlate roof\nRed brick",
}
"""Labels of drawings."""

PASSING = {
    "inspector's report": "Report to Ashbourne District Council\nby J Smith BA MRTPI\nan Inspector "
    "appointed by the Secretary of State\nThe heritage statement submitted with the application "
    "says that the listed building is of high significance. The heritage statement also says that "
    "the conservation area would be preserved. I find that the setting of the listed building "
    "would be harmed, and that the heritage asset is of national importance.",
    "appeal decision": "Appeal Decision\nSite visit made on 4 May 2025\nThe main issue is "
    "the effect on noise levels at the flats. The appellant's noise assessment finds 47 dB LAeq at "
    "night and the council's noise report finds 51 dB LAeq. Background sound was measured.",
    "letter of objection": "Dear Sir\nThe transport assessment is wrong. This transport "
    "assessment counts traffic in the holidays. The junction is full in the morning peak hour, and "
    "the traffic flow has doubled. The travel plan is a joke.",
    "officer's report": "Delegated Report\n25/00118/FUL\nPlanning history: none. The flood risk "
    "assessment concludes that the site is in Flood Zone 1, and surface water is attenuated. The "
    "planning balance and other material considerations are set out below.",
    "list of documents": "Documents submitted\nPlanning Statement\nHeritage Statement\nFlood Risk "
    "Assessment\nTransport Assessment\nSite Location Plan\nand they can be seen at the library on "
    "weekdays between nine and five.",
    "press release": "Hartley Homes is to build twelve houses in Mill Lane. The application is "
    "accompanied by a planning statement and by a noise assessment, and was prepared after a "
    "design and access statement was shown to neighbours in June.",
    "conditions": "1. The development shall be carried out in accordance with the arboricultural "
    "report dated May 2025. 2. No bat survey has been submitted for the barn. 3. The travel plan "
    "shall be implemented before first occupation.",
    "policy": "Ashbourne Local Plan\nAdopted 2019\nPolicy H4\nDevelopment that affects a listed "
    "building or a conservation area must be accompanied by a heritage statement. The heritage "
    "statement describes the heritage asset and its setting.",
    "committee minutes": "Minutes of the Planning Committee\n6 May 2025\nMembers discussed the "
    "ecological appraisal. The ecologist said that no bats roost in the barn; the ecological "
    "appraisal was noted, with its habitats, badgers and hedgerows.",
}
"""Documents that speak of assessments that others wrote."""
