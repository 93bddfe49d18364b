// @cluster: it starts a server and a worker.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { missingServer } from "../../workflow-restate/test/fixtures/server.ts";
import { PlanStore } from "./planned.ts";
import { removeFolders } from "./program.ts";

setDefaultTimeout(60_000);

type Thread = {
  threadId: string;
  status: string;
  result: { returnCode: number; summary: string } | null;
  steps: { role: string; content: string }[];
};

/* What is no plain bundle: each example as it runs on a storage root, now on a cluster. */
let store: PlanStore;
const onCluster = describe.skipIf(missingServer !== "");
const examples = join(import.meta.dir, "../../../examples");

beforeAll(async () => {
  if (missingServer !== "") return;
  store = await PlanStore.open();
  store.more.UNCAGED_WORKFLOW_HOST = (
    await store.json<{ host: string }>(["cluster", "up", "--workers", "1"])
  ).host;
});
afterAll(async () => {
  if (missingServer === "") {
    await store.ok(["cluster", "down", "--data"]);
    await store.stop();
  }
  removeFolders();
});

/** Adds an example and runs it until it ends or waits. */
async function run(file: string, params: object = {}): Promise<Thread> {
  const name = file.replace(/\W+/g, "-");
  await store.ok(["add", name, join(examples, file)]);
  const words = ["run", name, "--params", JSON.stringify(params), "--wait"];
  const { stdout } = await store.run([...words, "-q"], { cwd: store.work });
  return await store.json<Thread>(["thread", stdout.trim()]);
}
const work = (name: string): string => join(store.work, name);

onCluster(`on a cluster${missingServer}`, () => {
  test("a step workflow branches, forks, loops and runs others", async () => {
    writeFileSync(work("notes.md"), "four");
    expect((await run("steps/fan-out.json")).result).toEqual({
      returnCode: 0,
      summary: "4 characters",
    });
    expect((await run("steps/loops.json")).result?.returnCode).toBe(0);
    const { result, steps } = await run("steps/subflow.json");
    expect(result?.summary).toContain("Ada");
    expect(result?.summary).toContain("Grace");
    expect(steps.length).toBeGreaterThan(3);
  });

  test("an agent answers in a schema, and uses a tool", async () => {
    mkdirSync(work("docs"));
    writeFileSync(work("docs/1.md"), "Every poem has a cat.");
    store.replies.push(
      { text: "Rain on the roof tonight." },
      { text: '{"score": 7, "why": "short"}' },
      { tools: [{ name: "readFile", input: { path: "poem.md" } }] },
      { text: "Add a cat." },
    );
    const { result, threadId } = await run("steps/models.json", { topic: "rain" });
    expect(result).toEqual({ returnCode: 0, summary: "Add a cat." });
    expect(readFileSync(work("poem.md"), "utf8")).toBe("Rain on the roof tonight.");
    expect(store.asked).toContain("tool_result");
    expect(await store.ok(["logs", threadId])).toContain("llm_tool_result");
  });

  test("a graph of agents calls other agents, asks, and goes on with the answer", async () => {
    const asked = await run("research-team/workflow.ts");
    expect(asked.status).toBe("waiting");
    expect(asked.steps.at(-1)?.content).toBe("Is the report good enough to be published?");
    const answer = ["resume", asked.threadId, "--input", "approve", "--wait"];
    const { code, stderr } = await store.run(answer, { cwd: store.work });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const done = await store.json<Thread>(["thread", asked.threadId]);
    expect(done.status).toBe("completed");
    expect(done.steps.length).toBeGreaterThan(asked.steps.length);
  });
});
