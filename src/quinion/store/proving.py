"""`quinion verify`: prove that the ledger and Chroma hold the same, and mend what they do not.

A first look goes through everything, while others read and write. What it found is looked at again
while nothing begins or ends, and mended from whichever copy is whole. What can be amiss, and how it
is told, is in `proof.py`.
"""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from quinion.store.agreement import Agreement, steps
from quinion.store.audit import Audit
from quinion.store.chroma import Chroma
from quinion.store.hidden import Hidden
from quinion.store.ledger import DATABASE, Ledger
from quinion.store.proof import (
    OF_LEDGER,
    Fault,
    Finding,
    Proof,
    Survey,
    find_faults,
    look_again,
    word,
)


class Prover:
    """Looks at what one ledger and its Chroma hold."""

    def __init__(
        self, ledger: Ledger, chroma: Chroma, agreement: Agreement, hidden: Hidden
    ) -> None:
        self._ledger = ledger
        self._chroma = chroma
        self._agreement = agreement
        self._hidden = hidden

    def find_damage(self) -> list[str]:
        """What is amiss with the ledger's database as a whole; none is good news."""
        folder = self._ledger.folder
        if folder is None:
            return []
        with closing(Audit(folder)) as audit:
            return [
                f"{folder / DATABASE}: {line}. Stop the server and run quinion rebuild"
                for line in audit.find_damage()
            ]

    def verify(self, collection: str, *, repair: bool = False) -> Proof:
        """Prove that both copies of every record are there and whole; mend them if asked to.

        Raises:
            StoreUnavailable: Chroma or the ledger can't be read.
        """
        return self.judge(self.survey(collection), repair=repair)

    def survey(self, collection: str) -> Survey:
        """The first look, at everything: it takes a while, and nobody need wait for it."""
        if self._ledger.folder is None:
            self._agreement.prepare_to_read(collection)
            return Survey(collection, self._ledger.count(collection))
        self._agreement.prepare_to_prove(collection)
        with closing(Audit(self._ledger.folder)) as audit:
            findings = find_faults(audit, self._chroma, collection)
            return Survey(collection, audit.count(collection), tuple(findings))

    def judge(self, survey: Survey, *, repair: bool = False) -> Proof:
        """The second look, at what was found; nothing is to begin or to end meanwhile."""
        if not survey.findings or self._ledger.folder is None:
            return Proof(survey.records)
        self._agreement.follower.catch_up(survey.collection)
        findings = self._look_again(self._ledger.folder, survey.collection, survey.findings)
        mended: list[Finding] = []
        if repair:
            mended = [finding for finding in findings if finding.can_be_mended]
            self._mend(survey.collection, mended)
            findings = self._look_again(self._ledger.folder, survey.collection, findings)
        return Proof(survey.records, tuple(word(findings)), tuple(word(mended)))

    def _look_again(
        self, folder: Path, collection: str, findings: Sequence[Finding]
    ) -> list[Finding]:
        passing = self._hidden.naming(collection)
        with closing(Audit(folder)) as audit:
            return list(look_again(audit, self._chroma, collection, findings, passing))

    def _mend(self, collection: str, findings: Sequence[Finding]) -> None:
        """Write the whole copy of each record where there is none."""

        def having(*faults: Fault) -> list[str]:
            return [finding.id for finding in findings if finding.fault in faults]

        for some in steps(having(Fault.DAMAGED, Fault.UNSUMMED)):
            self._ledger.mend(collection, *self._chroma.get(collection, some))
        if any(finding.fault in OF_LEDGER for finding in findings):
            self._ledger.renew(collection)
        self._agreement.take_from_chroma(collection, having(Fault.NOT_IN_LEDGER))
        for some in steps(having(Fault.NO_VECTOR, Fault.DIFFERENT)):
            # Chroma would keep what it has of the metadata besides.
            self._chroma.delete(collection, some)
            self._agreement.copy_to_chroma(collection, some)
        self._agreement.copy_to_chroma(collection, having(Fault.NOT_IN_CHROMA))
        self._agreement.share_mark(collection)
