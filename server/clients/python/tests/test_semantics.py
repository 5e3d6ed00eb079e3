"""Inputs give what `code.InteractiveInterpreter` gives in the same frame. On purpose different: an input is a unit of any
number of statements with the value of the last, one that is incomplete is an error, and `await` needs no function. `SystemExit`
does not end anything, and `del` of a name uncovers that of the frame."""

import ast
import asyncio
import code
import contextlib
import inspect
import io
import random
import sys
import unittest
import warnings

from backstitch_debug._evaluate import Namespace, evaluate

NAMES = ["a", "b", "c", "x", "text", "items", "table"]
WORDS = ["'äöü'", "'☃'", "'a b'", "''", "'x' * 3", "b'\\x00\\xff'", "f'{1 + 1}'"]


class Inputs:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def of(self, *all_of):
        return self.random.choice(all_of)

    def name(self):
        return self.of(*NAMES)

    def expression(self, depth=2):
        if depth == 0:
            return self.of(str(self.random.randint(-9, 99)), self.name(), *WORDS, "None", "True")
        sub = lambda: self.expression(depth - 1)  # noqa: E731
        return self.of(
            f"{sub()} + {sub()}", f"{sub()} * {sub()}", f"({sub()}, {sub()})", f"[{sub()}, {sub()}]",
            f"[n * {self.name()} for n in range({self.random.randint(0, 5)})]",
            f"{{{sub()!s}: {sub()}}}", f"sorted([{sub()}, {sub()}], key=str)", f"len({sub()})", f"str({sub()})",
            f"(lambda v: (v, {self.name()}))({sub()})", f"{sub()} if {sub()} else {sub()}", f"{sub()} == {sub()}",
            f"{self.name()}[0]", f"{self.name()}.upper()", f"1 / {sub()}", f"print({sub()})",
            f"{{k: v for k, v in zip('ab', [{sub()}, {sub()}])}}",
        )

    def statement(self):
        name, value = self.name(), self.expression()
        n = self.random.randint(0, 6)
        return self.of(
            f"{name} = {value}", f"{name} += {value}", f"del {name}", f"print({value}); {name} = {value}",
            f"for n in range({n}):\n    {name} = n\nprint({name})",
            f"def f(n):\n    return 1 if n < 2 else n * f(n - 1)\nprint(f({n}))",
            f"def g({name}):\n    def inner(): return {name}\n    return inner\nprint(g({value})())",
            f"class A:\n    value = {value}\n    def get(self): return self.value\n\n{name} = A().get()",
            f"try:\n    {name} = {value}\nexcept Exception as e:\n    print(type(e).__name__)\nfinally:\n    print('done')",
            f"with contextlib.suppress(Exception):\n    print({value})", "import math, contextlib", f"print(math.sqrt({n}))",
            f"while {n} > 100:\n    pass\nelse:\n    print({value})", f"global {name}\n{name} = {value}", f"assert {value}, {value}",
            f"raise ValueError({value})", f"{name}: int = {n}", f"lambda: {value}; {name}",
        )

    def wrong(self):
        return self.of(
            "def f():", "for n in range(3):", "(1,", "[1, 2", "'open", "'''open", "1 +", "x = = 2", "def f(:\n    pass", "if x", "return 3",
            "yield 1", "break", "a b", "  x = 1\n y = 2", "\\", "class A(", "try:\n    pass", "await x", "0777", "f(**)", "@",
        )

    def next(self):
        kind = self.random.random()
        if kind < 0.4:
            return self.expression()
        return self.statement() if kind < 0.85 else self.wrong()


def last_line(text):
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1] if lines else ""


def printed(act):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        value = act()
    return value, out.getvalue(), err.getvalue()


