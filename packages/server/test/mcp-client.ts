import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import Ajv from "ajv/dist/2020.js";
import { expect } from "bun:test";
import { type McpOptions, mcpHandler } from "../src/mcp/server.ts";
import type { Serving } from "./serving.ts";

/** The result of a tool in the form for programs. */
export type Result = {
  isError: boolean;
  text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- Each tool has its own; the schema is checked.
  data: any;
};

type Fetch = (request: Request) => Promise<Response>;

const opened: { close(): Promise<void> }[] = [];

/** Closes the clients and handlers that {@link clientOf} and {@link handlerOf} opened. */
export async function closeClients(): Promise<void> {
  await Promise.all(opened.splice(0).map((one) => one.close()));
}

/** Returns the requests of a server's tools without a socket, with these options. */
export function handlerOf(serving: Serving, options: Partial<McpOptions> = {}): Fetch {
  const { host, env, folder: cwd } = serving;
  const handler = mcpHandler({ host, env, cwd, version: "test", allowApprove: false, ...options });
  opened.push(handler);
  return (request) => handler.fetch(request, { name: null, role: options.role ?? "operate" });
}

/** A client of the official SDK. `modern` selects the protocol version 2026-07-28 instead of the previous version. */
export class McpClient {
  readonly client: Client;
  readonly #schemas = new Map<string, ReturnType<Ajv["compile"]>>();

  private constructor(client: Client) {
    this.client = client;
  }

  static async connect(
    target: Fetch | Serving,
    { modern = true, name = "tester", token = "" } = {},
  ): Promise<McpClient> {
    const mode = modern ? "auto" : "legacy";
    const client = new Client({ name, version: "1" }, { versionNegotiation: { mode } });
    const transport =
      typeof target === "function"
        ? new StreamableHTTPClientTransport(new URL("http://local/mcp"), {
            fetch: (url, init) => target(new Request(String(url), init)),
          })
        : new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${target.port}/mcp`), {
            requestInit: { headers: { Authorization: `Bearer ${token || target.token}` } },
          });
    await client.connect(transport);
    opened.push(client);
    return new McpClient(client);
  }

  async tools() {
    return (await this.client.listTools()).tools;
  }

  /** Calls a tool. Checks its result, even an error, against the published schema. */
  async call(
    name: string,
    args: Record<string, unknown> = {},
    options: Parameters<Client["callTool"]>[1] = {},
  ): Promise<Result> {
    const called = await this.client.callTool({ name, arguments: args }, options);
    const { structuredContent: data, isError = false, content } = called;
    const [first] = content;
    const fits = await this.#schemaOf(name);
    expect({ name, fits: fits(data), errors: fits.errors ?? null }).toEqual({
      ...{ name, fits: true, errors: null },
    });
    return { isError, data, text: first?.type === "text" ? first.text : "" };
  }

  /** Returns the structured content of a call. Throws for an error. */
  async ok(name: string, args: Record<string, unknown> = {}): Promise<Result["data"]> {
    const { isError, text, data } = await this.call(name, args);
    if (isError) throw new Error(`${name}: ${text}`);
    return data;
  }

  /** Returns the error code of a failed call, or the text of a successful call. */
  async code(name: string, args: Record<string, unknown> = {}): Promise<string> {
    const { isError, text, data } = await this.call(name, args);
    return isError ? data.error.code : `no error: ${text}`;
  }

  async #schemaOf(name: string) {
    if (this.#schemas.size === 0) {
      const ajv = new Ajv({ strict: false });
      for (const { name: each, outputSchema = {} } of await this.tools())
        this.#schemas.set(each, ajv.compile(outputSchema));
    }
    const schema = this.#schemas.get(name);
    if (!schema) throw new Error(`missing tool ${name}`);
    return schema;
  }
}
