import { createHash } from "node:crypto";
import type { CallToolResult, Tool } from "@modelcontextprotocol/client";
import { isObject, misuse } from "../run/error.ts";
import type { ReadyTool, ToolSource } from "../tools/tools.ts";
import type { McpOptions } from "./options.ts";
import { mcpError, ThreadServer } from "./server.ts";

/**
 * The tools of an MCP server, for {@link toolRegistry}. Each thread has a server process or a session of
 * its own, from the first look at the tools until the thread's signal, or 5 minutes without a call. A
 * server that died is started again for the next call; the call that it died in is an error.
 *
 *     const tools = toolRegistry([mcpTools({ name: "docs", command: "docs-mcp", env: ["DOCS_KEY"] })]);
 *
 * @throws WorkflowError `BAD_MCP` at once; from a running thread `MCP_UNREACHABLE`, `MCP_DIED`,
 *   `MCP_TOOL_FAILED`, `MCP_REFUSED`.
 */
export function mcpTools(options: McpOptions): ToolSource {
  const { name } = options;
  const refuse = (problem: string) => misuse("BAD_MCP", problem, "fix mcpTools' options");
  if (!/^[A-Za-z0-9-]{1,32}$/.test(name)) {
    throw refuse(`${JSON.stringify(name)} is no name: letters, digits and - only, 32 at most`);
  }
  if ("url" in options && !URL.canParse(options.url)) {
    throw refuse(`${JSON.stringify(options.url)} is no URL`);
  }
  const threads = new WeakMap<AbortSignal, ThreadServer>();
  return {
    async tools(context) {
      const server = threads.get(context.signal) ?? new ThreadServer(options, context);
      threads.set(context.signal, server);
      return readyTools(options, await server.tools(), server);
    },
  };
}

function readyTools({ name }: McpOptions, tools: Tool[], server: ThreadServer): ReadyTool[] {
  const taken = new Set<string>();
  return tools.map((tool) => ({
    name: toolName(name, tool.name, taken),
    description: tool.description ?? "",
    input_schema: tool.inputSchema,
    // The server checks the rest: its schema is not ours.
    check: (input) =>
      isObject(input) ? { ok: true, input } : { ok: false, problem: "they must be a JSON object" },
    execute: async (input, execution) =>
      resultOf(await server.call(tool.name, input as object, execution)),
  }));
}

const longest = 64;

/** `server__tool`, of 64 characters at most; one that had to be changed ends in digits of its own. */
function toolName(server: string, tool: string, taken: Set<string>): string {
  const plain = `${server}__${tool.replace(/[^\w-]/g, "_")}`;
  const isKept = plain.length <= longest && !taken.has(plain);
  const digits = () => createHash("sha256").update(tool).digest("hex").slice(0, 6);
  const name = isKept ? plain : `${plain.slice(0, longest - 7)}_${digits()}`;
  taken.add(name);
  return name;
}

/** Its texts, and a note on what is no text; `structuredContent` beside, or in place of no text. */
function resultOf({ content, structuredContent, isError }: CallToolResult): unknown {
  const text = content
    .map(textOf)
    .filter((part) => part !== "")
    .join("\n");
  if (isError) throw mcpError("MCP_TOOL_FAILED", text || "the tool failed and gives no reason");
  if (structuredContent === undefined) return { result: text };
  return text === "" ? structuredContent : { result: text, structuredContent };
}

function textOf(block: CallToolResult["content"][number]): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "audio":
      return `[${block.type} ${block.mimeType}, ${Math.floor((block.data.length * 3) / 4)} bytes]`;
    case "resource_link":
      return `[resource ${block.uri}]`;
    case "resource":
      return "text" in block.resource ? block.resource.text : `[resource ${block.resource.uri}]`;
    default:
      return "";
  }
}
