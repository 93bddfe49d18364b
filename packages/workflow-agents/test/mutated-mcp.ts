import { expect } from "bun:test";
import { join } from "node:path";
import { isWorkflowError } from "@uncaged/workflow";
import { until } from "../../workflow/test/fixtures/until.ts";
import { mcpTools } from "../src/mcp/mcp.ts";
import { toolRegistry } from "../src/tools/registry.ts";
import { garbled, mutated, oneOf, randomOf } from "./random-mutations.ts";

/*
 * Records an MCP server of the official SDK, and replays its answers with changes. A call then yields an answer or a
 * readable error before its timeout.
 */

type Json = Record<string, unknown>;
type Recorded = { headers: Record<string, string>; messages: Json[] };

const key = "key-0123456789";
const secretHeaders = { authorization: `Bearer ${key}` };
const notKnown = { code: -32601, message: "not known" };

/**
 * Replays recorded answers by request method. A modern server supports the protocol of 2026, other servers only older
 * protocols.
 */
export class RecordedMcp {
  readonly #recorded = new Map<string, Recorded>();
  readonly #isModern: boolean;
  #server: ReturnType<typeof Bun.serve> | undefined;
  #change: ((messages: Json[], method: string) => unknown[]) | null = null;
  #isStream = false;

  constructor(isModern: boolean) {
    this.#isModern = isModern;
  }

  async record(): Promise<void> {
    const program = join(import.meta.dir, "mcp/server.ts");
    const server = Bun.spawn([process.execPath, program, "http"], { stdout: "pipe" });
    try {
      let said = "";
      const reader = server.stdout.getReader();
      await until(async () => {
        said += new TextDecoder().decode((await reader.read()).value);
        return said.includes("\n");
      });
      const target = said.trim();
      this.#server = Bun.serve({
        ...{ hostname: "127.0.0.1", port: 0 },
        fetch: (request) => this.#fetch(request, target),
      });
      expect(await this.#ask()).toContain("two things");
    } finally {
      server.kill("SIGKILL");
      await server.exited;
    }
  }

  async stop(): Promise<void> {
    await this.#server?.stop(true);
  }

  /** Replays the answers with the changes of a seed. Expects an answer or a readable error. */
  async tryMutation(seed: number): Promise<void> {
    const random = randomOf(seed);
    const target = oneOf([...this.#recorded.keys(), "tools/call", "tools/call"], random);
    let what = "";
    let shown = "";
    this.#isStream = random() < 0.5;
    this.#change = (messages, method) => {
      if (method !== target) return messages;
      const result = mutated(messages, random);
      what ||= result.what;
      const answers = result.sent
        .flat(2)
        .filter((one) => Object(one) === one && "result" in Object(one));
      shown ||= answers.length === 1 ? JSON.stringify(answers) : "";
      return result.sent;
    };
    const content = await this.#ask();
    const name = `seed ${seed}: ${target}, ${what}`;
    expect({ name, odd: garbled.exec(content)?.[0] }).toEqual({ name, odd: undefined });
    expect({ name, isEmpty: content.trim() === "" }).toEqual({ name, isEmpty: false });
    expect({ name, isLate: /was stopped after/.test(content) }).toEqual({ name, isLate: false });
    const isThere = target === "tools/call" && shown.includes('two things"');
    if (isThere)
      expect({ name, content }).toMatchObject({ content: expect.stringContaining("two things") });
  }

  async #ask(): Promise<string> {
    const abort = new AbortController();
    const context = { signal: abort.signal, cwd: "/", env: {} };
    const url = `http://127.0.0.1:${this.#server?.port}/mcp`;
    const source = mcpTools({ name: "sums", url, headers: secretHeaders });
    const registry = toolRegistry([source], { timeoutMs: 20_000 });
    try {
      await registry.definitions(context);
      const { content } = await registry.run("sums__mixed", {}, context);
      return content;
    } catch (error) {
      expect(isWorkflowError(error)).toBe(true);
      return (error as Error).message;
    } finally {
      abort.abort();
    }
  }

  async #fetch(request: Request, target: string): Promise<Response> {
    if (request.method !== "POST") return new Response("", { status: 405 });
    const message = (await request.json()) as Json;
    const { id, method } = message as { id?: number; method: string };
    if (id === undefined) return new Response(null, { status: 202 });
    const isOld = method === "server/discover" && !this.#isModern;
    const isUnknown = this.#change !== null && !this.#recorded.has(method);
    if (isOld || isUnknown || method === "subscriptions/listen") {
      return Response.json({ jsonrpc: "2.0", id, error: notKnown });
    }
    const known = this.#recorded.get(method) ?? (await this.#forward(message, request, target));
    const { headers, messages } = known;
    const own = messages.map((one) => ("id" in one ? { ...one, id } : one));
    const sent = this.#change?.(own, method) ?? own;
    if (!this.#isStream) return Response.json(sent.length === 1 ? sent[0] : sent, { headers });
    const body = sent.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("");
    return new Response(body, { headers: { ...headers, "content-type": "text/event-stream" } });
  }

  async #forward(message: Json, request: Request, target: string): Promise<Recorded> {
    const headers = new Headers(request.headers);
    for (const name of ["host", "connection", "content-length"]) headers.delete(name);
    const response = await fetch(target, {
      method: "POST",
      headers,
      body: JSON.stringify(message),
    });
    const text = await response.text();
    const texts = text.startsWith("{")
      ? [text]
      : [...text.matchAll(/^data: (.+)$/gm)].map(([, data = ""]) => data);
    const session = response.headers.get("mcp-session-id");
    const known = {
      headers: { ...(session !== null && { "mcp-session-id": session }) },
      messages: texts.map((one) => JSON.parse(one) as Json),
    };
    this.#recorded.set(String(message.method), known);
    return known;
  }
}
