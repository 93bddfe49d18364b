import { useQueryClient } from "@tanstack/react-query";
import {
  type Attempt,
  AttemptLog,
  type EventRecord,
  readEvent,
  subjectOf,
} from "@uncaged/workflow/records";
import type * as Api from "@uncaged/workflow-server/api-types";
import { useEffect, useMemo, useState } from "react";
import { Stream } from "./stream.ts";
import { readAttempts, threadKeys } from "./threads.ts";

/** An attempt with the step that it committed, if any. */
export type Card = { readonly attempt: Attempt; readonly step: Api.NumberedStep | null };

/** A thread's log, folded from its stream. */
export class ThreadLog {
  start: Api.ThreadEvents["start"] | null = null;
  status: Api.Status | null = null;
  /** Whether the thread pauses after the current step. */
  isPausing = false;
  end: Api.ThreadEvents["end"] | null = null;
  isRemoved = false;
  /** Time of the newest record or event, in milliseconds since the epoch. */
  lastAt = 0;
  /** Counts the changes. */
  version = 0;
  /** The id of the last event, to continue after. */
  cursor: string | null = null;
  #fold = new AttemptLog();
  readonly #steps: Api.NumberedStep[] = [];
  readonly #cards = new Map<string, Card>();
  readonly #copied = new Map<string, Api.Attempt>();

  /** The ended attempts in the order of their ends, then the running attempts. */
  get cards(): readonly Card[] {
    return this.#fold.attempts.filter(isShown).map((attempt) => this.#cardOf(attempt));
  }

  get steps(): readonly Api.NumberedStep[] {
    return this.#steps;
  }

  /** Events outside of attempts. In the logs of older versions, all events are outside of attempts. */
  get lines(): readonly EventRecord[] {
    return this.#fold.lines;
  }

  /** The time of an attempt's last event; null for an unknown attempt. */
  lastAtOf(attempt: string): number | null {
    return this.#fold.lastAt(attempt);
  }

  takeStart(start: Api.ThreadEvents["start"]): void {
    this.start = start;
    this.#fold = new AttemptLog({ saved: start.forkFrom?.steps });
    this.#seen(start.createdAt);
  }

  takeStep(step: Api.NumberedStep): void {
    this.#steps.push(step);
    this.#complete(this.#fold.step(step.number, step));
    this.#seen(step.timestamp);
  }

  takeEvent(line: Api.LogLine): void {
    const event = readEvent(line);
    if (event === null) return;
    this.#fold.event(event);
    this.#seen(event.timestamp);
  }

  takeEnd(end: Api.ThreadEvents["end"]): void {
    this.end = end;
    this.status = end.status;
    this.#fold.close(end.result && { meta: { reason: end.status } });
  }

  /** Adds the recorded attempts of steps that a fork has copied, because the log of the fork lacks their events. */
  takeCopied(attempts: readonly Api.Attempt[]): void {
    for (const copied of attempts) {
      if (copied.saved !== true) continue;
      this.#copied.set(copied.attempt, copied);
      const own = this.#fold.find(copied.attempt);
      if (own) this.#complete(own);
    }
  }

  #complete(attempt: Attempt): void {
    const copied = attempt.saved ? this.#copied.get(attempt.attempt) : undefined;
    if (!copied) return;
    const { path, turns, retries, startedAt, parent = null, title = null, stepID = null } = copied;
    Object.assign(attempt, { path, parent, turns, retries, startedAt, title, stepID });
    attempt.version += 1;
  }

  /** Returns the card of an attempt: the same object until the attempt commits, so components compare versions. */
  #cardOf(attempt: Attempt): Card {
    const known = this.#cards.get(attempt.attempt);
    if (known && (known.step?.number ?? null) === attempt.step) return known;
    const step = attempt.step === null ? null : (this.#steps[attempt.step - 1] ?? null);
    const card = { attempt, step };
    this.#cards.set(attempt.attempt, card);
    return card;
  }

  #seen(timestamp: number): void {
    this.lastAt = Math.max(this.lastAt, timestamp);
  }
}

