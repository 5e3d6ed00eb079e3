"""A proxy behaves as its object does: the same results, the same kinds of errors."""

import copy
import inspect
import math
import operator
import pickle
import unittest
from decimal import Decimal
from fractions import Fraction

import backstitch_debug as bs


class Iterated:
    def __iter__(self):
        return iter([1, 2, 3])


class Indexed:
    def __getitem__(self, at):
        if at > 2:
            raise IndexError(at)
        return at * 10


class Index:
    def __index__(self):
        return 7


class Called:
    def __call__(self, n):
        return n + 1


class Plain:
    pass


class Ordered:
    def __init__(self, n):
        self.n = n

    def __lt__(self, other):
        return self.n < other.n

    def __eq__(self, other):
        return isinstance(other, Ordered) and self.n == other.n


def generated():
    yield 1
    yield 2


MAKES = [
    Iterated,
    Indexed,
    Index,
    Called,
    Plain,
    generated,
    lambda: Ordered(3),
    lambda: [3, 1, 2],
    lambda: (1, 2),
    lambda: {"a": 1, "b": [2]},
    lambda: {1, 2},
    lambda: "text",
    lambda: b"bytes",
    lambda: 5,
    lambda: 2.5,
    lambda: 1 + 2j,
    lambda: Decimal("1.5"),
    lambda: Fraction(3, 2),
    lambda: range(4),
]

ACTS = [
    bool,
    len,
    list,
    sorted,
    repr,
    str,
    bytes,
    lambda value: isinstance(hash(value), int),
    int,
    float,
    complex,
    operator.index,
    abs,
    round,
    math.floor,
    math.ceil,
    math.trunc,
    reversed,
    next,
    callable,
    inspect.isawaitable,
    lambda value: iter(value) is not None,
    lambda value: 1 in value,
    lambda value: 99 in value,
    lambda value: value[0],
    lambda value: value["a"],
    lambda value: value(4),
    lambda value: value + value,
    lambda value: 2 * value,
    lambda value: value - 1,
    lambda value: 1 - value,
    lambda value: value | value,
    lambda value: value == value,
    lambda value: value != 5,
    lambda value: value < value,
    lambda value: value <= 7,
    lambda value: -value,
    lambda value: ~value,
    lambda value: value % 2,
    lambda value: divmod(value, 2),
    lambda value: value ** 2,
    lambda value: "{:>5}".format(value),
    lambda value: isinstance(value, (list, dict, Plain)),
    lambda value: [0, 1, 2, 3, 4, 5, 6, 7, 8][value],
    lambda value: {value: 1} == {value: 1},
    lambda value: [*value],
    lambda value: {**value},
    lambda value: copy.copy(value) is not None,
    lambda value: type(pickle.loads(pickle.dumps(value))).__name__,
]


#: The interpreter looks at the memory of a built-in class itself there, which is none of the proxy's.
OWN = {(kind, act) for kind in (str, bytes) for act in (int, float, complex)} | {(complex, complex)}


def outcome(act, value):
    try:
        result = act(value)
    except BaseException as error:
        return type(error).__name__
    if type(result).__name__.endswith("iterator") or inspect.isgenerator(result):
        result = list(result)
    text = repr(result)
    return "an object" if " object at 0x" in text else text


class Proxies(unittest.TestCase):
    def test_a_proxy_does_as_its_object(self):
        compared = 0
        for make in MAKES:
            for at, act in enumerate(ACTS):
                if (type(make()), act) in OWN:
                    continue
                expected, got = outcome(act, make()), outcome(act, bs.watch(make()))
                self.assertEqual(expected, got, (repr(make())[:40], at))
                compared += 1
        self.assertEqual(compared, len(MAKES) * len(ACTS) - len(OWN))

    def test_a_proxy_of_a_generator_goes_on(self):
        proxy = bs.watch(generated())
        self.assertEqual((next(proxy), list(proxy)), (1, [2]))

    def test_fields_are_those_of_the_object(self):
        plain = Plain()
        proxy = bs.watch(plain)
        proxy.field = 1
        self.assertEqual(plain.field, 1)
        del proxy.field
        self.assertFalse(hasattr(plain, "field"))


if __name__ == "__main__":
    unittest.main()
