import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { hasJournalNote, movedTo, noteJournal, readLocation, writeLocation } from "./location.ts";
import { journalPath, locationPath, type Root } from "./paths.ts";

const thread = { hash: "EYHPV6X8XHTCS", threadId: "01ARZ3NDEKTSV4RRFFQ69G5FAV" };
let root: Root;
let path: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "location-")) as Root;
  path = locationPath(root, thread.hash, thread.threadId);
  mkdirSync(dirname(path), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const withJournal = () => writeFileSync(journalPath(root, thread.hash, thread.threadId), "");
const noted = () => JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;

/** Reads the location of a thread like an older version without support for journals: the host's name, or null. */
function olderReader(): string | null {
  const { moves, host } = noted() as { moves: unknown; host: { name?: unknown } | null };
  if (!Number.isSafeInteger(moves)) throw new Error("not a location");
  if (host !== null && typeof host.name !== "string") throw new Error("not a location");
  return host === null ? null : (host.name as string);
}

const newer = "a newer version of uncaged-workflow";

test("a thread with a journal is on this host, but an older version treats it as moved", () => {
  withJournal();
  noteJournal(root, thread);
  expect(noted()).toEqual({
    threadId: thread.threadId,
    moves: 0,
    host: { id: "newer-version", name: newer },
    at: expect.any(Number) as number,
    here: true,
  });
  expect(olderReader()).toBe(newer);
  expect([movedTo(root, thread), readLocation(root, thread)]).toEqual([null, null]);
  expect(hasJournalNote(root, thread)).toBe(true);
});

test("a thread that has moved here without a journal is on this host for every version", () => {
  writeLocation(root, thread, { moves: 2, host: null, at: 1 });
  const { threadId } = thread;
  expect([olderReader(), noted()]).toEqual([null, { threadId, moves: 2, host: null, at: 1 }]);
  expect(hasJournalNote(root, thread)).toBe(false);
});

test("a journal noted before or after a move does not change the number of moves", () => {
  writeLocation(root, thread, { moves: 2, host: null, at: 1 });
  withJournal();
  noteJournal(root, thread);
  expect([olderReader(), readLocation(root, thread)]).toEqual([
    newer,
    { moves: 2, host: null, at: 1 },
  ]);
  const away = { moves: 3, host: { id: "x", name: "other" }, at: 2 };
  writeLocation(root, thread, away);
  expect([olderReader(), readLocation(root, thread), hasJournalNote(root, thread)]).toEqual([
    "other",
    away,
    false,
  ]);
  writeLocation(root, thread, { moves: 4, host: null, at: 3 });
  expect([olderReader(), readLocation(root, thread)]).toEqual([
    newer,
    { moves: 4, host: null, at: 3 },
  ]);
});
