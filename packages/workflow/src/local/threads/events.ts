import { AttemptLog } from "../../record/attempt-log.ts";
import type { Attempt } from "../../record/attempt.ts";
import { type EventRecord, knownEvent, readEvent } from "../../contract/event.ts";
import type { LogLine, LogOptions } from "../../host/host.ts";
import { LineFile } from "../../disk/line-file.ts";
import { type Line } from "../../record/lines.ts";
import { FileReader } from "../../disk/reader.ts";
import type { InfoRecord } from "../../record/record.ts";
import { valueAt } from "../../disk/values.ts";
import { diskError } from "../../disk/disk-error.ts";
import { JournalFold } from "../../record/journal.ts";
import { dataPath, infoPath, journalPath, type Root, valuesPath } from "../../disk/paths.ts";
import { FileWatch } from "../../disk/watch.ts";
import type { Lines, LogReader } from "../../record/reader.ts";
import {
  type ForkFrom,
  isMoving,
  type LiveFacts,
  statusOf,
  type ThreadRef,
} from "../../record/thread.ts";
import { type Drivers, LiveWorkers } from "../workers/live.ts";
import { threadWithId } from "../../disk/threads.ts";
import { readView, startOf } from "./view.ts";
import { valueNotFound } from "../../host/errors.ts";
import { notFound } from "../../record/errors.ts";

const lookEveryMs = 250;

/** Reads a thread's debug log and skips unreadable lines. */
export async function* readLines(
  root: Root,
  ref: ThreadRef,
  { backward, tail, follow, signal, ...options }: LogOptions = {},
  live?: Drivers,
): AsyncGenerator<LogLine> {
  const path = infoPath(root, ref.hash, ref.threadId);
  const file = new LineFile(path);
  if (backward) return yield* eventsIn(file.backward());
  let { after = 0 } = options;
  const read = function* (): Generator<LogLine> {
    const holding = options.only?.map((name) => `"${name}"`);
    for (const line of wantedOf(file.forward(after, holding), options)) {
      after = line.position;
      yield line;
    }
  };
  yield* tail === undefined ? read() : [...read()].slice(tail === 0 ? Infinity : -tail);
  const watch = follow ? new FileWatch([path], signal) : null;
  try {
    for (let goesOn = true; watch && goesOn && !signal?.aborted; ) {
      const { status } = await readView(root, ref, live);
      goesOn = isMoving(status) || status === "waiting";
      // The worker writes the last lines of the debug log shortly after the end record.
      await watch.changed(lookEveryMs);
      yield* read();
    }
  } finally {
    watch?.close();
  }
}

/** The lines that match the options. */
export function* wantedOf(
  lines: Iterable<Line>,
  { since = 0, only }: LogOptions,
): Generator<LogLine> {
  const isWanted = (name: string | undefined): boolean => only?.includes(name ?? "") ?? true;
  for (const { value, position } of lines) {
    const record = value as InfoRecord | undefined;
    if (typeof record?.tag !== "string" || record.timestamp < since) continue;
    if (isWanted(record.tag) || isWanted(record.type)) yield { record, position };
  }
}

/** The events among lines. */
export function* eventsIn(lines: Iterable<Line>): Generator<LogLine> {
  for (const { value, position } of lines) {
    if (readEvent(value)) yield { record: value as InfoRecord, position };
  }
}

/** Reads the value at a position. @throws WorkflowError `VALUE_NOT_FOUND` (missing). @see Host.value */
export function readValue(root: Root, { hash, threadId }: ThreadRef, at: number): string {
  const path = valuesPath(root, hash, threadId);
  let json: string | null = null;
  try {
    if (Number.isSafeInteger(at) && at >= 0) json = valueAt(path, at);
  } catch (error) {
    throw diskError(error, "read", path);
  }
  if (json !== null) return json;
  throw valueNotFound(threadId, at);
}

