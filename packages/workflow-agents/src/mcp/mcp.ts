import { createHash } from "node:crypto";
import type {
  CallToolResult,
  ContentBlock,
  GetPromptResult,
  Tool,
} from "@modelcontextprotocol/client";
import { type Journal, parseExact, rawNumber } from "@uncaged/workflow/interpreter";
import { isObject } from "../run/error.ts";
import type { ReadyTool, ToolContext, ToolSource } from "../tools/tools.ts";
import type { McpOptions } from "./options.ts";
import { contentOf, joined, textOf } from "./content.ts";
import { resourceTools } from "./resources.ts";
import { sendable } from "../tools/plain-names.ts";
import { ThreadServer } from "./server.ts";
import { invalidServerName, mcpError, promptNotText, serverNotUrl } from "./errors.ts";

/** The tools of an MCP server, and its prompts for a role's `systemPrompt`. */
export type McpServer = ToolSource & {
  /**
   * Returns a function that returns the text of one of the server's prompts. After a crash, a later execution of the
   * step gets the recorded text.
   *
   *     role({ systemPrompt: docs.prompt("review", { language: "TypeScript" }), … });
   */
  prompt(
    name: string,
    args?: Readonly<Record<string, string>>,
  ): (context: PromptContext) => Promise<string>;
};

/** The context of a prompt request, which is a part of a role's `ThreadContext`. */
type PromptContext = Pick<ToolContext, "signal" | "cwd" | "env" | "key"> & { journal?: Journal };

/**
 * Returns the tools of an MCP server, for {@link toolRegistry}. Each thread has its own server process or session. It
 * starts at the first use of the tools, and ends with the thread or after 5 minutes without a call. If the server's
 * program exits during a call, the call fails. The next call starts the program again, unless it exited twice without
 * an answer in between. A server with resources has two more tools, which list and read the resources. Requests of the
 * server (for a model's answer, a person's answer, or folders) are refused.
 *
 *     const tools = toolRegistry([mcpTools({ name: "docs", command: "docs-mcp", env: ["DOCS_KEY"] })]);
 *
 * @throws WorkflowError `BAD_MCP` at definition; in a thread `MCP_UNREACHABLE`, `MCP_DIED`, `MCP_BUSY`,
 *   `MCP_UNAVAILABLE`, `MCP_TOOL_FAILED`, `MCP_RESOURCE_FAILED`, `MCP_PROMPT_FAILED`, `MCP_REFUSED`.
 */
export function mcpTools(options: McpOptions): McpServer {
  const { name } = options;
  if (!/^[A-Za-z0-9-]{1,32}$/.test(name)) {
    throw invalidServerName(name);
  }
  if ("url" in options && !URL.canParse(options.url)) {
    throw serverNotUrl(options.url);
  }
  const threads = new WeakMap<AbortSignal, ThreadServer>();
  const serverOf = (context: ToolContext) => {
    const server = threads.get(context.signal) ?? new ThreadServer(options, context);
    threads.set(context.signal, server);
    return server;
  };
  return {
    async tools(context) {
      const server = serverOf(context);
      return readyTools(options, await server.tools(), server);
    },
    prompt: (prompt, args) => async (context) =>
      await recordedOnce(context, `mcp ${name} ${prompt} ${JSON.stringify(args ?? {})}`, async () =>
        promptOf(serverOf(context), context.signal, prompt, args),
      ),
  };
}

/** Returns the text that an earlier execution of the step recorded, or records a new text if the step has a journal. */
async function recordedOnce(
  { journal, key }: PromptContext,
  name: string,
  make: () => Promise<string>,
): Promise<string> {
  if (!journal || key === undefined) return await make();
  for (const { entry } of await journal.read(key)) {
    if (isObject(entry) && entry.kind === "prompt" && entry.name === name)
      return String(entry.text);
  }
  const text = await make();
  await journal.record(key, { kind: "prompt", name, text });
  return text;
}

async function promptOf(
  server: ThreadServer,
  signal: AbortSignal,
  name: string,
  args: Readonly<Record<string, string>> = {},
): Promise<string> {
  const what = { running: `its prompt ${name} was asked for`, failed: "MCP_PROMPT_FAILED" };
  const { messages } = await server.ask(what, signal, (client, limits) =>
    client.getPrompt({ name, arguments: { ...args } }, limits),
  );
  return messages
    .map(({ content }: GetPromptResult["messages"][number]) => promptText(name, content))
    .join("\n\n");
}

/** Returns a part of a prompt as text. Throws for other parts, because a system prompt has only text. */
function promptText(name: string, content: ContentBlock): string {
  const isBytes =
    content.type === "resource"
      ? "blob" in content.resource
      : content.type === "image" || content.type === "audio";
  if (!isBytes) return textOf(content);
  const what =
    content.type === "resource" ? `the bytes of ${content.resource.uri}` : `an ${content.type}`;
  throw promptNotText(name, what);
}

function readyTools({ name }: McpOptions, tools: Tool[], server: ThreadServer): ReadyTool[] {
  const taken = new Set<string>();
  // A list with several pages may contain a tool twice.
  const unique = new Map(tools.toReversed().map((tool) => [tool.name, tool]));
  const own = tools
    .filter((tool) => unique.get(tool.name) === tool)
    .map((tool): ReadyTool => {
      const { schema, restored } = sendable(tool.inputSchema);
      return {
        name: toolName(name, tool.name, taken),
        description: tool.description ?? "",
        input_schema: schema,
        // The server checks the input by its own schema.
        check: (input) =>
          isObject(input)
            ? { ok: true, input: restored(input) }
            : { ok: false, problem: "they must be a JSON object" },
        execute: async (input, execution) =>
          resultOf(await server.call(tool.name, exactOf(input, execution, restored), execution)),
      };
    });
  if (!server.hasResources) return own;
  const reading = resourceTools(server);
  return [...own, ...reading.map((tool) => ({ ...tool, name: toolName(name, tool.name, taken) }))];
}

/** Returns the arguments with the digits that the model sent, where a number would round them. */
const exactOf = (
  input: unknown,
  { exact }: ToolContext,
  restored: (input: Record<string, unknown>) => object,
): object =>
  exact === undefined
    ? (input as object)
    : restored(parseExact(exact, rawNumber) as Record<string, unknown>);

const longest = 64;

/**
 * Returns the name `SERVER__TOOL` with at most 64 characters. A changed name ends with a digest that makes it unique.
 */
function toolName(server: string, tool: string, taken: Set<string>): string {
  const plain = `${server}__${tool.replace(/[^\w-]/g, "_")}`;
  const isKept = plain.length <= longest && !taken.has(plain);
  const digits = () => createHash("sha256").update(tool).digest("hex").slice(0, 6);
  const name = isKept ? plain : `${plain.slice(0, longest - 7)}_${digits()}`;
  taken.add(name);
  return name;
}

/** Returns the text and pictures of an answer, with notes for other content. */
function resultOf({ content, structuredContent, isError }: CallToolResult): unknown {
  if (isError) {
    const text = content.map(textOf).filter(Boolean).join("\n");
    throw mcpError("MCP_TOOL_FAILED", text || "the tool failed without a reason");
  }
  const result = joined(content.map(contentOf));
  if (structuredContent === undefined) return { result };
  return result === "" ? structuredContent : { result, structuredContent };
}
