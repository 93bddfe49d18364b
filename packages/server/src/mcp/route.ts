import type { McpHandler, McpOptions } from "./server.ts";

/** Tells whether a request is for MCP, whose calls may wait for minutes. */
export const isForMcp = ({ url }: Request): boolean => URL.parse(url)?.pathname === "/mcp";

/** Returns the handler of `/mcp`, which is loaded at its first request. */
export function lazyMcp(options: Omit<McpOptions, "role">): McpHandler {
  let loaded: Promise<McpHandler> | undefined;
  const load = () => (loaded ??= import("./server.ts").then((mcp) => mcp.mcpHandler(options)));
  return {
    fetch: async (request, caller) => (await load()).fetch(request, caller),
    close: async () => (await loaded)?.close(),
  };
}
