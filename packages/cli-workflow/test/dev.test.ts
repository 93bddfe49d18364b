import { afterAll, afterEach, expect, setDefaultTimeout, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { Dev, type DevLine } from "./dev.ts";
import { programWords } from "./command.ts";
import { removeFolders, Store } from "./program.ts";
import { until } from "../../workflow/test/fixtures/until.ts";

setDefaultTimeout(180_000);
afterAll(removeFolders);

const running: Dev[] = [];
afterEach(async () => {
  for (const dev of running.splice(0)) await dev.end("SIGKILL");
});

function start(store: Store, file: string, ...args: string[]): Dev {
  const dev = Dev.of(store, file, ...args);
  running.push(dev);
  return dev;
}

const workflow = `
import { durable } from "@uncaged/workflow";
import { plan } from "./plan.ts";
import { write } from "./write.ts";
export const descriptor = { description: "", roles: {} };
export const run = durable(async function* (step, { prompt }, { params }) {
  yield* step("plan", () => plan(prompt));
  yield* step("write", write);
  return "done";
});
`;

const write = `
const wait = (ms: number) => new Promise((done) => setTimeout(done, ms));
export async function write() {
  await wait(0);
  return { content: "a text", meta: {} };
}
`;

function project(flow = workflow, writing = write): Store {
  const store = new Store();
  const files = {
    "flow.ts": flow,
    "write.ts": writing,
    "plan.ts": `import { shown } from "./shown.ts";
      export const plan = async (prompt: string) => ({ content: shown(\`plan \${prompt}\`), meta: {} });`,
    "shown.ts": "export const shown = (text: string) => text;\n",
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(store.folder, name), text);
  return store;
}

const rows = (store: Store) =>
  store.json<{ threadId: string; workflow: string; status: string }[]>(["threads"]);

test("dev builds each saved version and runs it from the first step whose file changed, without changing the published version", async () => {
  const store = project();
  await store.ok(["add", "flow", "flow.ts"]);
  const published = await store.json<object>(["show", "flow"]);
  const dev = start(store, "flow.ts", "--prompt", "it");
  const { threadId } = await dev.next("thread");
  expect(await dev.steps()).toEqual(["plan: plan it", "write: a text"]);
  dev.edit("a text", "another text", "write.ts");
  await dev.next("built");
  const forked = await dev.next("thread");
  expect(forked).toMatchObject({
    changed: "write",
    forkFrom: { threadId, steps: 1 },
    workflow: "flow@dev",
  });
  const first = await dev.next("step", ({ number }) => number === 2);
  expect(first.step?.content).toBe("another text");
  expect(await dev.end()).toBe(0);
  expect(await store.json<object>(["show", "flow"])).toEqual(published);
  expect(await store.json<object[]>(["history", "flow@dev"])).toHaveLength(1);
  const found = await rows(store);
  expect(found.map((row) => row.workflow)).toEqual(["flow@dev", "flow@dev"]);
});

test("dev shows a build error, and the last good version stays until the error is fixed", async () => {
  const store = project();
  const dev = start(store, "flow.ts", "--prompt", "it");
  await dev.next("end");
  dev.edit("./shown.ts", "./late.ts", "plan.ts");
  const { error } = (await dev.next("failed")) as DevLine & { error: { message: string } };
  expect(error.message).toContain("./late.ts");
  renameSync(join(store.folder, "shown.ts"), join(store.folder, "late.ts"));
  expect(await dev.next("built")).toMatchObject({ unchanged: true });
  dev.edit("export const run", "throw new Error('top'); export const run");
  expect(JSON.stringify(await dev.next("failed"))).toContain("top");
  rmSync(join(store.folder, "flow.ts"));
  await dev.next("gone");
  dev.edit("a text", "b", "write.ts");
  writeFileSync(join(store.folder, "flow.ts"), workflow);
  expect(await dev.steps()).toEqual(["plan: plan it", "write: b"]);
});

test("dev shows a type error, and the last good version stays", async () => {
  const store = project();
  const modules = join(store.folder, "node_modules");
  mkdirSync(join(modules, "@uncaged"), { recursive: true });
  const repository = join(import.meta.dir, "../../..");
  symlinkSync(join(repository, "node_modules/@typescript/native"), join(modules, "typescript"));
  symlinkSync(join(repository, "packages/workflow"), join(modules, "@uncaged/workflow"));
  writeFileSync(join(store.folder, "package.json"), "{}");
  const compilerOptions = {
    ...{ module: "preserve", target: "esnext", lib: ["esnext", "dom"], types: [], strict: true },
    ...{ noEmit: true, skipLibCheck: true, allowImportingTsExtensions: true },
  };
  const include = ["flow.ts", "aside.ts"];
  writeFileSync(join(store.folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include }));
  // Only errors in files that the source imports count.
  writeFileSync(join(store.folder, "aside.ts"), "export const wrong: string = 1;\n");
  const dev = start(store, "flow.ts", "--prompt", "it");
  await dev.next("end");
  const before = dev.lines.length;
  dev.edit("wait(0)", 'wait("0")', "write.ts");
  const { problems } = (await dev.next("types")) as DevLine & { problems: object[] };
  expect(problems).toMatchObject([{ file: join(store.folder, "write.ts"), line: 4 }]);
  // If the type check is slow, `dev` accepts the version first, and withdraws it when the check fails.
  const threads = dev.lines.slice(before).filter(({ kind }) => kind === "thread");
  expect(threads.length).toBeLessThanOrEqual(2);
  dev.edit('wait("0")', "wait(0)", "write.ts");
  dev.edit("a text", "five", "write.ts");
  await dev.next("step", ({ step }) => step?.content === "five");
});

