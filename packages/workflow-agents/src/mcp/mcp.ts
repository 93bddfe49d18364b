import { createHash } from "node:crypto";
import type { CallToolResult } from "@modelcontextprotocol/client";
import type { ReadyTool, ToolContext, ToolSource } from "../tools/tools.ts";
import { Connection, mcpError } from "./connection.ts";
import { checkOptions, type McpOptions } from "./options.ts";

/**
 * The tools of an MCP server, for {@link toolRegistry}. Each thread has a server process or a session of
 * its own, from the first look at the tools until the thread's signal, or 5 minutes without a call. A
 * server that died is started again for the next call; the call that it died in is an error, for
 * nobody knows what it had done.
 *
 *     const tools = toolRegistry([mcpTools({ name: "docs", command: "docs-mcp", env: ["DOCS_KEY"] })]);
 *
 * @throws WorkflowError `BAD_MCP` at once; from a running thread `MCP_UNREACHABLE`, `MCP_DIED`,
 *   `MCP_TOOL_FAILED`, `MCP_REFUSED`.
 */
export function mcpTools(options: McpOptions): ToolSource {
  checkOptions(options);
  const threads = new WeakMap<AbortSignal, ThreadTools>();
  return {
    tools(context) {
      let thread = threads.get(context.signal);
      if (!thread) {
        thread = new ThreadTools(options, context);
        threads.set(context.signal, thread);
      }
      return thread.list();
    },
  };
}

/** One thread's tools of one server. The list outlives a connection. */
class ThreadTools {
  readonly #options: McpOptions;
  readonly #context: ToolContext;
  #connection: Promise<Connection> | null = null;
  #list: ReadyTool[] | null = null;

  constructor(options: McpOptions, context: ToolContext) {
    this.#options = options;
    this.#context = context;
  }

  async list(): Promise<ReadyTool[]> {
    this.#list ??= this.#ready((await this.#connected()).tools);
    return this.#list;
  }

  async #connected(): Promise<Connection> {
    this.#context.signal.throwIfAborted();
    const opened = (this.#connection ??= this.#open());
    try {
      return await opened;
    } catch (error) {
      if (this.#connection === opened) this.#connection = null;
      throw error;
    }
  }

  #open(): Promise<Connection> {
    const listener = {
      onTools: (tools: Connection["tools"]) => (this.#list = this.#ready(tools)),
      onClose: () => {
        if (this.#connection === opened) this.#connection = null;
      },
    };
    // Later: one that fails at once would be closed before it is known here.
    const opened = Promise.resolve().then(() =>
      Connection.open(this.#options, this.#context, listener),
    );
    return opened;
  }

  #ready(tools: Connection["tools"]): ReadyTool[] {
    const { name: server, only } = this.#options;
    const taken = new Set<string>();
    return tools
      .filter(({ name }) => only?.includes(name) ?? true)
      .map(({ name, description = "", inputSchema }) => ({
        name: toolName(server, name, taken),
        description,
        input_schema: inputSchema,
        check: checkArguments,
        execute: async (input, runtime) => {
          const connection = await this.#connected();
          return resultOf(await connection.call(name, input as Record<string, unknown>, runtime));
        },
      }));
  }
}

// The server checks the rest: its schema is not ours.
const checkArguments: ReadyTool["check"] = (input) =>
  typeof input === "object" && input !== null && !Array.isArray(input)
    ? { ok: true, input }
    : { ok: false, problem: "they must be a JSON object" };

const longest = 64;

/**
 * The name by which a model knows a server's tool: `server__tool`, of letters, digits, `_` and `-`, 64
 * at most. A name that had to be changed, or is taken, ends in a few digits of its own.
 */
function toolName(server: string, tool: string, taken: Set<string>): string {
  const plain = `${server}__${tool.replace(/[^\w-]/g, "_")}`;
  const isKept = plain.length <= longest && !taken.has(plain);
  const digits = createHash("sha256").update(tool).digest("hex").slice(0, 6);
  const name = isKept ? plain : `${plain.slice(0, longest - 7)}_${digits}`;
  taken.add(name);
  return name;
}

type Block = CallToolResult["content"][number];

/**
 * A tool's result for a model: its texts, and a note on what is no text. `structuredContent` is kept
 * beside, and shown when there is no text.
 *
 * @throws WorkflowError `MCP_TOOL_FAILED` when the server reports that the tool failed.
 */
function resultOf({ content, structuredContent, isError }: CallToolResult): unknown {
  const texts = content.map(textOf).filter((text) => text !== "");
  if (isError === true) {
    const text = texts.join("\n") || "the tool failed and gives no reason";
    throw mcpError("MCP_TOOL_FAILED", text);
  }
  if (texts.length === 0 && structuredContent !== undefined) return structuredContent;
  return {
    result: texts.join("\n"),
    ...(structuredContent !== undefined && { structuredContent }),
  };
}

function textOf(block: Block): string {
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
