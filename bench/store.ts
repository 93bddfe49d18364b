import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { crockford } from "../packages/workflow/src/bundle/hash.ts";
import { putBundle } from "../packages/workflow/src/bundle/store.ts";
import { type Host, openLocalHost } from "../packages/workflow/src/entry/host.ts";
import { idleVariable } from "../packages/workflow/src/local/workers/worker-client.ts";
import { type StartRecord, textOf } from "../packages/workflow/src/record/record.ts";
import { firstSum, sealed } from "../packages/workflow/src/record/sum.ts";
import {
  dataPath,
  infoPath,
  type Root,
  threadsDir,
  workerInfoPath,
} from "../packages/workflow/src/disk/paths.ts";
import { openRoot } from "../packages/workflow/src/disk/root.ts";
import { isAlive, readWorkerInfo } from "../packages/workflow/src/worker/worker-info.ts";
import { descriptor } from "./bundle/steps.esm.js";

/** Path of the bundle that all rows run. */
export const bundlePath = fileURLToPath(new URL("./bundle/steps.esm.js", import.meta.url));

/** Report of the bundle, with the start and end of its threads in milliseconds on the shared clock. */
export type Report = { began: number; ended: number; rss: number; marks: number[] };

/** Storage root with only the bundle. */
export type Store = { host: Host; root: Root; hash: string; folder: string };

/** Creates a storage root in a folder. */
export async function makeStore(folder: string): Promise<Store> {
  const own = mkdtempSync(join(folder, "root-"));
  const root = openRoot({ path: own });
  const hash = await putBundle(root, readFileSync(bundlePath), { descriptor });
  return { host: openLocalHost({ path: own }), root, hash, folder: own };
}

/** Returns the nth thread id. Later ids are newer. */
export const threadIdOf = (n: number): string => `01JBENCH00000${crockford(BigInt(n))}`;

/** Returns the log of an ended thread with one step, whose content has `length` characters. */
export function endedLog(hash: string, threadId: string, length: number): string {
  const timestamp = Date.now();
  const parameters = { prompt: "", options: { maxRounds: 100 } };
  const end = { returnCode: 0, reason: "returned" } as const;
  const records = [
    { name: "bench", hash, threadId, parameters, timestamp },
    { role: "worker", content: "x".repeat(length), meta: {}, timestamp },
    { role: "__end__" as const, content: "", meta: end, timestamp },
  ];
  return records.map((record) => `${textOf(record)}\n`).join("");
}

/** Writes small ended threads. The newest have a larger step. */
export function fillStore({ root, hash }: Store, count: number): void {
  mkdirSync(threadsDir(root, hash), { recursive: true });
  for (let n = 1; n <= count; n += 1) {
    const threadId = threadIdOf(n);
    const text = endedLog(hash, threadId, n > count - 40 ? 1000 : 10);
    writeFileSync(dataPath(root, hash, threadId), text, { flag: "wx", mode: 0o600 });
    writeFileSync(infoPath(root, hash, threadId), "", { flag: "wx", mode: 0o600 });
  }
}

/** Starts a thread of the bundle in a worker. */
export async function start(
  store: Store,
  options: Record<string, unknown>,
  maxRounds = 1_000_000,
): Promise<string> {
  const { threadId } = await store.host.start({
    workflow: store.hash,
    maxRounds,
    options,
    cwd: store.folder,
    env: {},
  });
  return threadId;
}

/** Returns the log of a thread's first steps, with a changed start record. */
export function firstSteps(
  log: string,
  count: number,
  change: (record: StartRecord) => void,
): string {
  const [first = "", ...steps] = log.split("\n", count + 1).map(unsealed);
  const head = JSON.parse(first) as StartRecord;
  change(head);
  let last = firstSum;
  const lines = [textOf(head), ...steps].map((record) => {
    const { text, sum } = sealed(record, last);
    last = sum;
    return `${text}\n`;
  });
  return lines.join("");
}

const unsealed = (line: string): string => line.replace(/,"sum":"[0-9a-f]{16}"\}$/, "}");

/** Waits for the JSON file that the bundle writes, and deletes it. */
export async function reported(path: string): Promise<Report> {
  await until(() => existsSync(path) && readFileSync(path, "utf8").endsWith("}"));
  const report = JSON.parse(readFileSync(path, "utf8")) as Report;
  rmSync(path);
  return report;
}

/** Waits until the worker of the storage root has exited. */
export async function workerGone({ root, hash }: Store): Promise<void> {
  const path = workerInfoPath(root, hash);
  const worker = readWorkerInfo(path);
  await until(() => !existsSync(path) && !(worker && isAlive(worker.identity)));
}

/** Sets the idle time after which a worker exits, in milliseconds. */
export function setIdle(ms: number): void {
  process.env[idleVariable] = String(ms);
}

/** Waits until a condition holds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 600_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error("condition not met in time");
    await Bun.sleep(20);
  }
}
