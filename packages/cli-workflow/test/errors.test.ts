import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AttemptError } from "@uncaged/workflow/records";
import { newFolder, removeFolders, Store } from "./program.ts";

// Each test builds a bundle in separate processes.
setDefaultTimeout(180_000);
afterAll(removeFolders);

const line = 'throw new TypeError(`no ${host}`, { cause: new Error("socket closed") });';
const source = `
import { durable } from "@uncaged/workflow";
import { fetchAll } from "./lib/net.ts";
export const descriptor = { description: "x", roles: { reader: { description: "reads", schema: true } } };
const middle = async (host: string) => fetchAll(host);
async function outermost(host: string) {
  return await middle(host);
}
export const run = durable(async function* (step, { prompt }) {
  if (prompt === "caught") {
    try {
      yield* step("reader", () => outermost("it"));
    } catch {}
    yield* step("reader", () => "fine");
  }
  if (prompt === "timer") {
    yield* step("reader", () => {
      const { promise } = Promise.withResolvers<string>();
      setTimeout(() => fetchAll("timer"), 1);
      return promise;
    });
  }
  if (prompt === "forgotten") {
    step("reader", () => "never");
    return "done";
  }
  if (prompt === "string") yield* step("reader", () => { throw process.env.HOME ?? "only text"; });
  return yield* step("reader", () => outermost("network"));
});
`;
const net = `export function fetchAll(host: string): never {
  ${line}
}
`;

type Thread = { status: string; error?: AttemptError & { role?: string; step: number } };

let store: Store;

beforeAll(async () => {
  store = new Store({ inMemory: true });
  mkdirSync(join(store.folder, "lib"));
  writeFileSync(join(store.folder, "flow.ts"), source);
  writeFileSync(join(store.folder, "lib/net.ts"), net);
  writeFileSync(join(store.folder, "flow.d.ts"), "export {};");
  await store.ok(["add", "reads", "flow.ts", "--types", "flow.d.ts"]);
});

const failing = async (workflow: string, ...args: string[]) => {
  const { code, stdout, stderr } = await store.run(["run", workflow, "--wait", ...args]);
  expect(code).toBe(1);
  return { id: stdout.trim(), stderr };
};

describe("an error three calls deep in a role of a minified bundle", () => {
  let id: string;
  let stderr: string;

  beforeAll(async () => {
    ({ id, stderr } = await failing("reads"));
  });

  const shown = [
    "TypeError: no network",
    "lib/net.ts:2:13",
    `> 2 |   ${line}`,
    "at fetchAll (lib/net.ts:2:13)",
    "outermost (flow.ts:7:16)",
    "caused by Error: socket closed",
  ];

  test("has its file, line, text, calls and cause in the output of --wait", () => {
    for (const text of shown) expect(stderr).toContain(text);
    expect(stderr).toContain(`retry ${id} --on reads`);
  });

  test.each(["thread", "thread --attempts", "logs", "follow"])(
    "has the same parts in the output of %s",
    async (words) => {
      const { stdout } = await store.run([...words.split(" "), id]);
      for (const text of shown) expect(stdout).toContain(text);
      expect(stdout).toContain("reader");
      expect(stdout).not.toContain(store.root);
    },
  );

  test("has the same fields in --json", async () => {
    const error = {
      ...{ name: "TypeError", message: "no network" },
      at: { file: "lib/net.ts", line: 2, column: 13, text: line },
      cause: { name: "Error", message: "socket closed", at: { file: "lib/net.ts", line: 2 } },
    };
    const thread = await store.json<Thread>(["thread", id]);
    expect(thread.error).toMatchObject({ ...error, role: "reader", step: 1 });
    expect(await store.json(["thread", id, "--attempts"])).toMatchObject({
      attempts: [{ role: "reader", status: "failed", error }],
    });
    const { code, stdout } = await store.run(["run", "reads", "--wait", "--json"]);
    expect({ code, thread: JSON.parse(stdout) as Thread }).toMatchObject({
      code: 1,
      thread: { error },
    });
    const followed = (await store.run(["follow", id, "--json"])).stdout.trim().split("\n");
    expect(JSON.parse(followed.at(-1) ?? "")).toMatchObject({ kind: "end", error });
  });
});

test("an error in a fork on a new version has the line in the new source", async () => {
  const { id } = await failing("reads");
  writeFileSync(
    join(store.folder, "lib/net.ts"),
    net.replace("throw", `if (host === "") return host as never;\n  throw`),
  );
  await store.ok(["add", "reads", "flow.ts"]);
  const { code, stdout } = await store.run(["fork", id, "--on", "reads", "--wait"]);
  expect(code).toBe(1);
  const forked = await store.json<Thread>(["thread", stdout.trim()]);
  expect(forked.error).toMatchObject({
    role: "reader",
    at: { file: "lib/net.ts", line: 3, text: line },
  });
  // A record keeps the line of the version that wrote the record, even after a new version is added.
  const before = await store.json<Thread>(["thread", id]);
  expect(before.error?.at).toMatchObject({ file: "lib/net.ts", line: 2 });
});

