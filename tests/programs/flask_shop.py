"""A shop behind Flask, on a port of its own choice: each order goes through `price`, which breakpoints can stop at."""

import logging
import sys
import threading

from flask import Flask, g, jsonify, make_response, request
from werkzeug.serving import make_server

import backstitch_debug as bs

PRICES = {"tea": 3, "coffee": 5, "water": 1}

app = Flask("shop")
orders = []
lock = threading.Lock()


def price(item, count):
    return PRICES[item] * count


def write(text):
    """A line at once: lines of several threads do not mix."""
    with lock:
        sys.stdout.write(text + "\n")


@app.before_request
def remember_customer():
    g.customer = request.args.get("customer", "nobody")


@app.get("/order/<item>")
def order(item):
    count = request.args.get("count", 1, int)
    receipt = {"item": item, "count": count, "notes": []}
    write(f"{g.customer} orders {count} {item}")
    receipt["total"] = bs.call(price, item, count)
    with lock:
        orders.append(receipt)
    write(f"{g.customer} pays {receipt['total']}")
    return jsonify(receipt)


@app.errorhandler(bs.Raised)
def refused(error):
    return f"no sale: {error}\n", 503


@app.post("/close")
def close():
    response = make_response("closing\n")
    response.call_on_close(server.shutdown)
    return response


logging.getLogger("werkzeug").setLevel(logging.ERROR)
bs.on()
server = make_server("127.0.0.1", 0, app, threaded=True)
print(f"open at {server.server_port}", flush=True)
server.serve_forever()
server.server_close()
print(f"closed after {len(orders)} orders", flush=True)
sys.exit(5)
