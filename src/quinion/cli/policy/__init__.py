"""`quinion policy …`: manage the policy registry and the texts of revisions.

Commands on the registry alone (`registry`) open it directly, which is safe beside a running server.
Commands on texts (`texts`) call the tools of the Policy KB, in this process or in the one that
holds the home.
"""

import typer

from quinion.cli.policy import registry, texts

app = typer.Typer(
    help="Manage policies, their revisions and texts.",
    no_args_is_help=True,
    add_completion=False,
)

app.command("create")(registry.create)
app.command("revise")(texts.revise)
app.command("edit")(registry.edit)
app.command("delete")(texts.delete)
app.command("list")(registry.list_policies)
app.command("revisions")(registry.list_revisions)
app.command("ingest")(texts.ingest)
app.command("reindex")(texts.reindex)
app.command("remove")(texts.remove)
app.command("resolve")(registry.resolve)
app.command("snapshot")(registry.snapshot)
app.command("check")(texts.check)
app.command("seed")(texts.seed)
