"""Generate the configuration reference and the file of `config init` from the settings."""

from __future__ import annotations

from typing import Any

from commonplace.kernel.config.catalog import leaves, sections, type_name, type_of
from commonplace.kernel.settings import ENVIRONMENT_ALIASES, WITHOUT_EFFECT, SettingSpec

HEAD = """\
# Configuration

Generated from the settings (`commonplace config reference`); do not edit.

A value comes from the first of these that sets it: the command line, the environment variable
named below, one YAML file (`--config FILE`, else `./commonplace.yaml`, else `commonplace.yaml` in
the user's configuration folder), the default. Keys under `settings.mcp.files` have no variables.
An unknown key is an error that suggests the nearest name. Relative paths in the file are relative
to the file's folder.

`commonplace config show` prints every value in effect and its source. `commonplace config init`
writes a commented file ([example](commonplace.example.yaml)), and `commonplace config check`
checks one.

All state is in one data folder: `--data`, else `COMMONPLACE_HOME`, else the platform's user data
folder.
"""

OWN_VARIABLES = {
    "COMMONPLACE_HOME": "The data folder, unless `--data` is given.",
    "COMMONPLACE_KEY": "The key that a stdio server acts as, to give an agent less than the local "
    "user has.",
    "COMMONPLACE_EXTRA_TOOLSETS": "`module:function,...`: more toolsets, for tests and extensions.",
}


def configuration_page() -> str:
    lines = [HEAD]
    for place, section in sections().items():
        if not section.specs:
            continue
        lines += [
            f"## settings.{place}",
            "",
            "| key | type | default | variable | meaning |",
            "|---|---|---|---|---|",
        ]
        for name, declared in section.specs.items():
            dotted = f"{place}.{name}"
            lines.append(
                f"| `{name}` | {_type(dotted, declared)} | {_default(declared)} | "
                f"{_variable(declared)} | {_cell(declared.doc)} |"
            )
        lines.append("")
    lines += ["## Other variables", "", "| variable | meaning |", "|---|---|"]
    lines += [f"| `{name}` | {_cell(meaning)} |" for name, meaning in OWN_VARIABLES.items()]
    lines += [
        f"| `{alias}` | Another name of `{target}`, which wins when both are set. |"
        for alias, target in ENVIRONMENT_ALIASES.items()
    ]
    lines += [
        "",
        "## Variables without effect",
        "",
        "Accepted, because the [instructions contract](contracts/instructions.md) names them:",
        "",
        "| variable | why |",
        "|---|---|",
    ]
    lines += [f"| `{name}` | {_cell(why)} |" for name, why in WITHOUT_EFFECT.items()]
    return "\n".join(lines) + "\n"


def sample_file() -> str:
    """Return a valid file with every key and its default, commented out."""
    lines = [
        "# Commonplace. To change a value, remove the # of its line and of the sections above it.",
        "#settings:",
    ]
    for place, section in sections().items():
        depth = len(place.split(".")) if place else 0
        if place:
            lines.append(f"#{'  ' * depth}{place.rsplit('.', 1)[-1]}:")
        for name, declared in section.specs.items():
            lines.append(
                f"#{'  ' * (depth + 1)}{name}: {_yaml(declared.default)}  # {declared.doc}"
            )
    return "\n".join(lines) + "\n"


def by_variable() -> dict[str, str]:
    """Map each variable that sets a key to that key."""
    found = {declared.env: name for name, declared in leaves() if declared.env}
    return found | {alias: found[target] for alias, target in ENVIRONMENT_ALIASES.items()}


def _type(dotted: str, declared: SettingSpec) -> str:
    text = type_name(type_of(dotted)).replace(" | ", " or ")
    low, high = declared.minimum, declared.maximum
    if low is not None and high is not None:
        return f"{text}, {_number(low)} to {_number(high)}"
    return f"{text}, at least {_number(low)}" if low is not None else text


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else str(value)


def _default(declared: SettingSpec) -> str:
    return (
        f"`{_yaml(declared.default)}`"
        if declared.default not in (None, "", ()) and declared.default != {}
        else "unset"
    )


def _variable(declared: SettingSpec) -> str:
    return f"`{declared.env}`" if declared.env else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _yaml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, str):
        return f'"{value}"' if not value or value in ("off", "on", "none") else value
    if isinstance(value, (int, float)):
        return str(value)
    return "{}" if hasattr(value, "keys") else "[]"
