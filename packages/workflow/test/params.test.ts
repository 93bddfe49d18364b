import { afterEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { forkThread } from "../src/local/threads/start.ts";
import { threadsDir } from "../src/disk/paths.ts";
import { bundleOf } from "./fixtures/bundles.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";

afterEach(removeStores);

const input = {
  type: "object",
  properties: { name: { type: "string" }, times: { type: "integer" } },
  required: ["name"],
  additionalProperties: false,
};

/** Yields its params, or else its prompt. */
const greeter = bundleOf(
  `yield step("greet", JSON.stringify(input.params ?? input.prompt));`,
).replace("roles: {} }", `roles: {}, input: ${JSON.stringify(input)} }`);

describe("a bundle with a schema for its params", () => {
  test.each([
    [{ params: {} }, "params must have required property 'name'"],
    [
      { params: { times: "two" }, prompt: "hi" },
      "params must have required property 'name'; params/times must be integer",
    ],
  ])("is not started with %j, and nothing is written", async (given, message) => {
    const store = new TestStore();
    const hash = await store.add(greeter);
    expect(store.start(hash, "", given)).rejects.toMatchObject({
      code: "PARAMS_INVALID",
      kind: "usage",
      message,
    });
    await store.start(hash, "", given).catch(() => undefined);
    expect(existsSync(threadsDir(store.root, hash))).toBe(false);
  });

  test("runs with valid params, or with a prompt to read them from", async () => {
    const store = new TestStore();
    const hash = await store.add(greeter);
    for (const given of [{ params: { name: "Ada" } }, { prompt: "to Ada" }]) {
      const ref = { hash, threadId: (await store.start(hash, "", given)).threadId };
      await store.whenStatus(ref, "completed");
    }
  });

  test("continues in a fork with the params of its start", async () => {
    const store = new TestStore();
    const hash = await store.add(greeter);
    const { threadId } = await store.start(hash, "to Ada");
    await store.whenStatus({ hash, threadId }, "completed");
    const options = { keep: { atStep: 0 }, prompt: "", env: {} };
    const fork = await forkThread(store.root, { hash, threadId }, options);
    await store.whenStatus({ hash, threadId: fork.threadId }, "completed");
  });
});

test("an unchecked bundle runs with any value as its input schema", async () => {
  const store = new TestStore();
  const text = bundleOf(`yield step("greet");`).replace("roles: {} }", "roles: {}, input: 5 }");
  const hash = await store.add(text);
  const { threadId } = await store.start(hash, "", { params: { any: 1 } });
  await store.whenStatus({ hash, threadId }, "completed");
});
