import { AsyncLocalStorage } from "node:async_hooks";
import {
  type CallToolResult,
  Client,
  ProtocolError,
  SdkHttpError,
  StreamableHTTPClientTransport,
  type Tool,
  type Transport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { maskOf, truncated, type WorkflowError } from "@uncaged/workflow";
import { allowed } from "../child/request.ts";
import { Lines } from "../child/output.ts";
import { failure, oneLine } from "../run/error.ts";
import { publish } from "../run/run.ts";
import type { ToolContext, ToolExecution } from "../tools/tools.ts";
import type { Address, McpOptions } from "./options.ts";
import { ServerProcess } from "./process.ts";

const connectMs = 30_000;
const probeMs = 3000;
const idleMs = 5 * 60_000;
const longestMs = 2 ** 31 - 1;

/** A server as one thread uses it: connected when it is needed, and again after it died. */
export class ThreadServer {
  readonly #options: McpOptions;
  readonly #context: ToolContext;
  /** The list outlives a connection. */
  #tools: Tool[] | null = null;
  #client: Client | null = null;
  #opened: Promise<Client> | null = null;
  #mask: (text: string) => string = (text) => text;
  #lastLine = "";
  #running = 0;
  #idle: ReturnType<typeof setTimeout> | undefined;
  // The error output of the server belongs to the attempt that used it last.
  #inAttempt = AsyncLocalStorage.snapshot();

  constructor(options: McpOptions, context: ToolContext) {
    this.#options = options;
    this.#context = context;
    context.signal.addEventListener("abort", () => this.#close(), { once: true });
  }

  /** @throws WorkflowError `MCP_UNREACHABLE`, `MCP_REFUSED`; the signal's reason. */
  async tools(): Promise<Tool[]> {
    if (!this.#tools) await this.#connected();
    return this.#tools ?? [];
  }

  /** @throws WorkflowError `MCP_UNREACHABLE`, `MCP_DIED`, `MCP_TOOL_FAILED`, `MCP_REFUSED`. */
  async call(name: string, input: object, execution: ToolExecution): Promise<CallToolResult> {
    const client = await this.#connected();
    this.#inAttempt = AsyncLocalStorage.snapshot();
    clearTimeout(this.#idle);
    this.#running += 1;
    try {
      return await client.callTool(
        { name, arguments: { ...input } },
        {
          signal: execution.signal,
          timeout: longestMs,
          onprogress({ progress, total, message }) {
            const text = message ?? `${progress}${total ? ` of ${total}` : ""}`;
            execution.progress(text, { progress, total });
          },
        },
      );
    } catch (error) {
      execution.signal.throwIfAborted();
      if (error instanceof ProtocolError) {
        throw mcpError("MCP_TOOL_FAILED", this.#mask(wordsOf(error)), error);
      }
      this.#close(client);
      throw this.#problem(error, "MCP_DIED", `died while its tool ${name} ran`);
    } finally {
      this.#running -= 1;
      this.#rest();
    }
  }

  async #connected(): Promise<Client> {
    this.#context.signal.throwIfAborted();
    const opened = (this.#opened ??= this.#open());
    try {
      return await opened;
    } catch (error) {
      if (this.#opened === opened) this.#opened = null;
      throw error;
    }
  }

  async #open(): Promise<Client> {
    const { signal } = this.#context;
    const onChanged = (_: unknown, tools: Tool[] | null) => (this.#tools = tools ?? this.#tools);
    const client = new Client(
      { name: "uncaged-workflow", version: "0.1.0" },
      {
        versionNegotiation: { mode: "auto", probe: { timeoutMs: probeMs } },
        listChanged: { tools: { onChanged } },
      },
    );
    Object.assign(client, { onclose: () => this.#forget(client) });
    this.#client = client;
    this.#lastLine = "";
    this.#inAttempt = AsyncLocalStorage.snapshot();
    try {
      const limits = { timeout: connectMs, signal };
      await client.connect(this.#transport(this.#options), limits);
      this.#tools = (await client.listTools(undefined, limits)).tools;
      this.#rest();
      return client;
    } catch (error) {
      this.#close(client);
      signal.throwIfAborted();
      throw this.#problem(error, "MCP_UNREACHABLE", "can't be reached");
    }
  }

  /** The way to the server; from then on the secrets that it gets are masked in what it sends. */
  #transport(address: Address): Transport {
    const { cwd, env } = this.#context;
    if ("command" in address) {
      const { command, args = [], env: list = [] } = address;
      const own = allowed(env, list);
      this.#mask = maskOf(own);
      const lines = new Lines(64 * 1024, (line) => this.#note(line));
      const program = { argv: [command, ...args], env: own, cwd };
      return new ServerProcess(program, (chunk) => lines.add(chunk));
    }
    const { url, headers: given = {} } = address;
    const headers = typeof given === "function" ? given(env) : given;
    const secrets = Object.entries(headers).flatMap(([name, value]) => [
      [`${name}_AUTH`, value],
      [`${name}_2_AUTH`, value.replace(/^\w+ +/, "")],
    ]);
    this.#mask = maskOf(Object.fromEntries(secrets) as Record<string, string>);
    return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  }

  #forget(client: Client): void {
    if (this.#client !== client) return;
    this.#client = null;
    this.#opened = null;
    clearTimeout(this.#idle);
  }

  /** Ends the server's process, or the session: asked first, then by force. */
  #close(client = this.#client): void {
    if (!client) return;
    this.#forget(client);
    void client.close().catch(() => undefined);
  }

  #rest(): void {
    if (this.#running > 0 || !this.#client) return;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#close(), idleMs);
    this.#idle.unref();
  }

  #note(line: string): void {
    if (line.trim() === "") return;
    this.#lastLine = this.#mask(line);
    const message = truncated(this.#lastLine);
    const event = { name: this.#options.name, level: "info", message, data: null };
    this.#inAttempt(() => publish("tool_message", event));
  }

  #problem(error: unknown, otherwise: string, what: string): WorkflowError {
    const isRefused =
      error instanceof UnauthorizedError ||
      (error instanceof SdkHttpError && (error.status === 401 || error.status === 403));
    const [code, problem] = isRefused
      ? ["MCP_REFUSED", "does not accept the key"]
      : [otherwise, what];
    const last = this.#lastLine && ` (its last line: ${this.#lastLine.slice(0, 300)})`;
    const words = this.#mask(wordsOf(error));
    const message = `the MCP server ${this.#options.name} ${problem}: ${words}${last}`;
    return mcpError(code, message, error);
  }
}

const hints: Record<string, string> = {
  MCP_UNREACHABLE:
    "check the server's command or URL, and what it needs in the thread's environment",
  MCP_DIED: "call it again if that does no harm: the server is then started again",
  MCP_REFUSED: "check the key in the thread's environment that the server's headers are made of",
};

export const mcpError = (code: string, message: string, cause?: unknown): WorkflowError =>
  failure(code, message, hints[code], { cause });

function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return oneLine(String(error), 500);
  const { message, cause } = error;
  const deeper = cause instanceof Error && !message.includes(cause.message) ? cause.message : "";
  return oneLine([message, deeper].filter(Boolean).join(": "), 500);
}
