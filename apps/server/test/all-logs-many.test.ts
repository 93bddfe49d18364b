import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRoot, openRoot } from "@uncaged/workflow/host";
import { type RunningServer, startServer } from "../src/index.ts";
import { Reader } from "./reader.ts";

/* The server runs in this process, and the logs are written by the test itself: nobody drives them. */
const hash = "EYHPV6X8XHTCS";
const idOf = (n: number) => `01ARZ3NDEKTSV4RRFFQ69G5${String(n).padStart(3, "0")}`;
const path = "/api/events?types=start,step,event,end";

let folder: string;
let server: RunningServer;

function serve(): void {
  server = startServer({
    ...{ root: openRoot({ path: folder }), host: "127.0.0.1", port: 0, env: {}, cwd: folder },
    version: "test",
    streams: { most: 2000, patienceMs: 60_000 },
  });
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "uw-all-logs-"));
  createRoot(openRoot({ path: folder }));
  mkdirSync(join(folder, "logs", hash));
  serve();
});

afterEach(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const logOf = (n: number) => join(folder, "logs", hash, `${idOf(n)}.data.jsonl`);

function begin(n: number): void {
  const parameters = { prompt: "", options: { maxRounds: 100 } };
  const start = { name: "test", hash, threadId: idOf(n), parameters, timestamp: Date.now() };
  writeFileSync(logOf(n), `${JSON.stringify(start)}\n`, { mode: 0o600 });
}

const addStep = (n: number, content: string) =>
  appendFileSync(
    logOf(n),
    `${JSON.stringify({ role: "r", content, meta: {}, timestamp: Date.now() })}\n`,
  );

/** The numbers of a thread's steps as a stream's text tells them, in their order. */
const stepsIn = (text: string, n: number) =>
  [...text.matchAll(/^data: \{"threadId":"(\w+)".*?"number":(\d+)/gm)]
    .filter(([, id]) => id === idOf(n))
    .map(([, , number]) => Number(number));
const numbers = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

const ready = '"missed":true';
const lastId = ({ text }: Reader) =>
  [...text.matchAll(/^id: (.*)\n(?=.*\n\n)/gm)].at(-1)?.[1] ?? "";

const bytesRead = () => Number(/rchar: (\d+)/.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);

test.if(process.platform === "linux")(
  "a thousand who listen read each file once",
  async () => {
    begin(1);
    const readers = Array.from({ length: 1000 }, () => new Reader(server, path));
    await Promise.all(readers.map((reader) => reader.sees(ready)));
    const before = bytesRead();
    const size = 200_000;
    addStep(1, `${"x".repeat(size)}end`);
    await Promise.all(readers.map((reader) => reader.sees('xend"')));
    expect(bytesRead() - before).toBeGreaterThan(size);
    expect(bytesRead() - before).toBeLessThan(20 * size);
    for (const reader of readers) reader.close();
  },
  60_000,
);

test("one who reads slowly gets everything once, though it is long gone from the memory", async () => {
  for (const n of [1, 2, 3]) begin(n);
  const slow = new Reader(server, path);
  const quick = new Reader(server, path);
  await slow.sees(ready);
  await quick.sees(ready);
  slow.pause();
  for (let step = 1; step <= 20; step += 1) {
    for (const n of [1, 2, 3]) addStep(n, "x".repeat(600_000));
    await quick.sees(`"threadId":"${idOf(3)}","position":"d${readFileSync(logOf(3)).length}.i0"`);
  }
  slow.resume();
  for (const n of [1, 2, 3]) addStep(n, `last-${n}`);
  await slow.sees('"last-3"');
  // It was on the way from where it had stopped: the files were read again for it, and for it alone.
  const onTheWay = /^id: [^/\n]+\/[^/\n]+\//m;
  expect([slow, quick].map(({ text }) => onTheWay.test(text))).toEqual([true, false]);
  for (const reader of [slow, quick]) {
    for (const n of [1, 2, 3]) {
      await reader.sees(`"last-${n}"`);
      expect(stepsIn(reader.text, n)).toEqual(numbers(21));
    }
    reader.close();
  }
}, 60_000);

test("where more are at work than an id can name nothing is missed either", async () => {
  const all = numbers(60);
  const before = new Reader(server, path);
  await before.sees(ready);
  for (const n of all) begin(n);
  for (let step = 1; step <= 5; step += 1)
    for (const n of all) addStep(n, `a${step}-${n}.${" ".repeat(500)}`);
  // Somewhere in the middle of it.
  await before.sees('"a3-55.');
  const { text } = before;
  const id = lastId(before);
  const same = new Reader(server, path, { "Last-Event-ID": id });
  for (const n of all) {
    if (!text.includes(`"a5-${n}.`)) await same.sees(`"a5-${n}.`);
    expect(new Set([...stepsIn(text, n), ...stepsIn(same.text, n)])).toEqual(new Set(numbers(5)));
  }
  same.close();
  before.close();
  await server.stop();
  expect(id).toMatch(/^\d+~,/);
  for (const n of all) addStep(n, `b-${n}.`);
  serve();
  const after = new Reader(server, path, { "Last-Event-ID": id });
  for (const n of all) await after.sees(`"b-${n}."`);
  for (const n of all) {
    expect([...new Set([...stepsIn(text, n), ...stepsIn(after.text, n)])]).toEqual(numbers(6));
    expect(stepsIn(after.text, n).at(-1)).toBe(6);
  }
  after.close();
}, 60_000);

test("a log that was replaced is told from its beginning, and ends no stream", async () => {
  begin(1);
  const reader = new Reader(server, path);
  await reader.sees(ready);
  addStep(1, "one");
  await reader.sees('"one"');
  const id = lastId(reader);
  truncateSync(logOf(1), 0);
  begin(1);
  await reader.sees("event: start");
  addStep(1, "two");
  await reader.sees('"two"');
  expect(stepsIn(reader.text, 1)).toEqual([1, 1]);
  const again = new Reader(server, path, { "Last-Event-ID": id.replace(/d\d+/, "d3") });
  await again.sees('"two"');
  expect(again.text).toContain("event: start");
  expect(stepsIn(again.text, 1)).toEqual([1]);
  for (const one of [reader, again]) one.close();
}, 30_000);

test("what is no file of a thread stops nothing", async () => {
  begin(1);
  symlinkSync("/etc/hostname", logOf(2));
  symlinkSync("/etc/hostname", logOf(1).replace(".data.", ".info."));
  begin(3);
  const reader = new Reader(server, path);
  await reader.sees(ready);
  addStep(3, "news");
  await reader.sees('"news"');
  expect(reader.text).not.toContain(`"threadId":"${idOf(1)}"`);
  reader.close();
});
