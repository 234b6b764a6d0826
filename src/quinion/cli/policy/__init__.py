"""`quinion policy …`: the registry of policies, and the texts of their revisions.

What concerns the registry alone (`registry`) goes straight to it, which is safe beside a running
server. What concerns texts (`texts`) goes through the Policy KB's tools, in this process or in the
one that has the home.
"""

import typer

from quinion.cli.policy import registry, texts

app = typer.Typer(
    help="Policies, their revisions, and which was in force when.",
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
