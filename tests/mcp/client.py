"""client.py MODE PROGRAM ARGUMENT... - a client by the protocol's own SDK: lists the tools of a server, calls `log` and
`cat`, and reads a resource. MODE is `legacy` (with a handshake) or `auto` (the newest version that both know). Prints one
JSON document."""

import asyncio
import json
import os
import sys

from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client


async def main(mode: str, program: str, *arguments: str) -> None:
    # by itself it passes on a few variables only
    server = StdioServerParameters(command=program, args=list(arguments), env=dict(os.environ))
    async with Client(stdio_client(server), mode=mode) as client:
        tools = await client.list_tools()
        log = await client.call_tool("log", {"limit": 1})
        cat = await client.call_tool("cat", {"rev": "t1", "path": "a.txt"})
        wrong = await client.call_tool("show", {"rev": "c99"})
        uri = (await client.list_resources()).resources[0].uri
        resource = await client.read_resource(str(uri))
        print(json.dumps({
            "version": client.protocol_version,
            "tools": [tool.name for tool in tools.tools],
            "log": log.structured_content,
            "cat": cat.content[0].text,
            "wrong": [wrong.is_error, wrong.content[0].text],
            "resource": json.loads(resource.contents[0].text)["id"],
        }))


asyncio.run(main(*sys.argv[1:]))
