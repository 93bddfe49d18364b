import { afterEach, describe, expect, test } from "bun:test";
import { resumeThread } from "../src/local/workers/control.ts";
import { bundleOf } from "./fixtures/bundles.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";

afterEach(removeStores);

describe("resume", () => {
  test("gives the workflow the environment of the resume and the options of the start", async () => {
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
    expect(JSON.stringify(store.lines(ref)[0])).not.toMatch(/starter|resumer/);
  });
});
