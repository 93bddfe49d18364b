import { expect, test } from "bun:test";
import { delay } from "./delay.ts";

test("a delay ends", async () => {
  expect(await delay(1, new AbortController().signal)).toBeUndefined();
});

test.each(["before", "meanwhile"])(
  "a delay whose signal is aborted %s throws the signal's reason",
  async (when) => {
    const controller = new AbortController();
    const reason = new Error("stop");
    if (when === "before") controller.abort(reason);
    const waiting = delay(600_000, controller.signal);
    controller.abort(reason);
    expect(await waiting.catch((error: unknown) => error)).toBe(reason);
  },
);
