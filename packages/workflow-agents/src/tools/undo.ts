import { createHash } from "node:crypto";
import type { Blobs } from "@uncaged/workflow";
import * as z from "zod/mini";
import { isObject } from "../run/error.ts";
import { type Content, readConfined, removeConfined, writeConfined } from "./file.ts";
import type { ConfinedPath } from "./path.ts";
import { type ToolContext, type ToolExecution, tool } from "./tools.ts";
import { undoChanged, undoMissing } from "./errors.ts";

/*
 * Undoes changes of files. Before a tool changes a file, the thread stores a blob with a line of JSON and the file's
 * old content. From the state of the file, a repeated call finds out whether the change was made.
 */

/**
 * The line of JSON in a blob. `existed` is false for a new file, `after` is the state after the change, and `call`
 * identifies the call.
 */
type Head = { path: string; existed: boolean; after: string; call?: string };

const sha256 = (data: Uint8Array | string): string =>
  createHash("sha256").update(data).digest("hex").slice(0, 32);

const missing = "missing";
const stateOf = (bytes: Uint8Array | null): string => (bytes === null ? missing : sha256(bytes));

/**
 * Returns the id of a call, which is the same if the call is repeated after a crash, or undefined without an
 * idempotency key.
 */
export const callOf = ({ key }: ToolContext, ...request: unknown[]): string | undefined =>
  key === undefined ? undefined : sha256(JSON.stringify([key, ...request]));

type Call = { call: string | undefined };

/** A change of a file by a tool. `undoId` is null if the old content is not stored. */
type Changed = { name: string; created: boolean; undoId: string | null };

/** Writes a file, after the thread has stored the old content. */
export async function changeFile(
  execution: ToolExecution,
  { path, content, call }: Call & { path: string; content: string },
): Promise<Changed> {
  const { blobs, cwd } = execution;
  let undoId: string | null = null;
  const onWrite = async ({ name }: ConfinedPath, before: Content): Promise<void> => {
    if (!blobs) return;
    const after = sha256(content);
    const head: Head = { path: name, existed: before !== null, after, ...(call && { call }) };
    const line = Buffer.from(`${JSON.stringify(head)}\n`);
    const all = before === "too long" ? null : Buffer.concat([line, before ?? new Uint8Array()]);
    undoId = all && (await blobs.put(all));
    if (undoId === null)
      execution.warn(`${name} can't be restored later: the old content is too large to store`);
    else if (call !== undefined) (await callsIn(blobs)).set(call, undoId);
  };
  const { place, created } = await writeConfined(cwd, path, content, { onWrite });
  return { name: place.name, created, undoId };
}

/** Returns the change of a call whose result was lost, if the file has not changed since the call. */
export async function changedBefore(
  { blobs }: ToolContext,
  { place: { name }, bytes: now, call }: Call & { place: ConfinedPath; bytes: Uint8Array },
): Promise<{ path: string; before: Uint8Array | null; undoId: string } | null> {
  if (!blobs || call === undefined) return null;
  const undoId = (await callsIn(blobs)).get(call);
  const kept = undoId === undefined ? null : await keptIn(blobs, undoId);
  if (!undoId || kept?.head.path !== name || kept.head.after !== stateOf(now)) return null;
  return { path: name, before: kept.bytes, undoId };
}

const known = new WeakMap<Blobs, Promise<Map<string, string>>>();

/** Returns a thread's undo ids by call. Reads the stored blobs only once. */
function callsIn(blobs: Blobs): Promise<Map<string, string>> {
  const calls = known.get(blobs) ?? readCalls(blobs);
  known.set(blobs, calls);
  return calls;
}

async function readCalls(blobs: Blobs): Promise<Map<string, string>> {
  const calls = new Map<string, string>();
  for (const undoId of await blobs.ids()) {
    // A damaged blob only affects its undo.
    const kept = await keptIn(blobs, undoId).catch(() => null);
    if (kept?.head.call !== undefined) calls.set(kept.head.call, undoId);
  }
  return calls;
}

async function keptIn(
  blobs: Blobs,
  undoId: string,
): Promise<{ head: Head; bytes: Uint8Array | null } | null> {
  const all = await blobs.get(undoId);
  const end = all?.indexOf(10) ?? -1;
  if (!all || end < 0) return null;
  const head = headIn(new TextDecoder().decode(all.subarray(0, end)));
  return head && { head, bytes: head.existed ? all.subarray(end + 1) : null };
}

// Returns the head in a blob's first line, or null, because a bundle may store other blobs.
function headIn(line: string): Head | null {
  try {
    const head: unknown = JSON.parse(line);
    const isHead =
      isObject(head) && typeof head.path === "string" && typeof head.after === "string";
    return isHead && typeof head.existed === "boolean" ? (head as Head) : null;
  } catch {
    return null;
  }
}

/** Undoes the change of one tool call. A repeated undo does not change anything. */
export const undoEdit = tool({
  name: "undoEdit",
  description:
    "Undoes the change of one call of editFile or writeFile, by the `undoId` that the call returned. Fails if the file has changed since then, unless `force` is true.",
  input: z.object({
    undoId: z.string().check(z.minLength(1)),
    force: z.optional(z.boolean()),
  }),
  async execute({ undoId, force = false }, { blobs, cwd }) {
    const kept = blobs ? await keptIn(blobs, undoId) : null;
    if (!kept) throw undoMissing(undoId);
    const { bytes, head } = kept;
    const { path, after } = head;
    const result = `${bytes === null ? "removed" : "restored"} ${path}`;
    const now = await currentState(cwd, path);
    if (now === stateOf(bytes)) return { result, path };
    if (now !== after && !force) {
      throw undoChanged(path, now === missing ? "is gone" : "has changed");
    }
    if (bytes === null) await removeConfined(cwd, path);
    else await writeConfined(cwd, path, bytes);
    return { result, path };
  },
});

async function currentState(cwd: string, path: string): Promise<string> {
  try {
    return stateOf((await readConfined(cwd, path)).bytes);
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === "FILE_MISSING") return missing;
    // The tools do not write files of this length, so the file has changed.
    if (code === "FILE_TOO_LONG") return code;
    throw error;
  }
}
