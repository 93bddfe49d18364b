import { expect, test } from "bun:test";
import { answererIn, answererText } from "./answerer.ts";

test("the answerer is read from a record, also in the older format of plans, and shown as text", () => {
  const by = { kind: "channel", name: "telegram:7" } as const;
  expect(answererIn({ by })).toEqual(by);
  expect(answererIn({ by: { kind: "later" } as never })).toBeNull();
  expect(answererIn({})).toBeNull();
  const old = (name: string) => answererIn({ token: "t", value: { decision: "skip", by: name } });
  expect(old("telegram:7")).toEqual(by);
  expect(old("console")).toEqual({ kind: "console" });
  expect(old("ada")).toEqual({ kind: "terminal", name: "ada" });
  expect(answererText(by)).toBe("channel telegram:7");
  expect(answererText({ kind: "api" })).toBe("api");
});
