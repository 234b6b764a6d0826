"""`quinion doctor`: check the installation, the servers, the home and the clients."""

from dataclasses import asdict

import anyio
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from quinion.cli.doctor.clients import check_clients
from quinion.cli.doctor.servers import check_engines, check_servers
from quinion.cli.options import print_json
from quinion.installation import Finding, check_installation
from quinion.settings import Settings


def run(settings: Settings, *, as_json: bool) -> int:
    """Run all checks and print the findings; return 1 if a problem is found."""
    findings = [
        *check_installation(settings),
        *anyio.run(check_servers, settings),
        *check_engines(settings),
        *check_clients(settings),
    ]
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        _print(findings)
    return int(not all(finding.well for finding in findings))


def _print(findings: list[Finding]) -> None:
    table = Table("", "what", Column("found", overflow="fold"))
    for finding in findings:
        text = escape(finding.found)
        if finding.advice:
            text += f"\n[bold]{escape(finding.advice)}[/bold]"
        table.add_row("✓" if finding.well else "[red]✗[/red]", escape(finding.what), text)
    Console().print(table)