test("the error of a step that was described but not run has the line that described the step", async () => {
  const { id, stderr } = await failing("reads", "--prompt", "forgotten");
  expect(stderr).toContain('> 24 |     step("reader", () => "never");');
  const { error } = await store.json<Thread>(["thread", id]);
  expect(error).toMatchObject({ code: "STEP_NOT_RUN", at: { file: "flow.ts", line: 24 } });
});

test("an error in a bundle built by another program uses that bundle's source map", async () => {
  const folder = newFolder();
  const entry = join(folder, "src/own.ts");
  mkdirSync(join(folder, "src"));
  writeFileSync(
    entry,
    `export const descriptor = { description: "x", roles: { a: { description: "a", schema: true } } };
export async function* run(): AsyncGenerator<{ role: string; content: string; meta: {} }> {
  yield { role: "a", content: "", meta: {} };
  throw new Error("by another's map");
}`,
  );
  for (const sourcemap of ["inline", "linked"] as const) {
    const naming = `${sourcemap}.esm.js`;
    await Bun.build({ entrypoints: [entry], outdir: folder, naming, minify: true, sourcemap });
    await store.ok(["add", sourcemap, join(folder, naming)]);
    const { stderr } = await failing(sourcemap);
    expect(stderr).toContain("src/own.ts:4:");
    expect(stderr).toContain('> 4 |   throw new Error("by another\'s map");');
  }
});

test("an error in a step workflow shows the step in its file", async () => {
  const flow = {
    ...{ version: "3.0", name: "x", registry: {} },
    steps: [{ id: "Set_A", type: "Set", out: { "/a/../../x.txt": "=1" } }],
  };
  writeFileSync(join(store.folder, "flow.json"), JSON.stringify(flow, null, 2));
  await store.ok(["add", "steps", "flow.json"]);
  const { stderr } = await failing("steps");
  expect(stderr).toContain("flow.json:7:13");
  expect(stderr).toContain('> 7 |       "id": "Set_A",');
});

describe("a step that violates its bundle's descriptor", () => {
  const flow = (strict: string) => `
export const descriptor = {
  description: "x", ${strict}
  roles: { planner: { description: "plans", schema: { properties: { files: { type: "array" } } } } },
};
export async function* run() {
  yield { role: "planner", content: "a", meta: { files: [] } };
  yield { role: "planner", content: "b", meta: { files: 1 } };
  yield { role: "coder", content: "c", meta: {} };
  return { returnCode: 0, summary: "did it" };
}`;
  const ofMeta =
    'the role "planner": meta/files must be array (descriptor.roles.planner.schema#/properties/files/type)';
  const ofRole = 'the role "coder" is not in the descriptor, which names "planner"';

  const added = async (name: string, strict: string) => {
    writeFileSync(join(store.folder, `${name}.esm.js`), flow(strict));
    await store.ok(["add", name, `${name}.esm.js`]);
  };

  test("has a warning wherever the thread is shown", async () => {
    await added("loose", "");
    const waited = await store.run(["run", "loose", "--wait"]);
    const id = waited.stdout.trim();
    expect(waited.stderr).toContain(ofMeta);
    expect(waited.stderr).toContain(ofRole);
    for (const command of ["follow", "thread", "logs"]) {
      const { code, stdout } = await store.run([command, id]);
      expect({ command, code }).toEqual({ command, code: 0 });
      expect(stdout.replaceAll("\\", "")).toContain(ofMeta);
      expect(stdout.replaceAll("\\", "")).toContain(ofRole);
    }
    const { attempts } = await store.json<{ attempts: { warnings?: string[] }[] }>([
      ...["thread", id, "--attempts"],
    ]);
    expect(attempts.map(({ warnings }) => warnings)).toEqual([undefined, [ofMeta], [ofRole]]);
  });

  test("is not committed if the descriptor is strict: the thread fails", async () => {
    await added("strict", "strict: true,");
    const { id, stderr } = await failing("strict");
    expect(stderr).toContain(`failed in planner (return code 1): step 2: ${ofMeta}`);
    const thread = await store.json<Thread & { steps: unknown[] }>(["thread", id]);
    expect(thread.steps).toHaveLength(1);
    expect(thread.error).toMatchObject({ code: "STEP_REFUSED", role: "planner", step: 2 });
  });
});

test("a thread out of rounds is not completed: the exit code is 5, and every command reports the status", async () => {
  const { code, stdout, stderr } = await store.run([
    ...["run", "reads", "--prompt", "caught", "--max-rounds", "1", "--wait"],
  ]);
  const id = stdout.trim();
  expect(code).toBe(5);
  expect(stderr).toContain("completed: stopped at 1 step");
  expect(stderr).toContain(`retry ${id} --max-rounds N`);
  for (const args of [["threads"], ["thread", id], ["follow", id]]) {
    expect((await store.run(args)).stdout).toContain("stopped at 1 step");
  }
  expect(await store.json(["thread", id])).toMatchObject({
    status: "completed",
    result: { returnCode: 0, reason: "maxRounds" },
  });
  expect(await store.json(["threads", "--limit", "1"])).toMatchObject([{ reason: "maxRounds" }]);
});
