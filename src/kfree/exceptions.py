"""Warning categories of kfree, which can be filtered by class."""


class DataAdvice(UserWarning):
    """Warns about data for which the result may mislead; the message names the column and the remedy.

    Silence it with ``warnings.filterwarnings("ignore", category=kfree.exceptions.DataAdvice)``.

    Examples
    --------
    >>> import warnings
    >>> from kfree.exceptions import DataAdvice
    >>> warnings.filterwarnings("ignore", category=DataAdvice)
    """
