"""The tool of mcp-echo.ts, written as the official Python SDK shows it."""

from mcp.server import MCPServer

server = MCPServer("echo")


@server.tool()
def echo(said: str) -> str:
    """Says it again"""
    return said


server.run()
