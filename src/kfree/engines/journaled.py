"""Rows whose answers are kept in a checkpoint: a question that was answered before is not asked again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from kfree.engines.contract import MemoryRows, Rows
from kfree.engines.questions import Copies, Question
from kfree.saving.journal import Journal

A = TypeVar("A")

# A pass is recorded in parts of so many bytes, so that an interrupt loses no more than one of them.
PART_BYTES = 1 << 28


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
        asked = [question.name, _plain(question), _plain(self.frame)]

        def work_out() -> tuple[A, int]:
            before, parts = self._rows.n_distances, self._rows.parts(PART_BYTES)
            if len(parts) == 1:
                return self._rows.ask(question), self._rows.n_distances - before
            return self._by_parts(question, parts, asked)

        declared = tuple[question.answer_type, int]  # type: ignore[name-defined]
        found: tuple[A, int] = self._journal.answer(asked, work_out, declared)
        self.n_distances += found[1]
        return found[0]

    def _by_parts(self, question: Question[A], parts: Sequence[Rows], asked: list[Any]) -> tuple[A, int]:
        """The answer, joined from those about parts, which are recorded one by one, and how many distances it took."""
        n_distances = 0

        def answers() -> Iterator[A]:
            nonlocal n_distances
            one = question
            for number, part in enumerate(parts):

                def work_out(one: Question[A] = one, part: Rows = part) -> tuple[A, int]:
                    return part.ask(one), part.n_distances

                declared = tuple[question.answer_type, int]  # type: ignore[name-defined]
                answer, n_new = self._journal.part([*asked, number, len(parts)], work_out, declared)
                n_distances += n_new
                yield answer
                one = one.after(answer)

        return question.join(answers()), n_distances

    def take(self, copies: Copies) -> MemoryRows:
        return self._rows.take(copies)


def _plain(value: Any) -> Any:
    """A question as numbers, texts, lists and arrays alone."""
    if is_dataclass(value):
        return [_plain(getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return np.ascontiguousarray(value) if isinstance(value, np.ndarray) else value
