import { expect, test } from "bun:test";
import type { Block } from "../llm/provider.ts";
import { bodyOf, CompletionAccumulator } from "./completion.ts";

const ignore = { onToken: () => undefined, onThinking: () => undefined };

/** Returns the answer that consists of these deltas, in chunks with missing fields as other servers send them. */
function answerOf(...deltas: object[]) {
  const accumulator = new CompletionAccumulator(ignore);
  const chunk = (delta: object, finish_reason: string | null) => {
    return { id: "c", model: "m", choices: [{ delta, finish_reason }] };
  };
  const take = (value: unknown) => accumulator.take({ kind: "event", name: "", value });
  for (const delta of deltas) take(chunk(delta, null));
  expect(accumulator.answer()).toBeNull();
  take(chunk({}, "stop"));
  return accumulator.answer();
}

const call = (id: string | undefined, name: string | undefined, args: string) => ({
  tool_calls: [{ ...(id && { id }), function: { ...(name && { name }), arguments: args } }],
});

test("tool calls without indexes are distinguished by their ids", () => {
  const answer = answerOf(
    call("a", "add", '{"n":'),
    call(undefined, undefined, "1}"),
    call("b", "sub", '{"n":2}'),
  );
  expect(answer?.toolUses).toEqual([
    { id: "a", name: "add", input: { n: 1 } },
    { id: "b", name: "sub", input: { n: 2 } },
  ]);
});

test("tool calls without ids get ids", () => {
  expect(answerOf(call(undefined, "add", "{}"))?.toolUses).toEqual([
    { id: "call_0", name: "add", input: {} },
  ]);
});

test("pictures and documents in either provider's format are sent", () => {
  const image = (source: object) => ({ type: "image", source });
  const own = { type: "input_audio", input_audio: { data: "AA", format: "wav" } };
  const bodyWith = (...content: Block[]) =>
    bodyOf({ model: "m", system: "", tools: [], messages: [{ role: "user", content }] }, true);
  const blocks = [
    { type: "text", text: "What is it?" },
    image({ type: "url", url: "https://example.com/a.png" }),
    image({ type: "base64", media_type: "image/png", data: "AAAA" }),
    {
      type: "document",
      title: "a.pdf",
      source: { type: "base64", media_type: "application/pdf", data: "BB" },
    },
    own,
  ];
  expect(bodyWith(...blocks).messages).toEqual([
    {
      role: "user",
      content: [
        { type: "text", text: "What is it?" },
        { type: "image_url", image_url: { url: "https://example.com/a.png" } },
        { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
        { type: "file", file: { file_data: "data:application/pdf;base64,BB", filename: "a.pdf" } },
        own,
      ],
    } as never,
  ]);
  expect(() => bodyWith(image({ type: "file", file_id: "f" }))).toThrow("can't be sent");
});

test("reasoning in either of its fields is thinking", () => {
  const answer = answerOf({ reasoning: "hm " }, { reasoning_content: "yes" }, { content: "ok" });
  expect([answer?.thinking, answer?.text]).toEqual(["hm yes", "ok"]);
});

test("an answer without token counts is marked as uncounted", () => {
  expect(answerOf({ content: "ok" })?.usage).toMatchObject({ input_tokens: 0, output_tokens: 0 });
});
