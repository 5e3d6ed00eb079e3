"""Private names: in the code of a class, `self.__x` is `self._Class__x`. An input at a frame of a class is such code."""

from __future__ import annotations

import ast
import types
from typing import Any, Optional

#: Fields of syntax that are an identifier, or a list of them.
IDENTIFIERS = ("id", "attr", "arg", "name", "asname", "rest", "names", "kwd_attrs")


def class_of(frame: types.FrameType) -> Optional[str]:
    """The innermost class around the code of a frame. None: it is in no class."""
    code = frame.f_code
    qualified = getattr(code, "co_qualname", None)
    if qualified is None:       # before Python 3.11
        qualified = _method(frame)
    parts = (qualified or code.co_name).split(".")[:-1]
    while parts and parts[-1] == "<locals>":
        # the function around it
        parts = parts[:-2]
    return parts[-1] if parts else None


def _method(frame: types.FrameType) -> Optional[str]:
    """The qualified name of a method, found by its first argument."""
    code = frame.f_code
    if not code.co_argcount:
        return None
    first = frame.f_locals.get(code.co_varnames[0])
    owners = list(getattr(type(first), "__mro__", ())) + list(getattr(first, "__mro__", ()) if isinstance(first, type) else ())
    for owner in owners:
        found = vars(owner).get(code.co_name)
        found = getattr(found, "fget", None) or getattr(found, "__func__", None) or found
        if getattr(found, "__code__", None) is code:
            return getattr(found, "__qualname__", None)
    return None


class Mangled(ast.NodeTransformer):
    """Gives private names in a syntax tree the form that they have in a class."""

    def __init__(self, owner: str) -> None:
        self.prefix = "_" + owner.lstrip("_") if owner.lstrip("_") else None

    def _name(self, name: Any) -> Any:
        is_private = isinstance(name, str) and name.startswith("__") and not name.endswith("__") and "." not in name
        return self.prefix + name if is_private and self.prefix else name

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        # its body is code of its own class; in it, names of the frame's class are not private
        node.name = self._name(node.name)
        node.bases = [self.visit(each) for each in node.bases]
        node.keywords = [self.visit(each) for each in node.keywords]
        node.decorator_list = [self.visit(each) for each in node.decorator_list]
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field in IDENTIFIERS:
            value = getattr(node, field, None)
            if isinstance(value, str):
                setattr(node, field, self._name(value))
            elif isinstance(value, list):
                setattr(node, field, [self._name(each) for each in value])
        return super().generic_visit(node)
