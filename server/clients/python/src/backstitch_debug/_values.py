"""Values as text, as a bounded view, and as bytes. Nothing here may fail, whatever an object does."""

from __future__ import annotations

import base64
import hashlib
import pickle
from typing import Any, Dict, Optional, Tuple

#: Characters of a result.
MAX_REPR = 100_000
#: Characters of a value in a view.
MAX_VIEW = 1000
#: Fields of a value in a view.
MAX_FIELDS = 50
#: Bytes of a value that is kept, unless the settings say otherwise.
MAX_BYTES = 8 << 20


def shown(value: Any, limit: int = MAX_REPR) -> str:
    """The repr, at most so many characters."""
    try:
        text = repr(value)
        if not isinstance(text, str):
            raise TypeError("repr is not a text")
    except BaseException as error:  # noqa: B902 - an object may raise anything
        name = _type_name(value)
        return f"<unprintable {name}: {type(error).__name__}>"
    if len(text) > limit:
        return text[:limit] + f"… ({len(text)} characters)"
    return text


def _type_name(value: Any) -> str:
    kind = type(value)
    try:
        # for a proxy this is the class of its object
        kind = value.__class__ if isinstance(value.__class__, type) else kind
    except BaseException:  # noqa: B902
        pass
    module = getattr(kind, "__module__", "")
    name = getattr(kind, "__qualname__", "?")
    return name if module in ("builtins", "__main__") else f"{module}.{name}"


def view(value: Any, depth: int = 2) -> Dict[str, Any]:
    """Type, repr, length and fields, two deep."""
    made: Dict[str, Any] = {"type": _type_name(value), "repr": shown(value, MAX_VIEW)}
    try:
        made["length"] = len(value)
    except BaseException:  # noqa: B902
        pass
    if depth > 0:
        try:
            fields = _fields(value)
        except BaseException:  # noqa: B902
            fields = None
        if fields:
            made["fields"] = {name: view(each, depth - 1) for name, each in fields.items()}
    return made


def _fields(value: Any) -> Optional[Dict[str, Any]]:
    if isinstance(value, dict):
        pairs = list(value.items())[:MAX_FIELDS]
        return {shown(key, 100): each for key, each in pairs}
    if isinstance(value, (list, tuple)):
        return {str(at): each for at, each in enumerate(value[:MAX_FIELDS])}
    if isinstance(value, (str, bytes, bytearray, int, float, complex, bool, type(None))):
        return None
    table = _table(value)
    if table is not None:
        return table
    held = getattr(value, "__dict__", None)
    if isinstance(held, dict):
        return dict(list(held.items())[:MAX_FIELDS])
    return None


def _table(value: Any) -> Optional[Dict[str, Any]]:
    """The shape and the columns of a data frame, or the shape and the type of the numbers of an array. None: it is neither."""
    shape = getattr(value, "shape", None)
    if not isinstance(shape, tuple):
        return None
    columns = getattr(value, "columns", None)
    if columns is not None and hasattr(value, "dtypes"):
        names = list(columns)[: MAX_FIELDS - 1]
        return {"shape": shape, **{str(name): value[name] for name in names}}
    if hasattr(value, "dtype"):
        return {"shape": shape, "dtype": value.dtype}
    return None


def stored(value: Any, limit: int = MAX_BYTES) -> Tuple[Optional[str], Optional[str]]:
    """The content id and the bytes in base64. None: it cannot be pickled, or is too large. Limit 0: nothing is kept."""
    if limit == 0:
        return None, None
    for pickler in _picklers():
        try:
            data = pickler(value)
        except BaseException:  # noqa: B902
            continue
        if len(data) > limit:
            return None, None
        cid = "sha256:" + hashlib.sha256(data).hexdigest()
        return cid, base64.b64encode(data).decode("ascii")
    return None, None


def _picklers() -> Any:
    yield pickle.dumps
    for name in ("cloudpickle", "dill"):
        try:
            yield __import__(name).dumps
        except BaseException:  # noqa: B902
            continue


def arguments(args: Any, kwargs: Any) -> Dict[str, str]:
    """The arguments of a call as short texts, by number or name."""
    made = {str(at): shown(each, 200) for at, each in enumerate(args[:MAX_FIELDS])}
    made.update({name: shown(each, 200) for name, each in list(kwargs.items())[:MAX_FIELDS]})
    return made
