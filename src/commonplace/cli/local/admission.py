"""Which clients the local server takes, and what each of them is offered."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from commonplace.bootstrap.app import App, product_for
from commonplace.bootstrap.offer import EXTRA_VARIABLE, FEATURES_VARIABLE, selection_of
from commonplace.cli.serve import load_options, parser, profile_selection
from commonplace.dispatch.registry import Selection
from commonplace.edge.core import Core
from commonplace.edge.local.attached import (
    HOOK_ROLE,
    AdmittedClient,
    Attachment,
    NotSharedError,
)
from commonplace.kernel.config.sharing import anchor_paths, find_process_differences
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import Settings

CRITERIA = Path("docs") / "PROMPT-CRITERIA.json"
HOOK_TOOLS = frozenset({"rules_for", "context"})
OF_ANSWERS = (  # settings that decide which rules a hook gets
    "governance.",
    "mcp.instructions.directory",
    "mcp.instructions.serve_drafts",
    "mcp.instructions.workspace",
    "storage.url",
)
SECTION_NAMES = 5  # settings named in a refusal


class ClientAdmission:
    """Admits clients whose settings need no process of their own."""

    def __init__(self, app: App, settings: Settings) -> None:
        """`settings` are those that clients compare theirs with: without the log of the server."""
        self._app = app
        self._settings = settings
        self._core = Core(app.product)
        self._cores: dict[tuple[Selection, bool, bool, bool], Core] = {}

    def admit_plain(self) -> AdmittedClient:
        """Return what a client gets that does not attach first: the options of the server."""
        settings = self._app.settings
        mutation = settings.mcp.instructions.mutation_enabled
        core = self._core_for(
            self._app.product.selection, settings.server.read_only, mutation=mutation
        )
        return AdmittedClient(core, self._app.authenticator.stdio(os.environ))

    def admit(self, attachment: Attachment) -> AdmittedClient:
        """Return what a client gets. Raises CommonplaceError, NotSharedError."""
        try:
            options = parser().parse_args(list(attachment.arguments))
        except SystemExit:
            raise NotSharedError("The local server does not know all options here.") from None
        folder = Path(attachment.folder or self._app.settings.data)
        environment = attachment.environment
        config = load_options(options, environment, folder)
        settings = config.settings
        anchored = anchor_paths(settings, folder)
        if attachment.role == HOOK_ROLE:
            self._check_answers(anchored)
            selection = Selection(tools=HOOK_TOOLS & self._known_tools(), read_only=True)
            core = self._core_for(selection, True, mutation=False, features=False)
        else:
            self._check_shared(anchored, environment, folder)
            core = self._core_for(
                profile_selection(options, config) or selection_of(settings),
                settings.server.read_only,
                mutation=settings.mcp.instructions.mutation_enabled,
            )
        caller = replace(self._app.authenticator.stdio(environment), folder=str(folder))
        return AdmittedClient(core, caller)

    def is_repeatable(self, method: str, tool: str) -> bool:
        """Tell whether a call may be made twice: it only reads, and asks the client nothing."""
        registry = self._app.registry
        try:
            found = registry.find(tool) if method == "tools/call" else registry.bare(method)
        except CommonplaceError:
            return False
        return found is not None and found.read_only and not found.interactive

    def _known_tools(self) -> frozenset[str]:
        return frozenset(name for toolset in self._app.registry.toolsets for name in toolset.names)

    def _check_answers(self, settings: Settings) -> None:
        """Refuse a hook whose settings lead to other rules than those of this server."""
        different = [
            name
            for name in find_process_differences(self._settings, settings)
            if name.startswith(OF_ANSWERS)
        ]
        if different:
            raise NotSharedError(f"The local server has other settings: {', '.join(different)}.")

    def _check_shared(
        self, settings: Settings, environment: Mapping[str, str], folder: Path
    ) -> None:
        different = find_process_differences(self._settings, settings)
        if settings.dashboard.enabled:
            different.append("dashboard.enabled")
        for variable in (EXTRA_VARIABLE, FEATURES_VARIABLE):
            if environment.get(variable, "") != os.environ.get(variable, ""):
                different.append(variable)
        if different:
            names = ", ".join(different[:SECTION_NAMES])
            raise NotSharedError(
                f"The local server runs with other settings than this client: {names}."
            )
        if self._language(environment) != self._language(os.environ):
            raise NotSharedError("The local server uses another language than this client.")
        if (folder / CRITERIA).exists():
            raise NotSharedError(f"{CRITERIA} in the working folder holds for this client alone.")

    def _language(self, environment: Mapping[str, str]) -> str:
        from commonplace.memory.engine.guide import language_of

        return language_of(self._app.settings.mcp.memory.language, dict(environment))

    def _core_for(
        self, selection: Selection, read_only: bool, *, mutation: bool, features: bool = True
    ) -> Core:
        key = selection, read_only, mutation, features
        core = self._cores.get(key)
        if core is None:
            product = product_for(self._app, selection, read_only=read_only, mutation=mutation)
            if not features:
                product = replace(product, features=None)
            core = self._cores[key] = self._core.for_product(product)
        return core
