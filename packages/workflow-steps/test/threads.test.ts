import { afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Step } from "@uncaged/workflow";
import { buildSource, openLocalHost } from "@uncaged/workflow/host";
import { removeStores, TestStore } from "../../workflow/test/fixtures/store.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { stepsSource } from "../src/entry/source.ts";

setDefaultTimeout(180_000);
afterEach(removeStores);

let marking = "";
beforeAll(async () => {
  const path = fileURLToPath(new URL("./bundles/marking.ts", import.meta.url));
  marking = new TextDecoder().decode((await buildSource(path)).bytes);
});

const linesIn = (store: TestStore): string[] => {
  const path = join(store.folder, "lines");
  return existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n") : [];
};

/** Returns the last value written to each variable, as a whole or in parts. */
function writesIn(steps: readonly Step[]): Record<string, unknown> {
  const writes = steps.flatMap(({ role, meta }) =>
    role.includes("/") ? [] : ((meta.variables ?? []) as { path: string[]; value: unknown }[]),
  );
  return Object.fromEntries(writes.map(({ path, value }) => [path.join("."), value]));
}

describe("a loop of 100 iterations whose worker is killed at 60", () => {
  test("continues at 60 without repeating an iteration", async () => {
    const store = new TestStore();
    const ref = await store.start(await store.add(marking), "loop", { maxRounds: 1000 });
    await until(() => existsSync(join(store.folder, "held")));
    await store.signalWorkers("SIGKILL");
    const killed = await store.read(ref);
    expect([killed.status, killed.steps.length, linesIn(store).length]).toEqual([
      "interrupted",
      60,
      60,
    ]);
    const last = { in: "Loop_Hundred", child: "Tool_Hundred", iteration: 59 };
    expect(killed.steps.at(-1)?.meta.path).toContainEqual(last);
    writeFileSync(join(store.folder, "go"), "");
    await openLocalHost({ path: store.root }).control(ref, { kind: "resume", env: store.env });
    const { steps } = await store.whenStatus(ref, "completed");
    expect(linesIn(store)).toEqual(Array.from({ length: 100 }, (_, at) => `hundred ${at}`));
    expect(writesIn(steps)).toEqual({ $sum: 4950 });
  });
});

describe("a Pause", () => {
  const asking = {
    version: "3.18",
    name: "asking",
    registry: { vars: ["$answer(OBJECT)", "$said(STRING)"] },
    steps: [
      { id: "Pause_Ask", reason: "Ship it?", resumeResultTarget: "$answer", next: "Set_Said" },
      { id: "Set_Said", target: "$said", value: "='said ' + $answer.text", next: "RETURN" },
    ],
  };

  async function waiting() {
    const store = new TestStore();
    const file = join(store.folder, "asking.json");
    writeFileSync(file, JSON.stringify(asking));
    const sources = [stepsSource(() => undefined)];
    const add = (path: string) =>
      openLocalHost({ path: store.root }).register("asking", path, { sources });
    const { hash } = await add(file);
    const ref = await store.start(hash);
    const { steps } = await store.whenStatus(ref, "waiting");
    const answer = (text: string) =>
      openLocalHost({ path: store.root }).control(ref, {
        kind: "answer",
        env: {},
        input: { content: text, value: { text }, meta: { token: steps[0]?.meta.token } },
      });
    return { store, ref, file, add, answer };
  }

  test("continues with its own version if its file changed meanwhile", async () => {
    const { store, ref, file, add, answer } = await waiting();
    const again = join(store.folder, "again.json");
    writeFileSync(again, JSON.stringify(asking, null, 4));
    expect((await add(again)).hash).toBe(ref.hash);
    const [ask, said] = asking.steps;
    writeFileSync(file, JSON.stringify({ ...asking, steps: [ask, { ...said, value: "changed" }] }));
    expect((await add(file)).hash).not.toBe(ref.hash);
    await store.signalWorkers("SIGKILL");
    await answer("yes");
    const { steps } = await store.whenStatus(ref, "completed");
    expect(writesIn(steps)).toMatchObject({ $said: "said yes" });
  });
});
