import { expect, test } from "bun:test";
import type { JsonSchema } from "../contract/contract.ts";
import { readAnswer } from "../engine/answer.ts";
import { compileForAnswer } from "../bundle/schema.ts";
import { answerHint } from "./thread.ts";

const action = { type: "object", properties: { action: { enum: ["ignore", "remove"] } } };
const hints: [title: string, schema: JsonSchema | undefined, input: string][] = [
  ["no schema", undefined, "'your answer'"],
  ["a text", { type: "string" }, "'your answer'"],
  ["a boolean", { type: "boolean" }, "true"],
  ["a number with a minimum", { type: "integer", minimum: 3 }, "3"],
  ["one of some words", { enum: ["ignore", "remove"] }, "ignore"],
  ["one of some texts", { type: "string", enum: ["not now", "remove"] }, "'not now'"],
  ["an object", action, `'{"action":"ignore"}'`],
  [
    "an object with a required property",
    {
      type: "object",
      required: ["n"],
      properties: { n: { type: "number" }, note: { type: "string" } },
    },
    `'{"n":1}'`,
  ],
  [
    "a list of objects",
    { type: "array", items: { ...action, required: ["action"] } },
    `'[{"action":"ignore"}]'`,
  ],
  ["its own example", { type: "object", examples: [{ id: "a" }] }, `'{"id":"a"}'`],
  ["an example with a quote", { type: "object", default: { id: "it's" } }, "JSON"],
  ["an unknown property", { type: "object", required: ["a"] }, "JSON"],
];

for (const [title, schema, input] of hints) {
  test(`the hint for a question with ${title} has an answer that fits`, async () => {
    const meta = { for: "it", ...(schema !== undefined && { schema }) };
    expect(answerHint("T", { meta })).toBe(`answer it: uncaged-workflow resume T --input ${input}`);
    if (input === "JSON") return;
    const content = input.replace(/^'(.*)'$/, "$1");
    const { violation } = await readAnswer(meta, { content }, compileForAnswer);
    expect(violation).toBeNull();
  });
}
