import { openaiServer } from "../../workflow-agents/test/openai-server.ts";
import type { Reply } from "../../workflow-agents/test/wire.ts";
import type { RunResult } from "../src/entry/api-types.ts";
import { Serving, stopServing } from "./serving.ts";
import { until } from "../../workflow/test/fixtures/until.ts";

export type Message =
  | { type: "start"; runId: string }
  | { type: "log"; entry: RunResult["logs"][number] }
  | { type: "done"; result: RunResult }
  | { type: "error"; message: string };

export type Answer = RunResult & { error?: string; details?: unknown; runId: string };

/** Reads a stream as documented: lines `data: {json}`. Ignores all other lines. */
export async function* messagesOf({ body }: Response): AsyncGenerator<Message> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      if (line.startsWith("data: ")) yield JSON.parse(line.slice(6)) as Message;
      else if (!/^(|:.*|id: .*|retry: \d+)$/.test(line)) throw new Error(`unexpected line ${line}`);
    }
  }
}

type Model = Awaited<ReturnType<typeof openaiServer>>;

/** A server, the model of its graphs, and a client that follows the documentation. */
export class Drawn {
  readonly serving: Serving;
  readonly model: Model;

  private constructor(serving: Serving, model: Model) {
    this.serving = serving;
    this.model = model;
  }

  /** `reply` returns an agent's answer to its system prompt and request. */
  static async start(
    reply: (asked: string) => Reply,
    more: Record<string, string> = {},
    serving = new Serving(),
  ): Promise<Drawn> {
    const model = await openaiServer(({ messages }) =>
      reply(messages.map(({ content }) => textOf(content)).join("\n")),
    );
    serving.more = { OPENAI_API_KEY: model.key, OPENAI_BASE_URL: model.url, ...more };
    await serving.begin();
    return new Drawn(serving, model);
  }

  async stop(): Promise<void> {
    await stopServing();
    await this.model.stop();
  }

  async post(path: string, body: unknown): Promise<{ status: number; body: Answer }> {
    return await this.serving.ask<Answer>(`/api/${path}`, body);
  }

  /** Follows a stream to its end, or until `isLast` accepts a message. */
  async stream(
    path: string,
    body: unknown,
    isLast: (message: Message) => boolean = () => false,
  ): Promise<Message[]> {
    const response = await this.serving.fetch(`/api/${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    return await read(response, isLast);
  }

  /** Follows a run by GET. */
  async follow(runId: string, lastEventId?: string): Promise<Message[]> {
    const headers = lastEventId === undefined ? undefined : { "Last-Event-ID": lastEventId };
    return await read(await this.serving.fetch(`/api/run/${runId}/events`, { headers }));
  }

  async run(runId: string): Promise<RunResult> {
    return await this.serving.ok<RunResult>(`/api/run/${runId}`);
  }

  /** Waits until a run satisfies a condition. */
  async until(runId: string, isSo: (run: RunResult) => boolean): Promise<RunResult> {
    let run = await this.run(runId);
    await until(
      async () => isSo((run = await this.run(runId))),
      () => `${runId} does not match: ${JSON.stringify({ ...run, workflow: null })}`,
    );
    return run;
  }
}

async function read(response: Response, isLast: (message: Message) => boolean = () => false) {
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  const all: Message[] = [];
  for await (const message of messagesOf(response)) {
    all.push(message);
    if (isLast(message)) break;
  }
  return all;
}

const textOf = (content: unknown): string =>
  typeof content === "string" ? content : JSON.stringify(content);

/** Returns the id of the run at the start of a stream. */
export const runIdOf = ([first]: Message[]): string =>
  first?.type === "start" ? first.runId : JSON.stringify(first);

export const resultOf = (messages: Message[]): RunResult => {
  const last = messages.at(-1);
  if (last?.type === "done") return last.result;
  throw new Error(`the last message is ${JSON.stringify(last)}`);
};

export const linesOf = (run: RunResult): string[] =>
  run.logs.map(({ content, nodeId, type }) => `${nodeId} ${type}: ${content}`);

type Node = { id: string; type: string; data?: object };

/** Returns a graph of nodes and connections, each `source target` or `source handle target`. */
export const graphOf = (nodes: Node[], ...connections: string[]) => ({
  nodes: nodes.map((node, n) => ({ x: n * 100, y: 0, ...node })),
  connections: connections.map((line) => {
    const [source, ...rest] = line.split(" ");
    const target = rest.pop();
    return { source, target, ...(rest[0] !== undefined && { sourceHandle: rest[0] }) };
  }),
});

export const start = (initialInput: string) => ({ id: "s", type: "start", data: { initialInput } });
export const agent = (id: string, data: object = {}) => ({
  id,
  type: "agent",
  data: { agentName: id.toUpperCase(), systemPrompt: `you are ${id}`, ...data },
});
export const approval = (id: string) => ({ id, type: "approval", data: { prompt: `${id}?` } });
