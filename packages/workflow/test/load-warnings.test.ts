import { afterEach, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { prepareBundle } from "../src/bundle/prepare.ts";
import { bundleOf } from "./fixtures/bundles.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";

afterEach(removeStores);

const exported = `export const descriptor = { description: "x", roles: {} };`;

async function warningsOf(files: Record<string, string>): Promise<string[]> {
  const { folder } = new TestStore();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const warnings: string[] = [];
  const onWarning = (warning: string) => warnings.push(warning.replace(`${folder}/`, ""));
  await prepareBundle(join(folder, "flow.ts"), { sandbox: "off", onWarning });
  return warnings;
}

const late = "is read at module level, where no thread runs: read it in run";

test("process state read at module level is reported with the author's line", async () => {
  const flow = `import { Client } from "client";
const client = new Client();
const name = process.env.NAME;
const folder = process.cwd();
${exported}
export async function* run() {
  return { returnCode: 0, summary: [client, name, folder, process.env.LATER, process.cwd()].join() };
}`;
  const client = `export class Client { constructor() { this.key = process.env.API_KEY; } }
    if (process.env.DEBUG) console.log("debug");`;
  const found = await warningsOf({ "flow.ts": flow, "node_modules/client/index.js": client });
  expect(found).toEqual([
    `flow.ts:2:16: process.env.API_KEY ${late}`,
    `flow.ts:3:22: process.env.NAME ${late}`,
    `flow.ts:4:24: process.cwd() ${late}`,
  ]);
});

test("a module that looks for files beside itself is reported once", async () => {
  const flow = `import { data } from "data";
import { here } from "esm";
${exported}
export async function* run() {
  return { returnCode: 0, summary: data() + here + "__dirname import.meta.url" };
}`;
  const data = `const { join } = require("node:path");
exports.data = () => join(__dirname, "a") + join(__dirname, "b");`;
  const found = await warningsOf({
    "flow.ts": flow,
    "node_modules/data/index.js": data,
    "node_modules/data/package.json": '{ "name": "data", "main": "index.js" }',
    "node_modules/esm/index.js": 'export const here = new URL("./x", import.meta.url).href;',
  });
  const why = "files beside it are not in the bundle";
  expect(found.toSorted()).toEqual([
    `node_modules/data/index.js:2:27: uses __dirname: ${why}`,
    `node_modules/esm/index.js:1:36: uses import.meta.url: ${why}`,
  ]);
});

test("a workflow without such reads and searches has no warnings", async () => {
  const flow = `import { durable } from "@uncaged/workflow";
    ${exported} export const run = durable(async function* () { return ""; });`;
  expect(await warningsOf({ "flow.ts": flow })).toEqual([]);
});

const reading = (wait: string) => `
  import { execFileSync } from "node:child_process";
  import { cwd, env } from "node:process";
  export const descriptor = { description: "x", roles: {} };
  export async function* run({ prompt }, options) {
    process.env.OWN = prompt;
    ${wait}
    const child = execFileSync("/bin/sh", ["-c", "echo $WHO $OWN"]).toString().trim();
    const there = ["WHO" in process.env, Object.keys(process.env).includes("OWN")];
    delete process.env.WHO;
    const meta = { who: [env.WHO ?? null, options.env.WHO], child, there, cwds: [process.cwd(), cwd(), options.cwd] };
    yield { role: "reader", content: String(process.env.OWN), meta };
    return { returnCode: 0, summary: "" };
  }`;

test("module-level code can list the environment variables", async () => {
  const store = new TestStore();
  const names = "const names = Object.keys(process.env);";
  const hash = await store.add(`${names}${bundleOf('yield step("a", String(names.length > 0));')}`);
  const ref = await store.start(hash);
  expect((await store.whenStatus(ref, "completed")).steps[0]?.content).toBe("true");
});

test("in run, process.env and process.cwd() belong to the thread, even among concurrent threads", async () => {
  const store = new TestStore();
  const hash = await store.add(reading("await new Promise((done) => setTimeout(done, 20));"));
  const started = await Promise.all(
    ["a", "b", "c"].map(async (who) => {
      const cwd = join(store.folder, who);
      mkdirSync(cwd);
      return [
        who,
        cwd,
        await store.start(hash, who, { cwd, env: { ...store.env, WHO: who } }),
      ] as const;
    }),
  );
  for (const [who, cwd, ref] of started) {
    const { steps } = await store.whenStatus(ref, "completed");
    expect(steps[0]).toMatchObject({
      content: who,
      meta: {
        who: [null, who],
        child: `${who} ${who}`,
        there: [true, true],
        cwds: [cwd, cwd, cwd],
      },
    });
  }
});
