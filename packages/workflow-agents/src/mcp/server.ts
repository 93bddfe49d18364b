import { AsyncLocalStorage } from "node:async_hooks";
import {
  type CallToolResult,
  Client,
  type Progress,
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  StreamableHTTPClientTransport,
  type Tool,
  type Transport,
  UnauthorizedError,
  type VersionNegotiationOptions,
} from "@modelcontextprotocol/client";
import { maskOf, truncated } from "@uncaged/workflow/interpreter";
import { isWorkflowError, type WorkflowError } from "@uncaged/workflow";
import { allowed } from "../child/request.ts";
import { Lines } from "../child/output.ts";
import { oneLine } from "../run/error.ts";
import { publish } from "../run/run.ts";
import type { ToolContext, ToolExecution } from "../tools/tools.ts";
import { Exchange, lostAnswer } from "./exchange.ts";
import { tolerantFetch } from "./http.ts";
import type { Address, McpOptions } from "./options.ts";
import { ServerProcess } from "./process.ts";
import { crashedAgain, mcpError } from "./errors.ts";

const connectMs = 30_000;
/** Timeout for a program's answer to the version request. After the timeout, the client uses the older handshake. */
const probeMs = 3000;
const idleMs = 5 * 60_000;
const longestMs = 2 ** 31 - 1;

/** The server of one thread. Connects on demand, and connects again after an exit. */
export class ThreadServer {
  readonly #options: McpOptions;
  readonly #context: ToolContext;
  /** The tools, kept across connections. */
  #tools: Tool[] | null = null;
  #client: Client | null = null;
  #opened: Promise<Client> | null = null;
  #mask: (text: string) => string = (text) => text;
  #lastLine = "";
  #hasResources = false;
  #running = 0;
  /** The number of exits of the program since its last answer. */
  #deaths = 0;
  #idle: ReturnType<typeof setTimeout> | undefined;
  // The error output belongs to the attempt that used the server last.
  #inAttempt = AsyncLocalStorage.snapshot();

