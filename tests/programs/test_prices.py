"""Tests as a project has them; the first three stop at `breakpoint()`."""

import threading

PRICES = {"tea": 3, "coffee": 5}
DISCOUNT = 0
gate = threading.Event()


def total(items):
    return sum(PRICES[item] for item in items) - DISCOUNT


def test_total():
    items = ["tea", "coffee"]
    print("before")
    breakpoint()
    print("after", items)
    assert total(items) == 11


def test_that_fails():
    print("a failing test")
    breakpoint()
    print("goes on")
    assert total(["tea"]) == 4


def test_output(capsys):
    print("one")
    breakpoint()
    print("two")
    assert capsys.readouterr().out == "one\ntwo\n"


def test_output_again(capsys):
    print("three")
    gate.set()
    for thread in threading.enumerate():
        if thread.name == "backstitch evaluation":
            thread.join()
    print("four")
    assert capsys.readouterr().out == "three\nfour\n"


def test_that_fails_later():
    print("another failing test")
    assert total([]) == 1
