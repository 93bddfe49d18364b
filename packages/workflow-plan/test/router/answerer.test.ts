import { expect, test } from "bun:test";
import { answererOf } from "../../src/router/received.ts";

test("an answer in a chat is attributed to its sender, and an answer at the terminal to the user", () => {
  const answerIn = (name: string) =>
    answererOf({ channel: { name }, message: { sender: "7" } } as Parameters<typeof answererOf>[0]);
  expect(answerIn("telegram")).toEqual({ kind: "channel", name: "telegram:7" });
  expect(answerIn("terminal").kind).toBe("terminal");
});
