import { WorkflowError } from "@uncaged/workflow";
import type { ReadyTool, ToolContext, ToolSource } from "../tools/tools.ts";
import { Connection } from "./connection.ts";
import { toolName } from "./name.ts";
import { resultOf } from "./result.ts";
import type { Address } from "./address.ts";

/**
 * An MCP server: a command that speaks by stdin and stdout, or a URL (streamable HTTP). Its tools are
 * named `name__tool`; `only` leaves out the others.
 */
export type McpOptions = Address & { name: string; only?: readonly string[] };

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

function checkOptions(options: McpOptions): void {
  const problem = !/^[A-Za-z0-9-]{1,32}$/.test(options.name)
    ? `${JSON.stringify(options.name)} is no name: letters, digits and - only, 32 at most`
    : "url" in options && !URL.canParse(options.url)
      ? `${JSON.stringify(options.url)} is no URL`
      : null;
  if (problem === null) return;
  const hint = "mend mcpTools' options";
  throw new WorkflowError({ code: "BAD_MCP", kind: "usage", message: problem, hint });
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
    const watch = {
      onTools: (tools: Connection["tools"]) => (this.#list = this.#ready(tools)),
      onClose: () => {
        if (this.#connection === opened) this.#connection = null;
      },
    };
    // Later: one that fails at once would be closed before it is known here.
    const opened = Promise.resolve().then(() =>
      Connection.open(this.#options, this.#context, watch),
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

// The server judges the rest: its schema is not ours.
const checkArguments: ReadyTool["check"] = (input) =>
  typeof input === "object" && input !== null && !Array.isArray(input)
    ? { ok: true, input }
    : { ok: false, problem: "they must be a JSON object" };