def run(tree, mode, names):
    compiled = compile(tree, "<repl>", mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    value = eval(compiled, names)
    return asyncio.run(value) if compiled.co_flags & inspect.CO_COROUTINE else value


def frame_of(values):
    def inner():
        return sys._getframe()

    scope = {"frame": sys._getframe, "__name__": "program", "__builtins__": __builtins__, **values}
    exec("here = frame()", scope)
    return scope["here"], scope


class Semantics(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        warnings.simplefilter("ignore")

    def test_generated(self):
        count = 0
        for seed in range(300):
            inputs = Inputs(seed)
            values = lambda: {  # noqa: E731
                "a": 1, "b": 2.5, "c": None, "x": [1, 2, 3], "text": "word", "items": (1, "two"), "table": {0: "zero"},
                "contextlib": contextlib,
            }
            frame, _ = frame_of(values())
            names = Namespace()
            base = values()
            theirs = code.InteractiveInterpreter({"__name__": "program", **base})
            for _ in range(10):
                source = inputs.next()
                count += 1
                answer, out, err = printed(lambda: evaluate(source, names, frame, {}))
                for name, value in base.items():
                    theirs.locals.setdefault(name, value)
                expected = self.reference(theirs, source)
                shown = (answer.result, out + err, last_line(answer.error or ""))
                with self.subTest(seed=seed, source=source):
                    self.assertEqual(self.bare(shown), self.bare(expected))
        self.assertEqual(count, 3000)

    def test_private_names(self):
        values = {}
        exec(
            "import sys\n"
            "class Outer:\n"
            "    def __init__(self, __a=1): self.__x, self.__y__ = 7, 8; self.frame = sys._getframe()\n"
            "    def nested(self): return [self for _ in '1' if [sys._getframe()]][0] and (lambda: sys._getframe())()\n"
            "    @classmethod\n"
            "    def made(cls): cls.__kind = 'k'; return sys._getframe()\n"
            "class _Odd(Outer):\n"
            "    def __init__(self): super().__init__(); self.__x = 9; self.own = sys._getframe()\n"
            "def plain(self): return sys._getframe()\n",
            values,
        )
        outer, odd = values["Outer"](), values["_Odd"]()
        for frame, source, expected in (
            (outer.frame, "self.__x", "7"),
            (outer.frame, "self.__y__", "8"),
            (outer.frame, "__a", "1"),
            (outer.frame, "self.__x = 3; self._Outer__x", "3"),
            (outer.frame, "[each.__x for each in [self]]", "[3]"),
            (outer.frame, "class P:\n    __q = 3\nP._P__q", "3"),
            (outer.frame, "def f(__b=2): return __b\nf(_Outer__b=4)", "4"),
            (odd.own, "self.__x, self._Odd__x, self._Outer__x", "(9, 9, 7)"),
            (values["Outer"].made(), "cls.__kind", "'k'"),
            (values["plain"](outer), "self._Outer__x", "3"),
            (values["plain"](outer), "hasattr(self, '__x')", "False"),
        ):
            answer, out, _ = printed(lambda: evaluate(source, Namespace(), frame, {}))
            with self.subTest(source=source):
                self.assertEqual(answer.result or out, expected, answer.error)
        if sys.version_info >= (3, 11):
            answer, _, _ = printed(lambda: evaluate("self.__x", Namespace(), outer.nested(), {"self": outer}))
            self.assertEqual(answer.result, "3", answer.error)

    @staticmethod
    def bare(shown):
        """Without addresses of objects, which differ."""
        import re

        return tuple(re.sub(r"0x[0-9a-f]+", "0x", text) for text in shown)

    @staticmethod
    def reference(interpreter, source):
        """The answer of the standard interpreter: value, output, last line of the error."""
        try:
            tree = ast.parse(source.strip(" \t\n"))
        except (SyntaxError, ValueError):
            tree = None
        if tree and tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)

            def act():
                try:
                    run(tree, "exec", interpreter.locals)
                    return repr(run(last, "eval", interpreter.locals)), ""
                except BaseException:  # noqa: B902
                    interpreter.showtraceback()
                    return "", "error"

            (value, failed), out, err = printed(act)
            if failed:
                return "", out, last_line(err)
            return value, out + err, ""
        is_incomplete, out, err = printed(lambda: interpreter.runsource(source + "\n" if "\n" in source else source, "<repl>", "exec"))
        if is_incomplete:
            return "", out, "SyntaxError: incomplete input"
        return "", out, last_line(err)


class Results(unittest.TestCase):
    def answer(self, source, **names):
        frame, _ = frame_of(names)
        answer, out, _ = printed(lambda: evaluate(source, Namespace(), frame, {}))
        return answer.error or answer.result, out

    def test_the_last_expression_is_the_result(self):
        for source, result in (
            ("y = 3; y", "3"),
            ("a = 1\nb = 2\na + b", "3"),
            ("y = 3", ""),
            ("if True:\n    y = 4\ny", "4"),
            ("if True:\n    4", ""),
            ("1; 2; 3;", "3"),
            ("  a = 1\n  a + 1", "2"),
            ("# a comment", ""),
            ("", ""),
        ):
            with self.subTest(source=source):
                self.assertEqual(self.answer(source), (result, ""))

    def test_statements_before_an_error_have_run(self):
        error, out = self.answer("print('before')\nmissing\nprint('after')\n1")
        self.assertEqual(out, "before\n")
        self.assertIn("NameError", error)

    def test_await_needs_no_function(self):
        with_await = "import asyncio\nawait asyncio.sleep(0, 'slept')"
        self.assertEqual(self.answer(with_await), ("'slept'", ""))
        self.assertEqual(self.answer("[n async for n in each()]", each=each), ("[0, 1]", ""))
        self.assertIn("TypeError", self.answer("await 3")[0])

    def test_a_coroutine_that_is_not_awaited_is_a_value(self):
        async def one():
            return 1

        result, _ = self.answer("made()", made=one)
        self.assertTrue(result.startswith("<coroutine object"), result)


async def each():
    yield 0
    yield 1


class Incomplete(unittest.TestCase):
    def test_incomplete_inputs_say_so(self):
        frame, _ = frame_of({})
        for source in ("def f():", "for n in range(3):", "(1,", "if True:", "'''open", "class A:", "while True:"):
            answer = evaluate(source, Namespace(), frame, {})
            self.assertIn("incomplete input", answer.error or "", source)


if __name__ == "__main__":
    unittest.main()
