"""`quinion policy …`: manage the policy registry and the texts of revisions.

Commands on the registry alone (`policy_registry`) open it directly, which is safe beside a running
server. Commands on texts (`texts`) call the tools of the Policy KB, in this process or in the one
that holds the home.
"""

import typer

from quinion.cli.policy import diff, policy_registry, texts

app = typer.Typer(
    help="Manage policies, their revisions and texts.",
    no_args_is_help=True,
    add_completion=False,
)

app.command("create")(policy_registry.create)
app.command("revise")(texts.revise)
app.command("publish")(policy_registry.publish)
app.command("undo")(texts.undo)
app.command("edit")(policy_registry.edit)
app.command("delete")(texts.delete)
app.command("list")(policy_registry.list_policies)
app.command("revisions")(policy_registry.list_revisions)
app.command("ingest")(texts.ingest)
app.command("reindex")(texts.reindex)
app.command("remove")(texts.remove)
app.command("resolve")(policy_registry.resolve)
app.command("snapshot")(policy_registry.snapshot)
app.command("diff")(diff.diff)
app.command("check")(texts.check)
app.command("seed")(texts.seed)
