import { expect, test } from "bun:test";
import { textOf } from "./record.ts";

test("a record is unchanged when a bundle adds toJSON to every object", () => {
  const end = {
    role: "__end__",
    content: "done",
    meta: { returnCode: 0, reason: "returned" },
    timestamp: 1,
  } as const;
  const prototype = Object.prototype as { toJSON?: unknown };
  let text = "";
  try {
    Object.defineProperty(prototype, "toJSON", { value: () => "no", configurable: true });
    text = textOf(end);
  } finally {
    delete prototype.toJSON;
  }
  expect(JSON.parse(text)).toEqual(end);
});
