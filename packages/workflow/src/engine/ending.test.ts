import { expect, test } from "bun:test";
import { failed } from "./ending.ts";
import { errorOf } from "./failure.ts";

const endOf = (thrown: unknown) =>
  failed(thrown, { error: errorOf(thrown, (error) => error) }, 3, 1, (text) => text);

test("the end record has the error's name and message", () => {
  expect(endOf(new TypeError("boom"))).toMatchObject({
    content: "boom",
    meta: { reason: "failed", error: { name: "TypeError", step: 3 } },
  });
});

test("any thrown value is converted to an end record", () => {
  const trap = () => {
    throw new Error("trapped");
  };
  const proxy = new Proxy({}, { get: trap, getPrototypeOf: trap, has: trap });
  const odd = Object.assign(new Error("x"), { name: 7, message: { code: "E_ODD" } });
  for (const thrown of [proxy, odd, null, undefined, Symbol("s"), Object.create(null)]) {
    const end = endOf(thrown);
    expect(typeof end.content).toBe("string");
    expect(typeof end.meta.error?.name).toBe("string");
  }
});