  constructor(options: McpOptions, context: ToolContext) {
    this.#options = options;
    this.#context = context;
    context.signal.addEventListener("abort", () => this.#close(), { once: true });
  }

  /**
   * Returns the server's tools.
   * @throws WorkflowError `MCP_UNREACHABLE`, `MCP_REFUSED`; the signal's reason.
   */
  async tools(): Promise<Tool[]> {
    if (!this.#tools) await this.#connected();
    return this.#tools ?? [];
  }

  /** Whether the server has resources. False before the first connection. */
  get hasResources(): boolean {
    return this.#hasResources;
  }

  /**
   * Calls a tool.
   * @throws WorkflowError `MCP_UNREACHABLE`, `MCP_DIED`, `MCP_TOOL_FAILED`, `MCP_REFUSED`.
   */
  call(name: string, input: object, execution: ToolExecution): Promise<CallToolResult> {
    const what = { running: `its tool ${name} ran`, failed: "MCP_TOOL_FAILED" };
    const onprogress = ({ progress, total, message }: Progress) => {
      const text = message ?? `${progress}${total ? ` of ${total}` : ""}`;
      execution.progress(text, { progress, total });
    };
    return this.ask(what, execution.signal, (client, limits) =>
      client.callTool({ name, arguments: { ...input } }, { ...limits, onprogress }),
    );
  }

  /**
   * Sends requests. `running` describes the requests in the error for an exit of the server. `failed` is the error code
   * if the server refuses a request.
   *
   * @throws WorkflowError `MCP_UNREACHABLE`, `MCP_DIED`, `MCP_REFUSED`, `failed`.
   */
  async ask<T>(
    { running, failed }: { running: string; failed: string },
    signal: AbortSignal,
    send: (client: Client, limits: { signal: AbortSignal; timeout: number }) => Promise<T>,
  ): Promise<T> {
    let client = await this.#connected();
    this.#inAttempt = AsyncLocalStorage.snapshot();
    clearTimeout(this.#idle);
    this.#running += 1;
    const limits = { signal, timeout: longestMs };
    try {
      const answer = await send(client, limits).catch(async (error) => {
        if (signal.aborted || !isSessionGone(error, client.transport)) throw error;
        // The server lost the session, for example in a restart, so the request did not run.
        this.#forget(client);
        client = await this.#connected();
        return await send(client, limits);
      });
      this.#deaths = 0;
      return answer;
    } catch (error) {
      signal.throwIfAborted();
      if (isWorkflowError(error)) throw error;
      if (error instanceof ProtocolError && error.code === lostAnswer) {
        throw this.#problem(error, "MCP_DIED", `did not answer while ${running}`);
      }
      if (error instanceof ProtocolError || isAnswered(error)) {
        throw mcpError(failed, this.#mask(wordsOf(error)), error);
      }
      if (error instanceof SdkHttpError) throw this.#refusal(error, running);
      this.#lose(client);
      await client.close().catch(() => undefined);
      throw this.#problem(error, "MCP_DIED", `died while ${running}`);
    } finally {
      this.#running -= 1;
      this.#rest();
    }
  }

  /** Returns the error for a response with a failure status, from the server or a proxy. The server has not exited. */
  #refusal(error: SdkHttpError, running: string): WorkflowError {
    const isBusy = error.status === 429 || error.status === 503;
    const code = isBusy ? "MCP_BUSY" : "MCP_UNAVAILABLE";
    return this.#problem(error, code, `answered ${error.status} while ${running}`);
  }

  async #connected(): Promise<Client> {
    this.#context.signal.throwIfAborted();
    if (!this.#client && this.#deaths > 1) {
      throw crashedAgain(this.#options.name);
    }
    const opened = (this.#opened ??= this.#open());
    try {
      return await opened;
    } catch (error) {
      if (this.#opened === opened) this.#opened = null;
      throw error;
    }
  }

  /**
   * Connects. A program with an older protocol may exit at a version request. The program is then started again without
   * the request.
   */
  async #open(): Promise<Client> {
    try {
      return await this.#connect({ mode: "auto", probe: { timeoutMs: probeMs } });
    } catch (error) {
      if (!("command" in this.#options) || !isUnversioned(error)) throw this.#unreachable(error);
    }
    return this.#connect({ mode: "legacy" }).catch((error) => {
      throw this.#unreachable(error);
    });
  }

  async #connect(versionNegotiation: VersionNegotiationOptions): Promise<Client> {
    const { signal } = this.#context;
    const onChanged = (_: unknown, tools: Tool[] | null) => (this.#tools = tools ?? this.#tools);
    const client = new Client(
      { name: "uncaged-workflow", version: "0.1.0" },
      { versionNegotiation, listChanged: { tools: { onChanged } } },
    );
    Object.assign(client, {
      onclose: () => this.#lose(client),
      fallbackRequestHandler: ({ method }: { method: string }) => this.#refuse(method),
    });
    this.#client = client;
    this.#lastLine = "";
    this.#inAttempt = AsyncLocalStorage.snapshot();
    try {
      const limits = { timeout: connectMs, signal };
      await client.connect(this.#transport(this.#options), limits);
      const { tools, resources } = client.getServerCapabilities() ?? {};
      this.#hasResources = resources !== undefined;
      this.#tools = tools ? await toolsOf(client, limits) : [];
      this.#rest();
      return client;
    } catch (error) {
      this.#close(client);
      signal.throwIfAborted();
      throw error;
    }
  }

  /** Opens the transport to the server. From then on, the server's secrets are masked in its output and its errors. */
  #transport(address: Address): Transport {
    const { cwd, env } = this.#context;
    const exchange = new Exchange((problem) =>
      this.#report("warn", `the server ${oneLine(this.#mask(problem), 500)}`),
    );
    if ("command" in address) {
      const { command, args = [], env: list = [] } = address;
      const own = allowed(env, list);
      this.#mask = maskOf(own);
      const lines = new Lines(64 * 1024, (line) => this.#note(line));
      const program = { argv: [command, ...args], env: own, cwd };
      return new ServerProcess(program, exchange, (chunk) => lines.add(chunk));
    }
    const { url, headers: given = {} } = address;
    const headers = typeof given === "function" ? given(env) : given;
    const secrets = Object.entries(headers).flatMap(([name, value]) => [
      [`${name}_AUTH`, value],
      [`${name}_2_AUTH`, value.replace(/^\w+ +/, "")],
    ]);
    this.#mask = maskOf(Object.fromEntries(secrets) as Record<string, string>);
    const fetch = tolerantFetch(exchange);
    return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers }, fetch });
  }

  /** Refuses a server's request to its client. */
  #refuse(method: string): never {
    const known = Object.hasOwn(refusals, method) ? refusals[method] : undefined;
    const reason = known ?? "threads do not answer requests of servers";
    this.#report("warn", `the server asked for ${method}, which is refused: ${reason}`);
    throw new ProtocolError(ProtocolErrorCode.MethodNotFound, `${method} is refused: ${reason}`);
  }

  /** Handles a lost connection. For a program, counts the exit, because a program is started again only once. */
  #lose(client: Client): void {
    if (this.#client === client && "command" in this.#options) this.#deaths += 1;
    this.#forget(client);
  }

  #forget(client: Client): void {
    if (this.#client !== client) return;
    this.#client = null;
    this.#opened = null;
    clearTimeout(this.#idle);
  }

  /** Ends the server's process or session. */
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
    this.#report("info", truncated(this.#lastLine));
  }

  #report(level: "info" | "warn", message: unknown): void {
    const event = { name: this.#options.name, level, message, data: null };
    this.#inAttempt(() => publish("tool_message", event));
  }

  #unreachable(error: unknown): unknown {
    if (this.#context.signal.aborted) return error;
    return this.#problem(error, "MCP_UNREACHABLE", "can't be reached");
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

// The reasons for refusing requests, by method.
const refusals: Record<string, string> = {
  "sampling/createMessage":
    "a server must not call a model outside of the thread's budget and records",
  "elicitation/create": "threads are not interactive: pass the data as the tool's input",
  "roots/list": "pass folders in the arguments of the server's command",
};

/** Errors of a running server that does not support a request, or whose answer is unreadable. */
const answered = new Set<unknown>([
  SdkErrorCode.CapabilityNotSupported,
  SdkErrorCode.MethodNotSupportedByProtocolVersion,
  SdkErrorCode.InvalidResult,
  SdkErrorCode.UnsupportedResultType,
]);

const isAnswered = (error: unknown): boolean =>
  error instanceof SdkError && answered.has(error.code);

/** Returns whether a server refused a request because the session is unknown, so that the request did not run. */
const isSessionGone = (error: unknown, transport: Transport | undefined): boolean =>
  error instanceof SdkHttpError &&
  transport?.sessionId !== undefined &&
  (error.status === 404 || (error.status === 400 && /session/i.test(error.message)));

/** Returns the tools of a server. The list is empty if the server does not support the method. */
async function toolsOf(
  client: Client,
  limits: { timeout: number; signal: AbortSignal },
): Promise<Tool[]> {
  try {
    return (await client.listTools(undefined, limits)).tools;
  } catch (error) {
    const methodNotFound: number = ProtocolErrorCode.MethodNotFound;
    const isUnknown = error instanceof ProtocolError && error.code === methodNotFound;
    if (isUnknown) return [];
    throw error;
  }
}

/** Returns whether the version request was not answered, for example because the program exited. */
const isUnversioned = (error: unknown): boolean =>
  error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed;

function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return oneLine(String(error), 500);
  const { message, cause } = error;
  const deeper = cause instanceof Error && !message.includes(cause.message) ? cause.message : "";
  return oneLine([message, deeper].filter(Boolean).join(": "), 500);
}
