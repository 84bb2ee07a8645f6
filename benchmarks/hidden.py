"""What looking for hidden characters costs: `python -m benchmarks.hidden` prints microseconds,
the best of many rounds.

`call` is a whole `instructions_get` in this process, `look` the search of its answer when nothing
is remembered about it.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import timeit
from pathlib import Path

from commonplace.bootstrap.app import build
from commonplace.dispatch.call import Call, Outcome
from commonplace.dispatch.registry import EVERYTHING_LISTED
from commonplace.edge.core import Core
from commonplace.edge.request import Request
from commonplace.kernel.auth import local_user
from commonplace.kernel.config.loading import load
from commonplace.kernel.hidden_characters import json_may_hide

NUMBER, ROUNDS = 200, 40
BODIES = {
    "English": "Use locks when you write. " * 80,
    "signs": "⚠️ Use locks when you write – always. " * 50,  # noqa: RUF001
    "Chinese": "写文件时要使用锁否则会丢失数据。" * 40,
    "Persian": "می‌خواهم کتاب‌ها را بخوانم " * 40,  # noqa: RUF001
}


def main() -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        shelf = folder / "shelf"
        shelf.mkdir()
        for name, body in BODIES.items():
            entry = {
                "id": name.lower(),
                "title": name,
                "body": body,
                "priority": 5,
                "audience": "all",
                "requirement": "optional",
            }
            (shelf / f"{name.lower()}.json").write_text(json.dumps({**entry, "categories": ["a"]}))
        settings = load(file=None, data=folder / "data").settings
        mcp = settings.mcp.replace(
            instructions=settings.mcp.instructions.replace(directory=str(shelf))
        )
        with build(settings.replace(mcp=mcp)) as app:
            asyncio.run(
                app.pipeline.run(Call("instructions_get", {"id": "english"}, local_user()))
            )  # loads the catalogue
            core = Core(app.product)
            print(f"{'body':10} {'bytes':>6} {'call':>8} {'look':>8}")
            for name in BODIES:
                _print_cost(core, name)


def _print_cost(core: Core, name: str) -> None:
    request = Request(local_user(), EVERYTHING_LISTED)
    params = {"name": "instructions_get", "arguments": {"id": name.lower()}}

    def call() -> list[bytes]:
        outcome = core.start_call(request, params)
        assert isinstance(outcome, Outcome)
        return core.encode_call(outcome)

    answer = b"".join(call())
    encoded = json.dumps(json.loads(answer)["structuredContent"], ensure_ascii=False).encode()
    best = [
        min(timeit.repeat(work, number=NUMBER, repeat=ROUNDS)) / NUMBER * 1e6
        for work in (call, lambda: json_may_hide(encoded))
    ]
    print(f"{name:10} {len(encoded):6} {best[0]:8.2f} {best[1]:8.2f}")


if __name__ == "__main__":
    main()
