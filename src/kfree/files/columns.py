"""Which columns of files are used, and what these must have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kfree.files.formats import Column, Description


def chosen_columns(
    path: str, description: Description, columns: Sequence[Column] | None, weight: Column | None
) -> list[Column]:
    """The columns of the rows: those that were asked for, or all but the weight."""
    chosen = [name for name in description.types if name != weight] if columns is None else list(columns)
    if isinstance(columns, str) or not chosen:
        raise ValueError(f"columns={columns!r} is not allowed; give a list of columns of {path}.")
    if len(set(chosen)) < len(chosen) or weight in chosen:
        raise ValueError(f"columns={columns!r}, weight={weight!r} is not allowed; give every column once.")
    return chosen


def require_columns(
    path: str,
    description: Description,
    used: list[Column],
    all_columns: bool,
    first: Description,
    first_path: str,
    weight: Column | None,
) -> None:
    """Raise unless the file has the columns, as numbers; and the same as the first file, if all are used."""
    if all_columns and list(description.types) != list(first.types):
        raise ValueError(
            f"{path} has the columns {_listed(description.types)}, and {first_path} has {_listed(first.types)}. "
            "Give columns, by name, that all files have."
        )
    for name in used:
        role = "weight" if name == weight else "columns"
        if name not in description.types:
            raise ValueError(f"{path} has no column {name!r}, which {role} names; it has {_listed(description.types)}.")
        if description.types[name] is None:
            raise ValueError(
                f"{path}: column {name!r} does not hold numbers. Leave it out with columns=[…], or encode it first."
            )


def _listed(names: Iterable[Column]) -> str:
    shown = [repr(name) for name in names]
    return ", ".join(shown[:8]) + (f", … ({len(shown)} in all)" if len(shown) > 8 else "")
