import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { playBundle, removeFolders, Store } from "./program.ts";

afterAll(removeFolders);
setDefaultTimeout(180_000);

const source = (summary: string): string => `
  export const descriptor = { description: "", roles: { a: { description: "", schema: {} } } };
  export async function* run({ prompt }) {
    yield { role: "a", content: prompt, meta: {} };
    return { returnCode: 0, summary: "${summary}" };
  }`;

const flow = JSON.stringify({
  ...{ version: "3.0", name: "flow", registry: {} },
  steps: [{ id: "Stop_End", in: { reason: "done" } }],
});

type Started = { threadId: string; workflow: string; hash: string };

test("a source runs unregistered: its bundle is stored under its hash, and its threads have the file's name", async () => {
  const store = new Store({ inMemory: true });
  writeFileSync(join(store.folder, "review.ts"), source("reviewed"));
  const run = ["run", "review.ts", "--prompt", "look"];
  const ended = await store.json<Started & { result: object }>([...run, "--wait"]);
  expect(ended).toMatchObject({ workflow: "review.ts", result: { summary: "reviewed" } });
  expect(await store.json<object[]>(["list"])).toEqual([]);
  expect(await store.json<Started[]>(["threads", "--workflow", "review.ts"])).toMatchObject([
    { threadId: ended.threadId, workflow: "review.ts", hash: ended.hash },
  ]);
  expect(await store.ok([...run, "--follow"])).toContain("look");
  rmSync(join(store.folder, "review.ts"));
  const { workflow, hash } = await store.json<Started>(["fork", ended.threadId]);
  expect({ workflow, hash }).toEqual({ workflow: "review.ts", hash: ended.hash });
  expect(await store.json<object>(["gc"])).toMatchObject({ removed: [], kept: 1 });
});

test("a step workflow and a bundle run from their files, with all options of run", async () => {
  const store = new Store({ inMemory: true });
  writeFileSync(join(store.folder, "flow.json"), flow);
  const stepped = await store.json<object>(["run", "flow.json", "--wait"]);
  expect(stepped).toMatchObject({ workflow: "flow.json", result: { summary: "flow" } });
  const params = ["--params", '{"steps":[{"role":"a"}]}', "--max-rounds", "7"];
  const id = "01KQXKW1000000000000000001";
  const played = await store.json<Started>(["run", playBundle, ...params, "--thread-id", id]);
  expect(played).toMatchObject({ threadId: id, workflow: "play.esm.js" });
  expect(await store.json<object>(["run", playBundle, "--thread-id", id])).toEqual(played);
  expect(await store.json<object>(["thread", id])).toMatchObject({ maxRounds: 7 });
  const other = await store.run(["run", "flow.json", "--thread-id", id]);
  expect(other).toMatchObject({ code: 1, stdout: "" });
  expect(other.stderr).toContain('a thread of another workflow: "play.esm.js"');
});

test("add and run warn of code that reads the environment outside a thread, and of a module that uses __dirname", async () => {
  const store = new Store({ inMemory: true });
  const own = join(store.folder, "node_modules/data");
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, "index.js"), "exports.here = () => __dirname;");
  const text = `import { here } from "data";
const key = process.env.API_KEY;${source("read").replace("prompt,", "[key, here()].join(),")}`;
  writeFileSync(join(store.folder, "reads.ts"), text);
  for (const args of [
    ["add", "reads", "reads.ts"],
    ["run", "reads.ts"],
  ]) {
    const { code, stderr } = await store.run(args);
    expect([args, code]).toEqual([args, 0]);
    expect(stderr).toMatch(
      /^warning: \S*reads\.ts:2:21: process\.env\.API_KEY is read at module level/m,
    );
    expect(stderr).toMatch(/^warning: \S*data\/index\.js:1:22: uses __dirname: /m);
  }
});

test("a name takes precedence over a file, and a path is always a file", async () => {
  const store = new Store({ inMemory: true });
  writeFileSync(join(store.folder, "first.ts"), source("named"));
  await store.ok(["add", "review.ts", "first.ts"]);
  writeFileSync(join(store.folder, "review.ts"), source("filed"));
  const summaryOf = async (word: string) =>
    (await store.json<{ result: { summary: string } }>(["run", word, "--wait"])).result.summary;
  expect(await summaryOf("review.ts")).toBe("named");
  expect(await summaryOf("./review.ts")).toBe("filed");
  expect(await summaryOf(join(store.folder, "review.ts"))).toBe("filed");
});

test("a word that is neither a workflow nor a file is refused with a suggestion, and nothing is written", async () => {
  const store = new Store();
  mkdirSync(join(store.folder, "lib"));
  writeFileSync(join(store.folder, "review.ts"), source(""));
  writeFileSync(join(store.folder, "broken.ts"), "export const run = (");
  const refused = async (word: string) => {
    const { code, stdout, stderr } = await store.run(["run", word]);
    expect(stdout).toBe("");
    return `${code} ${stderr}`;
  };
  expect(await refused("review")).toContain('4 error: no workflow "review" found');
  expect(await refused("review")).toContain("run the file: uncaged-workflow run ./review.ts");
  expect(await refused("reviev.ts")).toContain('4 error: "reviev.ts": no such file');
  expect(await refused("lib")).toContain('4 error: no workflow "lib" found');
  expect(await refused("./lib")).toContain('2 error: "./lib" is a folder');
  expect(await refused("broken.ts")).toMatch(/^1 error: broken\.ts:1:\d+: /);
  renameSync(join(store.folder, "review.ts"), join(store.folder, "review.mjs"));
  expect(await refused("review.mjs")).toContain('2 error: "review.mjs" is not named as a bundle');
  expect(store.tree()).toEqual({});
});
