"""The files of a Python package: models, client, runtime."""

from __future__ import annotations

from importlib import resources

from commonplace.openapi.engine.generate.model import Api
from commonplace.openapi.engine.generate.python.client import PythonClient
from commonplace.openapi.engine.generate.python.models import PythonModels
from commonplace.openapi.engine.generate.python.text import HEADER, one_line
from commonplace.openapi.engine.generate.python.types import PythonTypes


def generate_python(api: Api, *, client: bool) -> dict[str, str]:
    """Return the contents of the files by name."""
    types = PythonTypes(api)
    runtime = (
        resources.files("commonplace.openapi.engine.generate.python")
        .joinpath("runtime", "runtime.py.txt")
        .read_text("utf-8")
    )
    files = {"models.py": PythonModels(api, types).write(), "runtime.py": runtime}
    lines = [HEADER, f'"""{one_line(api.title)}."""', ""]
    if client:
        files["client.py"] = PythonClient(api, types).write()
        lines += [
            "from .client import Client",
            "from .runtime import ApiError, Credential",
            "",
            '__all__ = ["ApiError", "Client", "Credential"]',
        ]
    files["__init__.py"] = "\n".join(lines) + "\n"
    return dict(sorted(files.items()))
