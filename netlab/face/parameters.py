"""Check of a notebook's parameters, by the name that notebooks use."""

from __future__ import annotations

from collections.abc import MutableMapping


def check_parameters(
    namespace: MutableMapping[str, object], **kinds: type | tuple[type, ...]
) -> None:
    """Refuse unknown or mistyped parameters of a notebook.

    Call it right after the cell tagged ``parameters``: papermill only warns of an unknown name.
    A mistake in a study that is made of a list among them then names the parameter.

    Parameters
    ----------
    namespace : mapping
        The notebook's ``globals()``.
    **kinds : type or tuple of types
        Type of each parameter. An int is accepted as a float; a bool is not an int.

    Raises
    ------
    BadInput
        An unknown parameter, a missing one, or a value of another type.

    Examples
    --------
    >>> import netlab
    >>> netlab.check_parameters({"quick": True}, quick=bool)
    >>> netlab.check_parameters({"quick": "yes"}, quick=bool)
    Traceback (most recent call last):
    netlab.errors.BadInput: parameters: quick: must be bool (found 'yes')
    """
    from netlab.notebooks.parameters import check

    check(namespace, **kinds)
