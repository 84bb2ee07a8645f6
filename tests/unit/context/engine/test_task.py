"""What a task says: stop words alone say nothing."""

from __future__ import annotations

from commonplace.context.engine.task import TaskReading
from commonplace.context.model import ContextQuestion


def test_a_task_of_stop_words_has_no_subject() -> None:
    for text in ("do it again", "and not", "  ", "comment faire"):
        task = TaskReading(ContextQuestion(text))
        assert not task.has_subject
        assert task.text == ""
    task = TaskReading(ContextQuestion("do the refund again"))
    assert task.has_subject
    assert task.text == "do the refund again"
