// MCP over stdin and stdout
export { type McpOptions, serveMcp } from "../mcp/server.ts";
