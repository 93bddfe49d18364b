import { afterEach, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { killThread, pauseThread, resumeThread } from "../src/local/control.ts";
import { listLive } from "../src/local/live.ts";
import { dataPath } from "../src/storage/paths.ts";
import { bundleOf, endless } from "./fixtures/bundles.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";
import { codeOf } from "./fixtures/until.ts";

afterEach(removeStores);

describe("pause", () => {
  test("during a role that takes its time waits for the role's step, and lets it be killed", async () => {
    const store = new TestStore();
    const hash = await store.add(
      bundleOf('await opened(); yield step("slow"); yield step("late");'),
    );
    const gate = join(store.folder, "gate");
    const ref = await store.start(hash, "", { options: { gate } });
    await pauseThread(store.root, ref);
    expect((await store.read(ref)).status).toBe("running");
    writeFileSync(gate, "");
    expect((await store.whenStatus(ref, "paused")).steps.map(({ role }) => role)).toEqual(["slow"]);
    await killThread(store.root, ref);
    expect(store.roles(ref)).toEqual([undefined, "slow", "__end__"]);
  });

  test("that the worker does not survive leaves the thread interrupted, and resume takes it up", async () => {
    const store = new TestStore();
    const ref = await store.start(await store.add(endless));
    await pauseThread(store.root, ref);
    const { steps } = await store.whenStatus(ref, "paused");
    await store.signalWorkers("SIGKILL");
    expect((await store.read(ref)).status).toBe("interrupted");
    expect(await listLive(store.root)).toEqual([]);
    await resumeThread(store.root, ref, { env: {} });
    await store.whenSteps(ref, steps.length + 1);
  });
});

describe("resume", () => {
  test("by eight at once starts it once", async () => {
    const store = new TestStore();
    const ref = await store.start(await store.add(endless));
    await store.whenSteps(ref, 1);
    await store.signalWorkers("SIGKILL");
    const said = await Promise.all(
      Array.from({ length: 8 }, () => codeOf(resumeThread(store.root, ref, { env: {} }))),
    );
    expect(said.filter((code) => code === "ALREADY_RUNNING")).toHaveLength(7);
    const { steps } = await store.whenSteps(ref, 10);
    expect(steps.map(({ content }) => Number(content))).toEqual(steps.map((_, n) => n));
  });

  test("gives the workflow the environment of who resumes, and the options of who started", async () => {
    const store = new TestStore();
    const hash = await store.add(
      bundleOf(`
        yield step("a", \`\${env.WHO} \${options.x} \${input.params?.p} \${input.prompt}\`);
        await sleep(input.steps.length ? 1 : 1e6);
      `),
    );
    const ref = await store.start(hash, "go", {
      env: { WHO: "starter" },
      options: { x: 1 },
      params: { p: 2 },
    });
    await store.whenSteps(ref, 1);
    await store.signalWorkers("SIGKILL");
    await resumeThread(store.root, ref, { env: { WHO: "resumer" } });
    const { steps } = await store.whenStatus(ref, "completed");
    expect(steps.map(({ content }) => content)).toEqual(["starter 1 2 go", "resumer 1 2 go"]);
    expect(readFileSync(dataPath(store.root, hash, ref.threadId), "utf8")).not.toContain("WHO");
  });
});
