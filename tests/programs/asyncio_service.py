"""A service on streams of asyncio: a line is a request, `slow 4`, and its answer is a line. It has an executor with one
thread, which its checksums need."""

import asyncio
import concurrent.futures
import contextvars
import zlib

import backstitch_debug as bs

client = contextvars.ContextVar("client")
served = []


async def double(number):
    await asyncio.sleep(0)
    return number * 2


async def work(kind, number):
    return await bs.acall(double, number)


async def answer(line):
    kind, _, text = line.partition(" ")
    if kind == "sum":
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, zlib.crc32, text.encode())
    number = int(text)
    return await bs.acall(work, kind, number)


async def serve(reader, writer, closed):
    waits = None
    try:
        while waits := (await reader.readline()).decode().strip():
            if waits == "close":
                closed.set()
                break
            name, _, line = waits.partition(": ")
            client.set(name)
            try:
                said = await answer(line)
            except bs.Raised as error:
                said = f"refused, {error}"
            served.append(name)
            print(f"{waits} is {said}", flush=True)
            writer.write(f"{said}\n".encode())
            await writer.drain()
            waits = None
    except asyncio.CancelledError:
        if waits:
            print(f"{waits} is given up", flush=True)
    finally:
        writer.close()


async def main():
    closed = asyncio.Event()
    asyncio.get_running_loop().set_default_executor(concurrent.futures.ThreadPoolExecutor(1))
    server = await asyncio.start_server(lambda *streams: serve(*streams, closed), "127.0.0.1", 0)
    print(f"open at {server.sockets[0].getsockname()[1]}", flush=True)
    await closed.wait()
    server.close()
    print(f"closed after {len(served)} requests", flush=True)


bs.on()
asyncio.run(main())
