"""Types and values in `--help`, written as in other programs: `--limit INTEGER`, `PATH...`.

Typer writes the names of Python types, `<list[Path]>` and a `<bool>` for each flag, and has no
setting for it. The methods that do so are replaced here.
"""

from typing import Any

from typer.core import TyperArgument, TyperOption

REPEATED = "..."
NAMES = {"str": "TEXT", "int": "INTEGER", "float": "NUMBER", "Path": "PATH", "date": "DATE"}


def use_familiar_types() -> None:
    """Replace the methods of Typer for all commands."""
    replacements: dict[type, dict[str, Any]] = {
        TyperOption: {"display_type_rich": _describe_option},
        TyperArgument: {
            "display_name_raw": property(_name_argument),
            "display_type_rich": _describe_argument,
            "_usage_display_name": _describe_usage,
        },
    }
    for kind, methods in replacements.items():
        for name, method in methods.items():
            assert hasattr(kind, name), f"this version of Typer has no {name}"
            setattr(kind, name, method)


def _describe_option(option: TyperOption, ctx: Any) -> str:
    if option.metavar is not None:
        return option.metavar
    return "" if option.is_flag else _describe_type(option, ctx)


def _describe_argument(argument: TyperArgument, ctx: Any) -> str:
    """Describe the type of an argument, unless its name already does."""
    described = _describe_type(argument, ctx)
    return "" if described in ("TEXT", "PATH") else described


def _describe_type(parameter: Any, ctx: Any) -> str:
    if parameter.type_descriptor.is_choice:
        return str(parameter.display_type(ctx)).strip("<>")
    if parameter.type_descriptor.is_ranged:
        return NAMES["int"]
    name = parameter.bare_type().removeprefix("list[").removesuffix("]")
    return NAMES.get(name, str(name).upper())


def _name_argument(argument: TyperArgument) -> str:
    name: str = argument.metavar or str(argument.name).upper()
    return name if argument.nargs == 1 or name.endswith(REPEATED) else f"{name}{REPEATED}"


def _describe_usage(argument: TyperArgument) -> str:
    name = str(argument.display_name_raw)
    return name if argument.required or name.startswith("[") else f"[{name}]"
