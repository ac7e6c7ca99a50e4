"""Warnings of kfree that users may want to silence by their class."""


class DataAdvice(UserWarning):
    """The data are such that the answer may not be what was wanted; the message names the column and the remedy.

    Silence it with ``warnings.filterwarnings("ignore", category=kfree.exceptions.DataAdvice)``.

    Examples
    --------
    >>> import warnings
    >>> from kfree.exceptions import DataAdvice
    >>> warnings.filterwarnings("ignore", category=DataAdvice)
    """
