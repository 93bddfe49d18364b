// Programs that run for an agent: its MCP server, and the check of its commands.
export { guardCall } from "../guard/hook.ts";
export { serveStepTools } from "../mcp/server.ts";