/** @see Host.attempts */
export async function readAttempts(
  root: Root,
  ref: ThreadRef,
  live: Drivers = new LiveWorkers(root),
): Promise<readonly Attempt[]> {
  const { hash, threadId } = ref;
  const reader = new FileReader({
    data: dataPath(root, hash, threadId),
    info: infoPath(root, hash, threadId),
  });
  if (!reader.exists) throw notFound(threadId);
  // Get the driver first: if the thread ends meanwhile, its log has the end.
  const driver = await live.find(ref);
  return await attemptsIn(reader, driver, {
    copied: async (from) => eventsOfCopied(root, ref, from),
    journal: async () => new LineFile(journalPath(root, hash, threadId)),
  });
}

/** Events of copied steps, by attempt. */
export type CopiedEvents = ReadonlyMap<string, EventRecord[]>;

/** A thread's data outside of its log and debug log: events of copied steps, and its journal. */
export type BesideLog = {
  copied: (forkFrom: ForkFrom) => Promise<CopiedEvents>;
  journal: () => Promise<Lines>;
};

/** Computes the attempts of a thread from its whole log. */
export async function attemptsIn(
  reader: LogReader,
  driver: LiveFacts | null,
  { copied, journal }: BesideLog,
): Promise<readonly Attempt[]> {
  let log = new AttemptLog();
  let events: CopiedEvents = new Map();
  for (const item of reader.read()) {
    if (item.kind === "start") {
      const { forkFrom } = item.start;
      log = new AttemptLog({ saved: forkFrom?.steps ?? 0 });
      if (forkFrom) events = await copied(forkFrom);
    } else if (item.kind === "event") log.event(item.event);
    else if (item.kind === "step") {
      // A fork copies only records: the events of copied steps are in the source thread.
      for (const event of events.get(item.step.attempt ?? "") ?? []) log.event(event);
      log.step(item.number, item.step);
    }
  }
  if (reader.facts.start) {
    const recorded = new JournalFold(reader.facts.start, reader.facts.journal);
    for (const line of (await journal()).forward()) if (recorded.take(line) === null) break;
    log.journal(recorded);
  }
  const { status } = statusOf(reader.facts, driver);
  if (!isMoving(status)) log.close(reader.facts.end);
  return log.attempts;
}

/**
 * Collects the events of copied attempts and of their children, by copied attempt, from the source thread or that
 * thread's own sources.
 */
function eventsOfCopied(
  root: Root,
  { hash, threadId }: ThreadRef,
  forkFrom: ForkFrom,
): ReadonlyMap<string, EventRecord[]> {
  const wanted = copiedAttempts(new LineFile(dataPath(root, hash, threadId)), forkFrom);
  const seen = new Set<string>();
  for (let from: string | undefined = forkFrom.threadId; from && !seen.has(from); ) {
    seen.add(from);
    const open = new Map([...wanted].filter(([, events]) => events.length === 0));
    const source: ThreadRef | null = open.size > 0 ? threadWithId(root, from) : null;
    if (source) {
      const { hash: ofHash, threadId: id } = source;
      collectEvents(new LineFile(infoPath(root, ofHash, id)), open);
    }
    from = source ? startOf(root, source)?.forkFrom?.threadId : undefined;
  }
  return wanted;
}

/** The attempts of the copied steps, each with an empty list. */
export function copiedAttempts(data: Lines, { steps }: ForkFrom): Map<string, EventRecord[]> {
  const wanted = new Map<string, EventRecord[]>();
  for (const { value } of data.forward()) {
    const attempt = (value as { attempt?: unknown } | undefined)?.attempt;
    if (typeof attempt === "string") wanted.set(attempt, []);
    if (wanted.size >= steps) break;
  }
  return wanted;
}

/** Adds the events of a debug log to the list of their attempt or its parent. */
export function collectEvents(info: Lines, lists: Map<string, EventRecord[]>): void {
  for (const { value } of info.forward(0, ['"attempt":'])) {
    const event = readEvent(value);
    if (event?.attempt === undefined) continue;
    const known = knownEvent(event);
    const parent = known?.type === "attempt_start" ? known.payload.parent : undefined;
    const list = lists.get(event.attempt) ?? lists.get(parent ?? "");
    if (!list) continue;
    lists.set(event.attempt, list);
    list.push(event);
  }
}
