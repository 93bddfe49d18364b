import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { isWorkflowError } from "@uncaged/workflow";
import { z } from "zod";
import { toolRegistry } from "../src/tools/registry.ts";
import { tool } from "../src/tools/tools.ts";
import { allModels, type Model, threadAt } from "./models.ts";
import { bodyOf, mutatedStream, type MutatedStream } from "./mutations.ts";
import { observed } from "./published.ts";
import type { Reply } from "./wire.ts";

export type Event = { name: string; data: unknown };
export const key = "sk-test-0123456789abcdef";
export const garbled =
  /\[object |undefined|\bNaN\b|TypeError|answer that is not? JSON|is not a|Cannot read|can't access/;

/** Returns the events of a stream, except for events without JSON data, such as `[DONE]`. */
export const eventsIn = (stream: string): Event[] =>
  stream.split("\n\n").flatMap((text) => {
    const name = /^event: (.*)$/m.exec(text)?.[1] ?? "";
    const data = /^data: (\{.*)$/m.exec(text)?.[1];
    return data === undefined ? [] : [{ name, data: JSON.parse(data) as unknown }];
  });

const look = (inputs: unknown[] = []) =>
  tool({
    ...{ name: "look", description: "Looks.", input: z.looseObject({}) },
    execute: async (input) => void inputs.push(input),
  });

/** Records the streams that an agent gets from a scripted server. */
export async function recordedOf(model: Model, script: Reply[]): Promise<string[]> {
  const server = await model.serve(script);
  const streams: string[] = [];
  const between = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const to = new URL(server.url).origin + pathname + search;
      const { headers, method } = request;
      const response = await fetch(to, { method, headers, body: await request.text() });
      streams.push(await response.text());
      return new Response(streams.at(-1), response);
    },
  });
  try {
    const agent = model.agent({ maxRetries: 0, tools: toolRegistry([look()]) });
    const url = server.url.replace(new URL(server.url).host, `127.0.0.1:${between.port}`);
    const { error } = await observed(() => agent(threadAt(model, { url, key }), "You look"));
    expect(error).toBeNull();
    return streams;
  } finally {
    await between.stop(true);
    await server.stop();
  }
}

const aside = "I look first. ";
const last = "the answer of the model to all of it";
const scripts: Record<string, Reply[]> = {
  text: [{ thinking: "let me see", text: last }],
  "tool calls": [
    {
      text: aside,
      tools: [
        { name: "look", input: { at: "here", n: 2 } },
        { name: "look", input: { at: "there" } },
      ],
    },
    { text: last },
  ],
};

/** Matches the paths of fields that do not affect the answer. */
const idle =
  /(^|\.)(usage|model|created|object|logprobs|sequence_number|role|stop_sequence|item_id|service_tier|annotations)(\.|$)/;

/**
 * Tests mutations of recorded streams, by seed. The result is the answer, or a readable error that is marked as
 * retryable or not. Mutations of unused fields must not change the answer.
 */
export function testMutations(seeds: number): void {
  describe.each(allModels)("a stream of $name", (model) => {
    test.each(Object.entries(scripts))("with %s", async (_, script) => {
      const recorded = (await recordedOf(model, script)).map(eventsIn);
      const wrong: unknown[] = [];
      let answered = 0;
      for (let seed = 1; seed <= seeds; seed += 1) {
        const turn = seed % recorded.length;
        const mutated = mutatedStream(recorded[turn] ?? [], seed);
        const problem = await problemOf(model, recorded, turn, mutated);
        if (problem === null) answered += 1;
        else if (problem !== "refused") wrong.push({ seed, names: mutated.names, problem });
      }
      expect(wrong).toEqual([]);
      expect(answered).toBeGreaterThan(seeds / 4);
    });
  });
}

function isMadeOf(text: string, whole: string): boolean {
  let at = 0;
  for (const letter of whole) if (letter === text[at]) at += 1;
  return at === text.length;
}

let streams: (() => ReadableStream<Uint8Array>)[] = [];
let asked = 0;
let server: ReturnType<typeof Bun.serve> | null = null;
beforeAll(() => {
  server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => {
      const stream = streams[asked++] ?? streams.at(-1);
      return new Response(stream?.(), { headers: { "content-type": "text/event-stream" } });
    },
  });
});
afterAll(() => server?.stop(true));

const plain = { lineEnd: "\n", isNamed: true, hasDone: true, chunk: 0 } as const;

/** Returns null for an acceptable answer, "refused" for an acceptable error, and otherwise the problem. */
async function problemOf(
  model: Model,
  recorded: Event[][],
  turn: number,
  { names, events, wire }: MutatedStream,
): Promise<unknown> {
  streams = recorded.map(
    (each, at) => () => bodyOf(at === turn ? { events, wire } : { events: each, wire: plain }),
  );
  asked = 0;
  const inputs: unknown[] = [];
  const agent = model.agent({ maxRetries: 0, tools: toolRegistry([look(inputs)]), maxTurns: 4 });
  const thread = threadAt(model, { url: `http://127.0.0.1:${server?.port}`, key });
  const { error, events: published, spent, text } = await observed(() => agent(thread, "You look"));
  const isLast = turn === recorded.length - 1;
  if (isLast && text === aside.trim()) return { aside: text };
  const said = error instanceof Error ? error.message : "";
  const seen = JSON.stringify([text, inputs, published.map(({ payload }) => payload)]);
  const odd = garbled.exec(seen + said)?.[0];
  if (odd !== undefined) return { odd, said };
  const counts = spent.flatMap(({ usage }) => Object.values(usage));
  if (counts.some((count) => !Number.isSafeInteger(count) || count < 0)) return { counts };
  const [first = "", ...more] = names;
  const isIdle = (name: string) =>
    name.startsWith("written as") || idle.test(/ at (\S+) of event/.exec(name)?.[1] ?? "");
  const isHarmless = names.every(isIdle) || (more.length === 0 && first.endsWith("split"));
  if (isHarmless) return error === null && text === last ? null : { isHarmless, said, text };
  if (error === null) {
    if (text.trim() === "") return { text };
    // A client can't distinguish doubled or reordered parts from a model's own text.
    if (names.some((name) => /doubled|moved|split/.test(name))) return null;
    // If the only change cuts the stream off, a part of the answer must not pass for the answer.
    const isCut = more.length === 0 && first.startsWith("cut");
    return text === last || (!isCut && isMadeOf(text, last)) ? null : { text };
  }
  const isClear = isWorkflowError(error) && "retryable" in error && said.length > 10;
  return isClear && !said.includes("\n") ? "refused" : { error };
}
