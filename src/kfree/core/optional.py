"""Modules that not every installation has."""

from importlib import import_module
from typing import Any


def optional(name: str, otherwise: str) -> Any:
    """A module, or an ImportError with a message that says what needs it and how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(otherwise) from error
