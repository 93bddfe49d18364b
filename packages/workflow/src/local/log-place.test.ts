import { afterEach, beforeEach, expect, test } from "bun:test";
import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { dataPath, infoPath, type Root } from "../storage/paths.ts";
import { openRoot } from "../storage/root.ts";
import { changeOf, newestPosition, positionAt } from "./log-place.ts";
import { LogReader } from "./log-reader.ts";
import type { Position } from "./position.ts";

const ref = { hash: "EYHPV6X8XHTCS", threadId: "01ARZ3NDEKTSV4RRFFQ69G5FAV" };
let root: Root;
let data: string;
let info: string;

beforeEach(() => {
  root = openRoot({ path: mkdtempSync(join(tmpdir(), "log-place-")) });
  data = dataPath(root, ref.hash, ref.threadId);
  info = infoPath(root, ref.hash, ref.threadId);
  mkdirSync(dirname(data), { recursive: true });
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

const write = (path: string, ...lines: object[]) =>
  appendFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));

const start = (timestamp: number) => ({
  ...{ name: "t", ...ref, parameters: { prompt: "", options: { maxRounds: 9 } } },
  timestamp,
});
const step = (timestamp: number, content = "") => ({ role: "r", content, meta: {}, timestamp });
const event = (timestamp: number, ofStep: number, content = "") => ({
  ...{ tag: "AAAAAAAA", content, type: "e", seq: 1, step: ofStep },
  timestamp,
});

/** The times of what stands behind a position. */
const timesFrom = (from: Position) =>
  [...new LogReader(root, ref, from).read()].map((item) =>
    item.kind === "event"
      ? `e${item.event.timestamp}`
      : item.kind === "step"
        ? `s${item.step.timestamp}`
        : item.kind,
  );

test("behind a time come the lines that are as old or younger", () => {
  write(data, start(10), step(20), step(30), step(40));
  write(info, event(15, 1), event(25, 2), event(35, 3), event(45, 4));
  expect(timesFrom(positionAt(root, ref, 30))).toEqual(["s30", "e35", "s40", "e45"]);
  expect(timesFrom(positionAt(root, ref, 46))).toEqual([]);
  expect(positionAt(root, ref, 46)).toEqual(newestPosition(root, ref));
});

test("a thread that began since is behind nothing, though it keeps older steps", () => {
  write(data, start(100), step(20), step(30));
  expect(timesFrom(positionAt(root, ref, 100))).toEqual(["start", "s20", "s30"]);
  expect(timesFrom(positionAt(root, ref, 101))).toEqual([]);
});

test("a step's place is before its first event, also before one that was written late", () => {
  write(data, start(10), step(20));
  write(info, event(15, 1), event(25, 2), event(26, 2));
  expect(timesFrom(positionAt(root, ref, 50))).toEqual([]);
  expect(timesFrom(positionAt(root, ref, 50, { steps: true }))).toEqual(["e25", "e26"]);
});

test("it is found in long files, whatever the lengths of their lines", () => {
  write(data, start(1));
  for (let at = 10; at < 3000; at += 10) {
    write(info, event(at - 5, at / 10, "x".repeat((at * 7919) % 3000)));
    write(data, step(at, "x".repeat(at === 500 ? 1_500_000 : (at * 7907) % 4000)));
  }
  for (const time of [2, 9, 10, 11, 490, 500, 505, 510, 1995, 2990, 2991]) {
    const [first] = timesFrom(positionAt(root, ref, time));
    const next = Math.max(1, Math.ceil(time / 5));
    const expected = next * 5 > 2990 ? undefined : next % 2 ? `e${next * 5}` : `s${next * 5}`;
    expect(`${time}: ${first}`).toBe(`${time}: ${expected}`);
  }
});

test("what is not a whole line counts for nothing, and a thread without a log has no change", () => {
  expect(changeOf(root, ref)).toBeNull();
  expect(newestPosition(root, ref)).toEqual({ data: 0, info: 0 });
  write(data, start(10));
  const { data: whole } = newestPosition(root, ref);
  appendFileSync(data, `{"role":"${"x".repeat(200_000)}`);
  expect(newestPosition(root, ref)).toEqual({ data: whole, info: 0 });
  const before = changeOf(root, ref);
  appendFileSync(info, '{"tag":');
  expect(changeOf(root, ref)?.size).toBe((before?.size ?? 0) + 7);
  expect(newestPosition(root, ref)).toEqual({ data: whole, info: 0 });
});
