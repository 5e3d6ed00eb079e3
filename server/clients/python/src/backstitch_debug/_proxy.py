"""Watched functions and objects. A proxy behaves as its object does, and fails as it does."""

from __future__ import annotations

import asyncio
import asyncio.coroutines
import functools
import inspect
import sys
import types
from typing import Any, Callable, Dict, Optional

_FUNCTIONS = (
    types.FunctionType,
    types.MethodType,
    types.BuiltinFunctionType,
    types.MethodWrapperType,
    functools.partial,
)


def watched(target: Any, name: Optional[str], current: Callable[[], Any]) -> Any:
    if isinstance(target, _FUNCTIONS):
        return _function(target, name, current)
    return _class_of(type(target))(target, name, current)


def _function(function: Any, name: Optional[str], current: Callable[[], Any]) -> Any:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        program = current()
        if program is None or program.is_busy():
            return function(*args, **kwargs)
        return program.call(function, args, kwargs, "proxy", sys._getframe(1), name)

    if inspect.iscoroutinefunction(function):
        wrapper = _coroutine_function(function, name, current)
    try:
        return functools.wraps(function)(wrapper)
    except AttributeError:
        return wrapper


def _coroutine_function(function: Any, name: Optional[str], current: Callable[[], Any]) -> Any:
    """As `function`, through `acall`: other tasks continue while this one is paused."""

    async def plain(*args: Any, **kwargs: Any) -> Any:
        return await function(*args, **kwargs)

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        program = current()
        if program is None or program.is_busy():
            return plain(*args, **kwargs)
        return program.acall(function, args, kwargs, sys._getframe(1), "proxy", name)

    mark = getattr(inspect, "markcoroutinefunction", None)
    if mark is not None:
        return mark(wrapper)
    # before Python 3.12 this is what `asyncio.iscoroutinefunction` goes by
    setattr(wrapper, "_is_coroutine", getattr(asyncio.coroutines, "_is_coroutine", None))
    return wrapper


def _target(proxy: Any) -> Any:
    return object.__getattribute__(proxy, "_backstitch_target")


class Proxy:
    """Stands for an object: the calls of its methods are watched."""

    __slots__ = ("_backstitch_target", "_backstitch_name", "_backstitch_current", "__weakref__")

    def __init__(self, target: Any, name: Optional[str], current: Callable[[], Any]) -> None:
        object.__setattr__(self, "_backstitch_target", target)
        object.__setattr__(self, "_backstitch_name", name or type(target).__qualname__)
        object.__setattr__(self, "_backstitch_current", current)

    def __getattribute__(self, name: str) -> Any:
        if name in ("__class__", "__dict__", "__doc__", "__module__"):
            return getattr(_target(self), name)
        found = getattr(_target(self), name)
        if isinstance(found, _FUNCTIONS) and not name.startswith("__"):
            of = object.__getattribute__(self, "_backstitch_name")
            return _function(found, f"{of}.{name}", object.__getattribute__(self, "_backstitch_current"))
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_target(self), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_target(self), name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _target(self).__reduce_ex__(protocol)


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    target = _target(self)
    program = object.__getattribute__(self, "_backstitch_current")()
    if program is None or program.is_busy():
        return target(*args, **kwargs)
    name = object.__getattribute__(self, "_backstitch_name")
    return program.call(target, args, kwargs, "proxy", sys._getframe(1), name)


def _plain(value: Any) -> Any:
    return _target(value) if issubclass(type(value), Proxy) else value


def _forward(name: str) -> Any:
    def method(self: Any, *args: Any) -> Any:
        target = _target(self)
        return getattr(type(target), name)(target, *[_plain(each) for each in args])

    method.__name__ = name
    return method


_PLAIN = (
    "__repr__ __str__ __bytes__ __format__ __hash__ __len__ __length_hint__ __iter__ __next__ __reversed__ "
    "__getitem__ __setitem__ __delitem__ __missing__ __contains__ __enter__ __exit__ __aenter__ __aexit__ __aiter__ "
    "__anext__ __await__ __int__ __float__ __complex__ __index__ __round__ __trunc__ __floor__ __ceil__ __dir__ __neg__ "
    "__pos__ __abs__ __invert__ __lt__ __le__ __eq__ __ne__ __gt__ __ge__"
).split()
_OPERATORS = (
    "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or".split()
)
_SPECIAL = _PLAIN + [f"__{prefix}{name}__" for name in _OPERATORS for prefix in ("", "r", "i")]


def _truth(self: Any) -> bool:
    return bool(_target(self))


Proxy.__bool__ = _truth  # type: ignore[attr-defined]

#: Classes of proxies by the class of their object.
_classes: Dict[type, type] = {}


def _class_of(kind: type) -> Any:
    """A class of proxies with just those special methods that the object has: Python asks the class for them."""
    made = _classes.get(kind)
    if made is None:
        names: Dict[str, Any] = {"__slots__": ()}
        # not `hasattr`, which also finds what the class itself can do as an object
        own = {name for each in kind.__mro__ for name in vars(each)}
        for name in own.intersection(_SPECIAL):
            # None says that there is none, as of `__hash__` of a list
            names[name] = None if getattr(kind, name) is None else _forward(name)
        if "__call__" in own:
            names["__call__"] = _call
        made = _classes[kind] = type("Proxy", (Proxy,), names)
    return made
