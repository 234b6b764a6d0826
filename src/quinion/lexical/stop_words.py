"""English stop words: words of questions and grammar, which say nothing about the subject.

They are in the index, so that phrases find them, but queries leave them out.
"""

_WORDS = """
a about after again all also am an and any are as at be because been before being between
both but by can could d did do does doing don during each few for from further had has
have having he her here hers him his how i if in into is it its just ll m me more most my
no nor not now of off on once only or other our ours out over own re s same shall she
should so some such t than that the their theirs them then there these they this those
through to too under until up upon ve very was we were what when where whether which while
who whom whose why will with would you your yours
"""

STOP_WORDS = frozenset(_WORDS.split())