test("a running step finishes if the new version has the same step, and a waiting thread asks the new question", async () => {
  const asking = workflow.replace(
    'return "done"',
    'yield* step.wait("approval", { content: "Ship it?" }); return "done"',
  );
  const store = project(asking, write.replace("wait(0)", "wait(3_000)"));
  const dev = start(store, "flow.ts", "--prompt", "it");
  await dev.next("step", ({ number }) => number === 1);
  dev.edit("Ship it?", "Ship it now?");
  expect(await dev.next("waits")).toMatchObject({ roles: ["write"] });
  const { forkFrom } = await dev.next("thread");
  expect(forkFrom).toMatchObject({ steps: 2 });
  expect(await dev.next("end")).toMatchObject({ status: "waiting" });
  dev.edit("Ship it now?", "Ship it today?");
  const asked = await dev.next("thread");
  expect(asked).toMatchObject({ changed: "approval", forkFrom: { steps: 2 } });
  expect(await dev.next("end")).toMatchObject({ status: "waiting" });
  await store.ok(["resume", String(asked.threadId), "--input", "yes"]);
  expect(await dev.next("end")).toMatchObject({ status: "completed" });
  expect((await rows(store)).map(({ status }) => status)).toEqual([
    "completed",
    "killed",
    "killed",
  ]);
});

test("dev ends its running thread, continues it the next time, and is the only dev for a name", async () => {
  const store = project(workflow, write.replace("wait(0)", "wait(60_000)"));
  const dev = start(store, "flow.ts", "--prompt", "it");
  const { threadId } = await dev.next("thread");
  await dev.next("step", ({ number }) => number === 1);
  const second = await store.run(["dev", "flow.ts"]);
  expect(second).toMatchObject({ code: 1, stdout: "" });
  expect(second.stderr).toBe(
    "error: another dev of flow is running; hint: end it, or use another name: --name\n",
  );
  expect(await dev.end()).toBe(0);
  expect(dev.lines.at(-1)).toMatchObject({ kind: "stopped", threadId });
  await store.until(String(threadId), "killed");
  const again = start(store, "flow.ts");
  expect(await again.next("thread")).toMatchObject({ forkFrom: { threadId, steps: 1 } });
  await again.end("SIGKILL");
  const third = start(store, "flow.ts");
  const { threadId: continued } = await third.next("thread");
  third.edit("wait(60_000)", "wait(1)", "write.ts");
  expect(await third.next("thread")).toMatchObject({ forkFrom: { threadId: continued, steps: 1 } });
  await third.next("end");
  expect(await store.ok(["ps", "-q"])).toBe("");
});

test("on a terminal, keys answer a question, run again, and quit", async () => {
  const asking = 'yield* step.wait("approval", { content: "Ship it?" }); return "done"';
  const store = project(workflow.replace('return "done"', asking));
  let shown = "";
  const data = (_terminal: unknown, bytes: Uint8Array) =>
    void (shown += Bun.stripANSI(new TextDecoder().decode(bytes)));
  const child = Bun.spawn([...programWords, "dev", "flow.ts", "--prompt", "it"], {
    ...{ cwd: store.folder, env: { ...store.env, TERM: "xterm" } },
    terminal: { cols: 200, rows: 50, data },
  });
  const type = (text: string) => void child.terminal?.write(text);
  const seen = async (text: string) => {
    await until(
      () => shown.includes(text),
      () => `the terminal does not show ${text}: ${shown}`,
    );
    shown = shown.slice(shown.indexOf(text) + text.length);
  };
  try {
    await seen("a: answer");
    await seen("waiting: Ship it?");
    type("a");
    await seen("answer: ");
    type("noo\u007f\r");
    await seen("__input__");
    await seen("no");
    await seen("completed: done");
    type("r");
    await seen("begins again");
    await seen("waiting: Ship it?");
    type("aq\u001b");
    type("q");
    expect(await child.exited).toBe(0);
  } finally {
    child.kill("SIGKILL");
  }
  expect((await rows(store)).map(({ status }) => status)).toEqual(["waiting", "completed"]);
});

test("an error that no change of the file can fix ends dev at once, and nothing is written", async () => {
  const store = project();
  const refused = async (...args: string[]) => {
    const { code, stderr } = await store.run(["dev", ...args]);
    return `${code} ${stderr}`;
  };
  expect(await refused("flov.ts")).toContain('4 error: no file "flov.ts" found');
  expect(await refused()).toContain("2 error: dev needs a file");
  expect(await refused("flow.ts", "--name", "a/b")).toContain(
    '2 error: invalid workflow name "a/b"',
  );
  expect(await refused("flow.ts", "--params", "{")).toContain("2 error: --params:1:2: ");
  expect(existsSync(store.root)).toBe(false);
  expect(readFileSync(join(store.folder, "flow.ts"), "utf8")).toBe(workflow);
});
