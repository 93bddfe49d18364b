// Entry point 4: the programs that a step's agent is started with: its tools over MCP, and the check of its commands.

export { guardCall, type HookAnswer } from "../guard/hook.ts";
export { serveStepTools } from "../mcp/server.ts";
