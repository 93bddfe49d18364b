import type { Attempt } from "../attempt/attempt.ts";
import { AttemptLog } from "../attempt/attempt-log.ts";
import { type EventRecord, knownEvent, readEvent } from "../contract/event.ts";
import { LogTail } from "../log/follow.ts";
import { readStart } from "../log/read.ts";
import { dataPath, infoPath, type Root } from "../storage/paths.ts";
import { notFound } from "../thread/find.ts";
import { statusOf } from "../thread/status.ts";
import type { ForkFrom, ThreadRef } from "../thread/thread.ts";
import { LiveLookup } from "./live.ts";
import { LogReader } from "./log-reader.ts";
import { createdThread } from "./threads.ts";

/** @see Host.attempts */
export async function readAttempts(root: Root, ref: ThreadRef): Promise<readonly Attempt[]> {
  const reader = new LogReader(root, ref);
  if (!reader.exists) throw notFound(ref.threadId);
  // Asked first: a thread that ends meanwhile has its end in the log.
  const live = await new LiveLookup(root).find(ref);
  let log = new AttemptLog();
  let copied: ReadonlyMap<string, EventRecord[]> = new Map();
  for (const item of reader.read()) {
    if (item.kind === "start") {
      const { forkFrom } = item.start;
      log = new AttemptLog({ saved: forkFrom?.steps ?? 0 });
      copied = forkFrom ? eventsOfCopied(root, ref, forkFrom) : copied;
    } else if (item.kind === "event") log.event(item.event);
    else if (item.kind === "step") {
      // What a fork has copied came with its records alone: its events are in the thread that it is of.
      for (const event of copied.get(item.step.attempt ?? "") ?? []) log.event(event);
      log.step(item.number, item.step);
    }
  }
  const { status } = statusOf(reader.facts, live);
  if (status !== "running" && status !== "paused") log.close(reader.facts.end);
  return log.attempts;
}

/** The events of the attempts that a fork has copied, and of their children, by the copied attempt. */
function eventsOfCopied(
  root: Root,
  { hash, threadId }: ThreadRef,
  forkFrom: ForkFrom,
): ReadonlyMap<string, EventRecord[]> {
  const wanted = new Map<string, EventRecord[]>();
  for (const { value } of new LogTail(dataPath(root, hash, threadId)).read()) {
    const { attempt } = value as { attempt?: unknown };
    if (typeof attempt === "string") wanted.set(attempt, []);
    if (wanted.size >= forkFrom.steps) break;
  }
  let from: ForkFrom | null = forkFrom;
  for (const seen = new Set<string>(); from && !seen.has(from.threadId); ) {
    seen.add(from.threadId);
    const source = createdThread(root, from.threadId);
    if (!source) break;
    gather(root, source, wanted);
    const isWhole = [...wanted.values()].every((events) => events.length > 0);
    from = isWhole
      ? null
      : (readStart(dataPath(root, source.hash, source.threadId))?.forkFrom ?? null);
  }
  return wanted;
}

function gather(
  root: Root,
  { hash, threadId }: ThreadRef,
  wanted: Map<string, EventRecord[]>,
): void {
  const families = new Map([...wanted].filter(([, events]) => events.length === 0));
  if (families.size === 0) return;
  for (const { value } of new LogTail(infoPath(root, hash, threadId)).read(['"attempt":'])) {
    const event = readEvent(value);
    if (event?.attempt === undefined) continue;
    const known = knownEvent(event);
    const parent = known?.type === "attempt_start" ? known.payload.parent : undefined;
    const family = families.get(event.attempt) ?? families.get(parent ?? "");
    if (!family) continue;
    families.set(event.attempt, family);
    family.push(event);
  }
}
