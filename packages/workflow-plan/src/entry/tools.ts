// Programs that run for an agent: its tools over MCP, and the check of its commands.
export { guardCall } from "../guard/hook.ts";
export { serveStepTools } from "../mcp/server.ts";
