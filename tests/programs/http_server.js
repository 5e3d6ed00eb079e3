// A shop behind node:http, on a port of its own choice: each order goes through `price`, which breakpoints can stop at.
"use strict";

const http = require("node:http");
const bs = require("backstitch-debug");

const PRICES = { tea: 3, coffee: 5 };
let orders = 0;

function price(item, count) {
  return PRICES[item] * count;
}

const server = http.createServer((request, response) => {
  const url = new URL(request.url, "http://shop");
  const [, action, item] = url.pathname.split("/");
  if (action === "close") {
    response.end("closing\n");
    server.close();
    return;
  }
  const receipt = { item, count: Number(url.searchParams.get("count") ?? 1), notes: [] };
  console.log(`order of ${receipt.count} ${item}`);
  if (url.searchParams.has("look")) bs.pause("an order", (s) => eval(s));
  try {
    receipt.total = bs.call(price, item, receipt.count);
  } catch (error) {
    if (!(error instanceof bs.Raised)) throw error;
    response.statusCode = 503;
    response.end(`no sale: ${error.message}\n`);
    return;
  }
  orders += 1;
  console.log(`paid ${receipt.total}`);
  response.end(`${JSON.stringify(receipt)}\n`);
});

bs.on();
server.on("close", () => {
  console.log(`closed after ${orders} orders`);
  process.exitCode = 5;
});
server.listen(0, "127.0.0.1", () => console.log(`open at ${server.address().port}`));
