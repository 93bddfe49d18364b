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
import { allowed } from "../child/child.ts";
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

type Listener = { onTools: (tools: Tool[]) => void; onClose: () => void };

/** A live connection to a server, and the tools that it had when it was opened. */
export class Connection {
  readonly tools: Tool[] = [];
  readonly #name: string;
  readonly #client: Client;
  readonly #listener: Listener;
  readonly #signal: AbortSignal;
  #mask: (text: string) => string = (text) => text;
  #last = "";
  #isClosed = false;
  #running = 0;
  #idle: ReturnType<typeof setTimeout> | undefined;
  // The error output of the server belongs to the attempt that used it last.
  #inAttempt = AsyncLocalStorage.snapshot();

  private constructor(name: string, signal: AbortSignal, listener: Listener) {
    this.#name = name;
    this.#signal = signal;
    this.#listener = listener;
    const onChanged = (_: unknown, tools: Tool[] | null) => tools && listener.onTools(tools);
    this.#client = new Client(
      { name: "uncaged-workflow", version: "0.1.0" },
      {
        versionNegotiation: { mode: "auto", probe: { timeoutMs: probeMs } },
        listChanged: { tools: { onChanged } },
      },
    );
    Object.assign(this.#client, { onclose: () => this.#closed() });
  }

  /** @throws WorkflowError `MCP_UNREACHABLE`, `MCP_REFUSED`; the signal's reason. */
  static async open(
    options: McpOptions,
    context: ToolContext,
    listener: Listener,
  ): Promise<Connection> {
    const connection = new Connection(options.name, context.signal, listener);
    await connection.#open(options, context);
    return connection;
  }

  async #open(options: McpOptions, context: ToolContext): Promise<void> {
    const lines = new Lines(
      64 * 1024,
      (line) => this.#note(line),
      () => undefined,
    );
    this.#signal.addEventListener("abort", this.#abort);
    try {
      const { transport, mask } = transportTo(options, context, (chunk) => lines.add(chunk));
      this.#mask = mask;
      const limits = { timeout: connectMs, signal: this.#signal };
      await this.#client.connect(transport, limits);
      const { tools } = await this.#client.listTools(undefined, limits);
      this.tools.push(...tools);
      this.#rest();
    } catch (error) {
      this.close();
      this.#signal.throwIfAborted();
      if (isRefusal(error)) throw this.#problem("MCP_REFUSED", "does not accept the key", error);
      throw this.#problem("MCP_UNREACHABLE", "can't be reached", error);
    }
  }

  /** @throws WorkflowError `MCP_DIED`, `MCP_TOOL_FAILED`, `MCP_REFUSED`. */
  async call(
    name: string,
    input: Record<string, unknown>,
    runtime: ToolExecution,
  ): Promise<CallToolResult> {
    this.#inAttempt = AsyncLocalStorage.snapshot();
    clearTimeout(this.#idle);
    this.#running += 1;
    try {
      return await this.#client.callTool(
        { name, arguments: input },
        {
          signal: runtime.signal,
          timeout: longestMs,
          onprogress: ({ progress, total, message }) =>
            runtime.progress(message ?? `${progress}${total ? ` of ${total}` : ""}`, {
              progress,
              total,
            }),
        },
      );
    } catch (error) {
      runtime.signal.throwIfAborted();
      if (error instanceof ProtocolError)
        throw mcpError("MCP_TOOL_FAILED", this.#mask(wordsOf(error)), error);
      this.close();
      if (isRefusal(error)) throw this.#problem("MCP_REFUSED", "does not accept the key", error);
      throw this.#problem("MCP_DIED", `died while its tool ${name} ran`, error);
    } finally {
      this.#running -= 1;
      if (this.#running === 0 && !this.#isClosed) this.#rest();
    }
  }

  /** Ends the server's process, or the session: asked first, then by force. */
  close(): void {
    this.#closed();
    void this.#client.close().catch(() => undefined);
  }

  readonly #abort = (): void => this.close();

  #closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#idle);
    this.#signal.removeEventListener("abort", this.#abort);
    this.#listener.onClose();
  }

  #rest(): void {
    this.#idle = setTimeout(() => this.close(), idleMs);
    this.#idle.unref();
  }

  #note(line: string): void {
    if (line.trim() === "") return;
    const message = this.#mask(line);
    this.#last = message;
    const event = { name: this.#name, level: "info", message: truncated(message), data: null };
    this.#inAttempt(() => publish("tool_message", event));
  }

  #problem(code: string, what: string, error: unknown) {
    const words = this.#mask(wordsOf(error));
    const last = this.#last === "" ? "" : ` (its last line: ${this.#last.slice(0, 300)})`;
    return mcpError(code, `the MCP server ${this.#name} ${what}: ${words}${last}`, error);
  }
}

const isRefusal = (error: unknown): boolean =>
  error instanceof UnauthorizedError ||
  (error instanceof SdkHttpError && (error.status === 401 || error.status === 403));

/** `mask` masks the secrets that the server was given in what it sends. */
function transportTo(
  address: Address,
  { cwd, env }: ToolContext,
  onErrorOutput: (chunk: Uint8Array) => void,
): { transport: Transport; mask: (text: string) => string } {
  if ("command" in address) {
    const { command, args = [], env: list = [] } = address;
    const own = allowed(env, list);
    const transport = new ServerProcess({ argv: [command, ...args], env: own, cwd }, onErrorOutput);
    return { transport, mask: maskOf(own) };
  }
  const { url, headers = {} } = address;
  const own = typeof headers === "function" ? headers(env) : headers;
  const secrets = Object.entries(own).map(([name, value]) => [`${name}_AUTH`, value]);
  const tokens = secrets.map(([name, value = ""]) => [`${name}_2`, value.replace(/^\w+ +/, "")]);
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: own },
  });
  return { transport, mask: maskOf(Object.fromEntries([...secrets, ...tokens])) };
}

const hints: Record<string, string> = {
  MCP_UNREACHABLE:
    "check the server's command or URL, and what it needs in the thread's environment",
  MCP_DIED: "call it again if that does no harm: the server is then started again",
  MCP_REFUSED: "check the key in the thread's environment that the server's headers are made of",
};

/** An error of an MCP server. */
export const mcpError = (code: string, message: string, cause?: unknown): WorkflowError =>
  failure(code, message, hints[code], { cause });

/** The message of whatever the protocol's client threw, on a line. */
function wordsOf(error: unknown): string {
  const { message, cause } =
    error instanceof Error ? error : { message: String(error), cause: null };
  const deeper = cause instanceof Error && !message.includes(cause.message) ? cause.message : "";
  return oneLine([message, deeper].filter(Boolean).join(": "), 500);
}
