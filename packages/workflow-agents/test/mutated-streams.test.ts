import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { isWorkflowError } from "@uncaged/workflow";
import { z } from "zod";
import { some } from "../../workflow/test/fixtures/cases.ts";
import { toolRegistry } from "../src/tools/registry.ts";
import { tool } from "../src/tools/tools.ts";
import { allModels, threadAt } from "./models.ts";
import { mutationsOf } from "./mutations.ts";
import { observed } from "./published.ts";
import { type Event, eventsIn, garbled, key, recordedOf } from "./stream-property.ts";
import type { Reply } from "./wire.ts";

/*
 * Tests recorded answers of each protocol in which one field has an unexpected type. The result is the answer or a
 * readable error, and never the text form of an object.
 */
setDefaultTimeout(180_000);

/** Returns events as the text of a stream. Only events of the protocol that requires names have a name. */
const streamOf = (events: readonly Event[]): string =>
  [
    ...events.map(
      ({ name, data }) => `${name && `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`,
    ),
  ]
    .concat("data: [DONE]\n\n")
    .join("");

const isMadeOf = (text: string, whole: string): boolean => {
  let at = 0;
  for (const letter of whole) if (letter === text[at]) at += 1;
  return at === text.length;
};

const replies: [string, Reply[]][] = [
  ["an answer with text", [{ thinking: "let me see", text: "the answer of the model" }]],
  [
    "an answer with a tool call",
    [
      { text: "I look. ", tools: [{ name: "look", input: { at: "here", n: 2 } }] },
      { text: "the end" },
    ],
  ],
];

describe.each(allModels)("in the $name protocol", (model) => {
  describe.each(replies)("%s", (_, script) => {
    const recorded: string[] = [];
    let streams: string[] = [];
    let asked = 0;
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () =>
        new Response(streams[asked++] ?? streams.at(-1), {
          headers: { "content-type": "text/event-stream" },
        }),
    });
    beforeAll(async () => recorded.push(...(await recordedOf(model, script))));
    afterAll(() => server.stop(true));

    const run = async (given: string[]) => {
      streams = given;
      asked = 0;
      const inputs: unknown[] = [];
      const look = tool({
        name: "look",
        description: "Looks.",
        input: z.looseObject({}),
        execute: async (input) => void inputs.push(input),
      });
      const agent = model.agent({ maxRetries: 0, tools: toolRegistry([look]), maxTurns: 3 });
      const thread = threadAt(model, { url: `http://127.0.0.1:${server.port}`, key });
      return { ...(await observed(() => agent(thread, "You look"))), inputs };
    };

    test("is read from a replay without changes", async () => {
      const { error, text } = await run(recorded.map((stream) => streamOf(eventsIn(stream))));
      expect([error, text]).toEqual([null, script.at(-1)?.text]);
    });

    test("is read, or fails with a readable error, when a field has an unexpected type", async () => {
      const [first = "", ...rest] = recorded;
      const events = eventsIn(first);
      const whole = script.map(({ text = "" }) => text).join("");
      let answered = 0;
      const wrong: unknown[] = [];
      const mutations = [...mutationsOf(events.map(({ data }) => data))];
      for (const { name, events: sent } of some(mutations, 3)) {
        const mutated = sent.map((data, at) => ({ name: events[at]?.name ?? "", data }));
        const {
          error,
          events: published,
          inputs,
          spent,
          text,
        } = await run([streamOf(mutated), ...rest]);
        const seen = JSON.stringify([text, published, inputs]);
        const odd = garbled.exec(seen + (error instanceof Error ? error.message : ""))?.[0];
        const isKnown = error === null || isWorkflowError(error);
        const deltas = published.flatMap(({ payload, type }) =>
          type === "llm_token" || type === "llm_thinking" ? [typeof payload.delta] : [],
        );
        const counts = spent.flatMap(({ usage }) => Object.values(usage));
        const found = {
          ...(odd !== undefined && { odd }),
          ...(!isKnown && { error }),
          ...(error === null && !isMadeOf(text, whole) && { text }),
          ...(error instanceof Error && error.message.includes("\n") && { lines: error.message }),
          ...(deltas.some((type) => type !== "string") && { deltas }),
          ...(counts.some((count) => !Number.isSafeInteger(count) || count < 0) && { counts }),
        };
        if (Object.keys(found).length > 0) wrong.push({ name, ...found });
        if (error === null) answered += 1;
      }
      expect(wrong).toEqual([]);
      expect(answered).toBeGreaterThan(0);
    });
  });
});
