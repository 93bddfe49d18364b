// @cluster: it starts a server and a worker.
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../workflow/test/fixtures/until.ts";
import { missingServer } from "../../workflow-restate/test/fixtures/server.ts";
import type { EvalReport } from "../src/eval/report.ts";
import { command, lines, prepared, workIn } from "./evaluated.ts";
import { removeFolders, type Store } from "./program.ts";

setDefaultTimeout(120_000);

let store: Store | null = null;
afterAll(async () => {
  await store?.ok(["cluster", "down", "--data"]);
  removeFolders();
});

describe.skipIf(missingServer !== "")(`on a cluster${missingServer}`, () => {
  test("an eval that was killed goes on, starts no thread twice, and takes recorded answers", async () => {
    const cases = ["a", "b", "c gate", "d gate"];
    store = prepared(cases.map((prompt) => ({ id: prompt, prompt, expected: `one ${prompt}` })));
    const { host } = await store.json<{ host: string }>(["cluster", "up", "--workers", "1"]);
    const { folder, root } = store;
    const work = () => workIn(store as Store);
    const call = ["eval", "v1.ts", ...command, "--concurrency", "2", "--json", "--host", host];
    const killed = store.start(call);
    await until(() => work().filter((line) => line.includes("gate")).length === 2);
    killed.kill("SIGKILL");
    await killed.exited;
    writeFileSync(join(folder, "gate"), "");
    const { id, runs, versions } = JSON.parse(await store.ok(call)) as EvalReport;
    expect(versions).toMatchObject([{ runs: 4, passed: 4, cost: 1 }]);
    expect(work()).toEqual(["a", "b", "c gate", "d gate"]);
    expect(await store.json<object[]>(["threads", "--host", host])).toHaveLength(4);
    expect(existsSync(join(root, "evals", id, "eval.json"))).toBe(true);

    const server = store.start(["serve", "--port", "0", "--json", "--host", host]);
    const { value } = await server.stdout.getReader().read();
    const { port, token } = JSON.parse(new TextDecoder().decode(value)) as Record<string, string>;
    const headers = { Authorization: `Bearer ${token}` };
    const listed = await fetch(`http://127.0.0.1:${port}/api/evals`, { headers });
    expect(await listed.json()).toMatchObject([{ id, versions: [{ runs: 4, passed: 4 }] }]);
    server.kill("SIGINT");
    await server.exited;

    const ids = runs.map(({ threadId }) => threadId as string);
    const exported = await store.ok(["thread", ids[0] as string, "--fixture", "--host", host]);
    const one = { id: "a", expected: "one a", fixture: JSON.parse(exported) as object };
    writeFileSync(join(folder, "cases.jsonl"), lines([one]));
    const answered = JSON.parse(await store.ok(call)) as EvalReport;
    expect(answered.versions).toMatchObject([{ passed: 1, cost: 0 }]);
    expect(work()).toHaveLength(4);
  });
});
