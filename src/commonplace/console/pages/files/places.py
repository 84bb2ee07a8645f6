"""Where a page of the files area is: project and path, their addresses and names."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.console.errors import PageNotFound
from commonplace.console.page import Page
from commonplace.console.rendering import url


@dataclass(frozen=True, slots=True)
class Place:
    """A file or folder of a project. The path of the project's root is empty."""

    project: str
    path: str = ""

    @property
    def name(self) -> str:
        """The last part of the path; the project's name for its root."""
        return self.path.rpartition("/")[2] or self.project

    @property
    def folder(self) -> str:
        """The path of the folder that contains it."""
        return self.path.rpartition("/")[0]

    @property
    def draft(self) -> str:
        """The name of the draft of this file's text."""
        return f"file {self.project} {self.path}"

    @property
    def arguments(self) -> dict[str, str]:
        """The arguments that every file tool takes."""
        return {"project": self.project, "path": self.path}

    def address(self, action: str = "", **query: object) -> str:
        """Return the address of a page about this place."""
        path = f"/files/{action}" if action else "/files"
        return url(path, project=self.project, path=self.path, **query)

    def at(self, path: str) -> Place:
        """Return another place of the same project."""
        return Place(self.project, path)

    def parents(self) -> list[Place]:
        """Return the folders above it, the root first."""
        steps = self.path.split("/")
        return [self.at("/".join(steps[:depth])) for depth in range(1, len(steps))]


def read_place(page: Page) -> Place:
    """Return the place that the address names. Raises PageNotFound without a project."""
    project = page.query("project")
    if not project:
        raise PageNotFound("The address names no project.", "Choose a project on the page Files.")
    return Place(project, tidy_path(page.query("path")))


def tidy_path(path: str) -> str:
    """Return a path as the tools expect it: with a slash in front and none at the end."""
    trimmed = path.strip().strip("/")
    return f"/{trimmed}" if trimmed else ""
