import type { LogLine, LogOptions } from "../host/host.ts";
import { infoPath, type Root } from "../storage/paths.ts";
import { changed, LogTail } from "../log/follow.ts";
import type { InfoRecord } from "../log/record.ts";
import { newestEvents } from "../log/newest.ts";
import { isMoving } from "../thread/status.ts";
import type { ThreadRef } from "../thread/thread.ts";
import { readView } from "./threads.ts";

const lookEveryMs = 250;

/** Reads a thread's debug log. A line that can't be read is passed over: it proves nothing. */
export async function* readLines(
  root: Root,
  ref: ThreadRef,
  { after = 0, since = 0, only, step, tail, backward, follow = false, signal }: LogOptions = {},
): AsyncGenerator<LogLine> {
  const path = infoPath(root, ref.hash, ref.threadId);
  if (backward) {
    for (const record of newestEvents(path)) yield { record, position: 0 };
    return;
  }
  const log = new LogTail(path, after);
  const wanted = { since, only, step };
  const first = newLines(log, wanted);
  yield* tail === undefined ? first : lastOf(first, tail);
  while (follow && !signal?.aborted) {
    const { status } = await readView(root, ref);
    const goesOn = isMoving(status) || status === "waiting";
    // The worker writes of an end in its debug log a little after the end itself.
    await changed([path], lookEveryMs, signal);
    yield* newLines(log, wanted);
    if (!goesOn) return;
  }
}

function* newLines(
  log: LogTail,
  { since, only, step }: { since: number } & Pick<LogOptions, "only" | "step">,
): Generator<LogLine> {
  const isWanted = (name: string | undefined): boolean => only?.includes(name ?? "") ?? true;
  for (const { value, position } of log.read(only?.map((name) => `"${name}"`))) {
    const record = value as InfoRecord | undefined;
    if (typeof record?.tag !== "string" || record.timestamp < since) continue;
    // What a step's end comes upon in the log may still follow it; a step later nothing does.
    if (step !== undefined && (record.step ?? 0) > step + 1) return;
    if (step !== undefined && record.step !== step) continue;
    if (isWanted(record.tag) || isWanted(record.type)) yield { record, position };
  }
}

function lastOf(lines: Iterable<LogLine>, count: number): LogLine[] {
  const kept: LogLine[] = [];
  for (const line of lines) {
    kept.push(line);
    if (kept.length > count) kept.shift();
  }
  return kept;
}

/** As {@link readLines}, the records alone. */
export async function* readInfo(
  root: Root,
  ref: ThreadRef,
  options: LogOptions = {},
): AsyncGenerator<InfoRecord> {
  for await (const { record } of readLines(root, ref, options)) yield record;
}
