"""Rows whose answers are kept in a checkpoint: a question that was answered before is not asked again."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from kfree.engines.contract import MemoryRows, Rows
from kfree.engines.questions import Copies, Question
from kfree.saving.journal import Journal

A = TypeVar("A")


class Journaled(Rows):
    """Other ``rows``, and the journal of their answers."""

    def __init__(self, rows: Rows, journal: Journal):
        super().__init__(rows.name, rows.frame, rows.n_rows, rows.n_features)
        self.n_counting, self._total_weight, self._sample = rows.n_counting, rows._total_weight, rows._sample
        self._rows, self._journal = rows, journal

    @property
    def description(self) -> str:
        return self._rows.description

    def ask(self, question: Question[A]) -> A:
        """Distances of a recorded answer count as if they were computed now."""
        before = self._rows.n_distances

        def work_out() -> tuple[A, int]:
            answer = self._rows.ask(question)
            return answer, self._rows.n_distances - before

        asked = [question.name, _plain(question), _plain(self.frame)]
        found: tuple[A, int] = self._journal.answer(asked, work_out, tuple[question.answer_type, int])  # type: ignore[name-defined]
        self.n_distances += found[1]
        return found[0]

    def take(self, copies: Copies) -> MemoryRows:
        return self._rows.take(copies)


def _plain(value: Any) -> Any:
    """The same in numbers, texts, lists and arrays alone."""
    if is_dataclass(value):
        return [_plain(getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return np.ascontiguousarray(value) if isinstance(value, np.ndarray) else value
