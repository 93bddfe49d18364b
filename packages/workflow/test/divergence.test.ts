import { afterEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buildBundle } from "../src/bundle/build.ts";
import { putBundle } from "../src/bundle/store.ts";
import { forkThread } from "../src/local/threads/start.ts";
import { dataPath } from "../src/disk/paths.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";

afterEach(removeStores);

const core = join(import.meta.dir, "../src/entry/index.ts");

/** A durable workflow of these roles; each waits while the environment variable SLOW is set. */
const sourceOf = (roles: string) => `
  import { durable } from ${JSON.stringify(core)};
  export const descriptor = { description: "durable", roles: {} };
  export const run = durable(async function* (step, input, options) {
    for (const role of ${roles}) {
      yield* step(role, async () => {
        if (options.env?.SLOW === role) await new Promise((resolve) => setTimeout(resolve, 1e6));
        return role + " of " + input.prompt;
      });
    }
    return { returnCode: 0, summary: "done" };
  });
`;

async function add(store: TestStore, name: string, roles: string): Promise<string> {
  const file = join(store.folder, `${name}.ts`);
  await Bun.write(file, sourceOf(roles));
  const { code } = await buildBundle(file);
  return putBundle(store.root, code, { descriptor: { description: "durable", roles: {} } });
}

describe("durable code in a worker (F22)", () => {
  for (const [what, roles, expected, got] of [
    ["has another name", '["a", "x", "c"]', 'step 2 of the log is "b"', '"x"'],
  ] as const) {
    test(`stops when a step ${what}, names both roles and the step, and leaves the other log unchanged`, async () => {
      const store = new TestStore();
      const first = await add(store, "first", '["a", "b", "c"]');
      const second = await add(store, "second", roles);
      const ref = await store.start(first, "p");
      await store.whenStatus(ref, "completed");
      const path = dataPath(store.root, first, ref.threadId);
      const bytes = readFileSync(path, "utf8");
      const fork = await forkThread(store.root, ref, { env: {}, on: second, keep: { atStep: 2 } });
      const { result, steps } = await store.whenStatus(
        { hash: second, threadId: fork.threadId },
        "failed",
      );
      expect(steps).toHaveLength(2);
      expect(result?.summary).toContain(expected);
      expect(result?.summary).toContain(got);
      expect(readFileSync(path, "utf8")).toBe(bytes);
    });
  }
});