/** The attempts that failed after the last step, at which a failed thread stopped. */
export const failedAmong = (cards: readonly Card[]): Card[] =>
  cards
    .slice(cards.findLastIndex(({ step }) => step !== null) + 1)
    .filter(({ attempt }) => attempt.status === "failed");

/** Tells whether to show an attempt. In plain bundles, an attempt has no name or content before a report or a step. */
const isShown = ({ role, step, stepID, status, turns, error }: Attempt): boolean =>
  role !== null ||
  step !== null ||
  error !== null ||
  turns.length > 0 ||
  (stepID !== null && status !== "committed");

/** The visible name of an attempt: its role, or the name under which it publishes; null without both. */
export const nameOf = ({ role, stepID }: Attempt): string | null => role ?? stepID;

/**
 * The document's node of an attempt; for an attempt in a child workflow, the step that runs the workflow. A question
 * and its answer belong to the node that asks.
 */
export function nodeIdOf({ attempt, step }: Card): string | null {
  const isQuestion = step?.role === "__wait__";
  if (isQuestion || step?.role === "__input__") {
    const { stepID, nodeId } = step.meta;
    if (typeof nodeId === "string") return nodeId;
    if (isQuestion && typeof stepID === "string") return stepID.split("/", 1)[0] ?? null;
  }
  return attempt.path.find((part) => "run" in part)?.in ?? nameOf(attempt);
}

/** The subject of a thread, as in the list. */
export const subjectIn = ({ workflow, prompt, params }: Api.Thread): string =>
  subjectOf({ name: workflow, parameters: { prompt, params } });

/** Milliseconds of an attempt or a row, up to `now` while it runs; null if unknown. */
export function durationOf(
  { startedAt, endedAt }: Pick<Attempt, "startedAt" | "endedAt">,
  now: number | null = null,
): number | null {
  const end = endedAt ?? now;
  return startedAt === null || end === null || end < startedAt ? null : end - startedAt;
}

/** Maximum number of copied steps for which the agents' events are read. More would take too long. */
const mostCopied = 500;

/** Minimum time between reads of the server's counts of a thread's steps, in milliseconds. */
const countEveryMs = 1_000;

/** A thread's log, live. `threadId` is the full id; null for an empty log. */
export function useThreadLog(threadId: string | null): ThreadLog {
  const client = useQueryClient();
  const { log } = useMemo(() => ({ threadId, log: new ThreadLog() }), [threadId]);
  const [, setDrawn] = useState(0);
  useEffect(() => {
    if (threadId === null) return;
    let frame = 0;
    let timer: ReturnType<typeof setTimeout> | null = null;
    // A long log arrives in thousands of pieces, so the page draws at most once a frame.
    const changed = (isCounted: boolean) => {
      log.version += 1;
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        setDrawn((count) => count + 1);
      });
      if (!isCounted) return;
      timer ??= setTimeout(() => {
        timer = null;
        void client.invalidateQueries({ queryKey: threadKeys.one(threadId) });
      }, countEveryMs);
    };
    const taking =
      <Data>(take: (data: Data) => void, isCounted = true) =>
      (data: Data) => {
        take(data);
        changed(isCounted);
      };
    const stream = new Stream<Api.ThreadEvents>({
      thread: threadId,
      from: log.cursor,
      on: {
        start: taking((start) => {
          log.takeStart(start);
          const { steps = 0 } = start.forkFrom ?? {};
          if (steps === 0 || steps > mostCopied) return;
          // Without the attempts, copied steps show only their records.
          void readAttempts(threadId).then(({ attempts }) => {
            log.takeCopied(attempts);
            changed(false);
          }, Boolean);
        }),
        step: taking((step) => log.takeStep(step)),
        event: taking((event) => log.takeEvent(event), false),
        status: taking(({ pausing = false, status }) => {
          log.status = status;
          log.isPausing = pausing;
        }),
        end: taking((end) => {
          log.takeEnd(end);
          stream.close();
        }),
        removed: taking(() => {
          log.isRemoved = true;
          stream.close();
        }, false),
      },
    });
    return () => {
      log.cursor = stream.position ?? log.cursor;
      stream.close();
      cancelAnimationFrame(frame);
      if (timer) clearTimeout(timer);
    };
  }, [client, log, threadId]);
  return log;
}
