import { afterEach, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { collectGarbage } from "../src/local/gc.ts";
import { allThreads } from "../src/local/threads.ts";
import { verifyStore } from "../src/local/verify.ts";
import { killThread } from "../src/local/control.ts";
import { newThreadId, startThread } from "../src/local/start.ts";
import { makeFolder } from "../src/storage/files.ts";
import { prepareLog } from "../src/log/prepare.ts";
import { dataPath, runDir, socketName, threadsDir, workerLogPath } from "../src/storage/paths.ts";
import { type PreparedLog, type PrewarmedWorker, prewarmWorker } from "../src/system/prewarm.ts";
import { startRecord } from "../src/thread/start-record.ts";
import { system } from "../src/system/system.ts";
import { blocking, bundleOf, counter, endless } from "./fixtures/bundles.ts";
import type { ThreadRef } from "../src/thread/thread.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";
import { until } from "./fixtures/until.ts";

afterEach(removeStores);

const startIn = async (store: TestStore, hash: string, prewarmed: PrewarmedWorker) => {
  const given = { workflow: hash, prompt: "", cwd: store.folder, env: store.env };
  const { threadId } = await startThread(store.root, given, prewarmed);
  return { hash, threadId };
};

/** The logs that were prepared and have no name. */
const unnamed = (store: TestStore, hash: string) =>
  readdirSync(threadsDir(store.root, hash)).filter((name) => name.endsWith(".tmp"));

const hasEnded = ({ exitCode, signalCode }: PrewarmedWorker) =>
  exitCode !== null || signalCode !== null;

/** The process that drives a thread: its debug log has it soon after the first step. */
async function driverOf(store: TestStore, ref: ThreadRef): Promise<string | undefined> {
  const driver = () => /"type":"worker_start".*?"pid":(\d+)/.exec(store.notes(ref))?.[1];
  await until(() => driver() !== undefined);
  return driver();
}

test("a prewarmed process drives the thread that it is given, serves others, and goes away", async () => {
  const store = new TestStore();
  const hash = await store.add(counter);
  const prewarmed = prewarmWorker();
  const first = await startIn(store, hash, prewarmed);
  expect(hasEnded(prewarmed)).toBe(false);
  const second = await store.start(hash);
  for (const ref of [first, second]) await store.whenStatus(ref, "completed");
  expect(await driverOf(store, second)).toBe(await driverOf(store, first));
  await until(() => hasEnded(prewarmed));
  expect(prewarmed.exitCode).toBe(0);
});

test("a prewarmed process is ended where a worker serves already", async () => {
  const store = new TestStore();
  const hash = await store.add(endless);
  const first = await store.start(hash);
  const prewarmed = prewarmWorker();
  const second = await startIn(store, hash, prewarmed);
  await until(() => hasEnded(prewarmed));
  expect(await driverOf(store, second)).toBe(await driverOf(store, first));
});

test("of prewarmed processes that begin at once one drives the threads of all", async () => {
  const store = new TestStore();
  const hash = await store.add(counter);
  const prewarmed = Array.from({ length: 6 }, prewarmWorker);
  const refs = await Promise.all(prewarmed.map((one) => startIn(store, hash, one)));
  for (const ref of refs) await store.whenStatus(ref, "completed");
  const drivers = await Promise.all(refs.map((ref) => driverOf(store, ref)));
  expect(new Set(drivers).size).toBe(1);
});

test("a thread is started also when its prewarmed process was lost", async () => {
  const store = new TestStore();
  const hash = await store.add(counter);
  const prewarmed = prewarmWorker();
  prewarmed.drop();
  const ref = await startIn(store, hash, prewarmed);
  await store.whenStatus(ref, "completed");
  expect(allThreads(store.root)).toEqual([ref]);
  expect(unnamed(store, hash)).toEqual([]);
});

test("what a bundle prints while it is loaded goes to the worker's log, and is no response", async () => {
  const store = new TestStore();
  const prints = `console.log("loud"); console.error("louder"); process.stdout.write("{}");`;
  const hash = await store.add(`${prints}\n${counter}`);
  const ref = await startIn(store, hash, prewarmWorker());
  await store.whenStatus(ref, "completed");
  const log = readFileSync(workerLogPath(store.root, hash), "utf8");
  expect(log).toContain("loud\nlouder\n{}");
});

test("a bundle that can't be loaded is refused by its prewarmed process, and nothing is written", async () => {
  const store = new TestStore();
  const hash = await store.add(`throw new Error("not today");\n${counter}`);
  const refused = startIn(store, hash, prewarmWorker());
  const code = await refused.then(
    () => "none",
    (error: { code: string }) => error.code,
  );
  expect(code).toBe("BUNDLE_LOAD_FAILED");
  expect(allThreads(store.root)).toEqual([]);
});

test("the code of a bundle is compiled as soon as usual, also while it is loaded", async () => {
  const store = new TestStore();
  // A process that compiles as usual does so after 100 to 400 calls, one that compiles late after 1,200.
  const load = `import { numberOfDFGCompiles } from "bun:jsc";
let sum = 0;
const hot = (n) => { for (let k = 0; k < 8; k += 1) sum += (n ^ k) & 3; };
let isCompiled = false;
for (let calls = 0; calls < 800 && !isCompiled; ) {
  for (let n = 0; n < 10; n += 1) hot(calls++);
  await new Promise((done) => setTimeout(done, 5));
  isCompiled = numberOfDFGCompiles(hot) > 0;
}`;
  const hash = await store.add(`${load}\n${bundleOf("yield step('worker', String(isCompiled));")}`);
  const ref = await startIn(store, hash, prewarmWorker());
  await store.whenStatus(ref, "completed");
  expect(store.lines(ref)[1]).toMatchObject({ content: "true" });
});

describe("the log that is prepared for a prewarmed process", () => {
  test("becomes that of the thread, which is as one that a worker makes", async () => {
    const store = new TestStore();
    const hash = await store.add(counter);
    const prewarmed = prewarmWorker();
    let prepared = 0;
    const begin: PrewarmedWorker["begin"] = (order) => {
      prepared = statSync(order.log?.aside ?? "").ino;
      return prewarmed.begin(order);
    };
    const ref = await startIn(store, hash, { ...prewarmed, begin });
    expect(statSync(dataPath(store.root, hash, ref.threadId)).ino).toBe(prepared);
    const other = await store.start(hash, "", { maxRounds: undefined });
    for (const each of [ref, other]) await store.whenStatus(each, "completed");
    const startOf = (each: ThreadRef) => {
      const [start] = store.lines(each);
      return { ...start, threadId: "", timestamp: 0, sum: "" };
    };
    expect(startOf(ref)).toEqual(startOf(other));
    expect(unnamed(store, hash)).toEqual([]);
    expect((await verifyStore(store.root)).problems).toEqual([]);
  });

  test("is not used where a bundle gives its threads another number of steps", async () => {
    const store = new TestStore();
    const hash = await store.add(counter.replace("description:", "maxRounds: 7, description:"));
    const ref = await startIn(store, hash, prewarmWorker());
    await store.whenStatus(ref, "completed");
    expect(store.lines(ref)[0]).toMatchObject({ parameters: { options: { maxRounds: 7 } } });
    expect(unnamed(store, hash)).toEqual([]);
  });

  test("is removed where the thread is refused", async () => {
    const store = new TestStore();
    const hash = await store.add(`throw new Error("not today");\n${counter}`);
    await startIn(store, hash, prewarmWorker()).catch(() => undefined);
    expect(readdirSync(threadsDir(store.root, hash))).toEqual([]);
  });

  test("is what a kill of the command leaves, and nothing takes it for a thread", async () => {
    const store = new TestStore();
    const hash = await store.add(counter);
    makeFolder(threadsDir(store.root, hash));
    const threadId = await newThreadId();
    const path = dataPath(store.root, hash, threadId);
    const request = { threadId, workflow: hash, prompt: "", env: {} };
    const facts = { rounds: 100, timestamp: Date.now() };
    const { aside } = prepareLog(path, startRecord(hash, request, facts)) as PreparedLog;
    expect(allThreads(store.root)).toEqual([]);
    expect((await verifyStore(store.root)).problems).toEqual([]);
    utimesSync(aside, 0, 0);
    await collectGarbage(store.root);
    expect(existsSync(aside)).toBe(false);
  });
});

test("a thread that keeps its prewarmed process from listening is running, and can be killed by force", async () => {
  const store = new TestStore();
  const hash = await store.add(bundleOf(`${blocking} yield step("never");`));
  void startIn(store, hash, prewarmWorker()).catch(() => undefined);
  await until(() => allThreads(store.root).length === 1);
  const [ref] = allThreads(store.root) as [ThreadRef];
  expect((await store.read(ref)).status).toBe("running");
  const killed = await killThread(store.root, ref, { force: true });
  expect(killed.threadId).toBe(ref.threadId);
  expect((await store.read(ref)).status).toBe("killed");
});

test("a prewarmed process listens while its bundle is still being loaded", async () => {
  const store = new TestStore();
  const gate = join(store.folder, "gate");
  const wait = `while (!existsSync(${JSON.stringify(gate)})) await new Promise((go) => setTimeout(go, 5));`;
  const hash = await store.add(`import { existsSync } from "node:fs";\n${wait}\n${counter}`);
  const first = startIn(store, hash, prewarmWorker());
  await until(() => existsSync(join(runDir(store.root), socketName(hash))));
  writeFileSync(gate, "");
  await store.whenStatus(await first, "completed");
});

test("a prewarmed process ends, and leaves no trace, when whoever started it has ended", async () => {
  const store = new TestStore();
  const marker = join(store.folder, "temporary");
  mkdirSync(marker);
  const source = join(import.meta.dir, "../src/system/prewarm.ts");
  const script = `(await import(${JSON.stringify(source)})).prewarmWorker(); process.exit(0);`;
  const env = { PATH: process.env.PATH ?? "", TMPDIR: marker, HOME: marker };
  const { exitCode } = Bun.spawnSync([process.execPath, "-e", script], { env });
  expect(exitCode).toBe(0);
  await until(() => system.processes.withVariable("TMPDIR", new Set([marker])).length === 0);
  expect(existsSync(join(marker, ".uncaged"))).toBe(false);
});
