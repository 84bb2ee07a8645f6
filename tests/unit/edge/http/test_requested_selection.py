"""The selection that a request asks for, and unknown names in one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.bootstrap.app import App, build
from commonplace.cli import main
from commonplace.dispatch.registry import Selection
from commonplace.edge.http.middleware import requested_selection
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import Settings


def listed(app: App, served: Selection, **headers: str) -> set[str]:
    sent = {f"x-mcp-{name.replace('_', '-')}": value for name, value in headers.items()}
    return {tool.name for tool in app.registry.listed(requested_selection(sent, served)[0])}


@pytest.mark.parametrize(
    "served",
    [
        Selection(),
        Selection(toolsets=frozenset({"memory"})),
        Selection(tools=frozenset({"file_read"})),
        Selection(
            toolsets=frozenset({"memory"}),
            tools=frozenset({"file_read"}),
            exclude=frozenset({"rekall_search"}),
        ),
        Selection(read_only=True, all_tiers=True),
    ],
)
@pytest.mark.parametrize(
    "headers",
    [
        {"tools": "file_write,file_read,rekall_search,file_grep"},
        {"toolsets": "files,memory"},
        {"toolsets": "memory", "tools": "file_write"},
        {"exclude_tools": "file_read"},
        {"readonly": "1"},
        {"tools": ""},
    ],
)
def test_headers_only_narrow_what_the_server_was_started_with(
    served: Selection, headers: dict[str, str], tmp_path: Path
) -> None:
    with build(Settings(data=tmp_path), environ={}) as app:
        every_tier = replace(served, all_tiers=True)
        assert listed(app, served, **headers) <= {
            tool.name for tool in app.registry.listed(every_tier)
        }


def test_headers_choose_among_what_is_served(tmp_path: Path) -> None:
    with build(Settings(data=tmp_path), environ={}) as app:
        assert listed(app, Selection(), tools="file_write,rekall_search") == {
            "file_write",
            "rekall_search",
        }
        assert listed(app, Selection(), tools="file_grep") == {
            "file_grep"
        }  # an extended one, by its name
        extended = Selection(toolsets=frozenset(), tools=frozenset({"file_grep", "file_read"}))
        assert listed(app, extended, exclude_tools="file_read") == {"file_grep"}
        mixed = Selection(toolsets=frozenset({"memory"}), tools=frozenset({"file_read"}))
        assert listed(app, mixed, toolsets="files") == {"file_read"}
        assert listed(app, mixed, tools="file_read,file_write") == {"file_read"}


@pytest.mark.parametrize(
    ("selection", "hint"),
    [
        (
            Selection(toolsets=frozenset({"nope"})),
            "Toolsets: instructions, files, memory, openapi, context, server",
        ),
        (Selection(tools=frozenset({"file_reed"})), "file_read"),
        (Selection(exclude=frozenset({"zzz"})), "commonplace tools"),
    ],
)
def test_unknown_names_are_refused_with_a_list_of_known_ones(
    selection: Selection, hint: str, tmp_path: Path
) -> None:
    with pytest.raises(CommonplaceError) as refused:
        build(Settings(data=tmp_path), selection=selection, environ={})
    assert refused.value.code.name == "INVALID_CONFIG"
    assert hint in (refused.value.hint or "")


def test_every_way_to_name_a_toolset_is_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.yaml").write_text("settings: {server: {toolsets: [nope]}}")
    for arguments in (
        ["serve", "--toolsets", "nope"],
        ["tools", "--toolsets", "nope"],
        ["--config", str(tmp_path / "c.yaml"), "tools"],
    ):
        data = ["--data", str(tmp_path)]
        assert main([*arguments, *data] if arguments[0] == "serve" else [*data, *arguments]) == 2
        assert "There is no toolset 'nope'" in capsys.readouterr().err
