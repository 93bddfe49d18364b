import { useQueryClient } from "@tanstack/react-query";
import type {
  LogLine,
  NumberedStep,
  Status,
  ThreadEvents,
} from "@uncaged/workflow-server/api-types";
import { useEffect, useMemo, useState } from "react";
import { type Activity, newActivity, tell } from "./activity.ts";
import { isRecord } from "./json.ts";
import { pathOf } from "./request.ts";
import { Stream } from "./stream.ts";
import { threadKeys } from "./threads.ts";

/** Events of a step that may come after it was committed. */
const lateTypes = new Set(["step_done", "step_print", "var_changed", "file_done"]);

/**
 * What a workflow inside of this one has told is told by the step that runs it; here it becomes an event
 * of its own step, by the name under which that is committed: `Subflow_A/LLM_B`.
 */
function withinOf(line: LogLine): LogLine {
  const { type, stepID, payload } = line;
  if (type !== "tool_message" || typeof stepID !== "string" || !isRecord(payload)) return line;
  const { data } = payload;
  if (!isRecord(data) || typeof data.type !== "string" || !isRecord(data.payload)) return line;
  if (typeof data.stepID !== "string" || typeof data.runID !== "string") return line;
  return withinOf({
    ...line,
    type: data.type,
    stepID: `${stepID}/${data.stepID}`,
    payload: data.payload,
  });
}

/**
 * A thread as its stream tells it: a card for each step, and one for each that is at work. A step's
 * events come before it; which of them are its own is told by their `stepID`.
 */
export class ThreadLog {
  start: ThreadEvents["start"] | null = null;
  status: Status | null = null;
  end: ThreadEvents["end"] | null = null;
  isRemoved = false;
  /** When the last thing happened. */
  lastAt = 0;
  readonly #cards: Card[] = [];
  readonly #steps: NumberedStep[] = [];
  #open: Card[] = [];
  #made = 0;

  /** The cards in the order of the log; those that are not committed come last. */
  get cards(): readonly Card[] {
    return this.#open.length > 0 ? [...this.#cards, ...this.#open] : this.#cards;
  }

  /** The cards that are not committed. */
  get open(): readonly Card[] {
    return this.#open;
  }

  /** The committed steps. */
  get steps(): readonly NumberedStep[] {
    return this.#steps;
  }

  takeStart(start: ThreadEvents["start"]): void {
    this.start = start;
    this.#seen(start.createdAt);
  }

  takeStep(step: NumberedStep): void {
    const own = this.#openFor(step.role);
    this.#open = this.#open.filter((card) => card !== own);
    // What failed and was gone on from will not be committed any more.
    const failed = this.#open.filter((card) => card.activity?.error);
    this.#open = this.#open.filter((card) => !failed.includes(card));
    const card = own ?? this.#newCard(null, this.#beginOf(step));
    card.step = step;
    card.version += 1;
    this.#cards.push(...failed, card);
    this.#steps.push(step);
    this.#seen(step.timestamp);
  }

  takeEvent(told: LogLine): void {
    const line = withinOf(told);
    const { type, stepID, timestamp } = line;
    if (type === undefined || typeof stepID !== "string") return;
    const card = this.#cardFor(type, stepID, timestamp);
    card.activity ??= newActivity(stepID, timestamp);
    tell(card.activity, line);
    if (!card.step) card.beganAt = card.activity.startedAt;
    card.version += 1;
    this.#seen(timestamp);
  }

  #cardFor(type: string, stepID: string, timestamp: number): Card {
    const open = this.#open.find(({ activity }) => activity?.stepID === stepID);
    if (open) return open;
    const late = lateTypes.has(type) && this.#committedFor(stepID);
    if (late) return late;
    const card = this.#newCard(stepID, timestamp);
    this.#open.push(card);
    return card;
  }

  /** When a step began that told nothing: when the one before ended, and not before the thread began. */
  #beginOf({ timestamp }: NumberedStep): number | null {
    const created = this.start?.createdAt ?? null;
    const before = this.#steps.at(-1)?.timestamp ?? created;
    if (before === null || created === null || timestamp < created) return before;
    return Math.max(before, created);
  }

  /** The open card that a step of this role ends. */
  #openFor(role: string): Card | undefined {
    const ids = this.#open.map(({ activity }) => activity?.stepID ?? "");
    const exact = ids.indexOf(role);
    const counted = ids.findIndex((id) => id.replace(/#\d+$/, "") === role);
    // A program may name its steps otherwise than its roles.
    const only = role.startsWith("__") || ids.length !== 1 ? -1 : 0;
    return this.#open[[exact, counted, only].find((index) => index >= 0) ?? -1];
  }

  #committedFor(stepID: string): Card | undefined {
    return this.#cards.findLast(
      ({ step, activity }) => activity?.stepID === stepID || step?.role === stepID,
    );
  }

  #newCard(stepID: string | null, beganAt: number | null): Card {
    this.#made += 1;
    const activity = stepID === null ? null : newActivity(stepID, beganAt ?? 0);
    return { key: `card-${this.#made}`, step: null, activity, beganAt, version: 0 };
  }

  #seen(timestamp: number): void {
    this.lastAt = Math.max(this.lastAt, timestamp);
  }
}

/** One step as the reader sees it: what it committed, and what happened inside of it. */
export type Card = {
  /** Stays the same from the first event on. */
  readonly key: string;
  /** Null until it is committed. */
  step: NumberedStep | null;
  activity: Activity | null;
  /** When it began, as far as that is known; milliseconds since the epoch. */
  beganAt: number | null;
  /** Counts its changes, for who shows it. */
  version: number;
};

/** The role of a card, also of one that is not committed yet: `coder#2` is the second step of `coder`. */
export const roleOf = ({ step, activity }: Card): string =>
  step?.role ?? (activity?.stepID ?? "").replace(/#\d+$/, "");

/** How long a committed step took, in milliseconds; null when that is not known. */
export function durationOf({ step, beganAt }: Card): number | null {
  if (!step || beganAt === null || step.timestamp < beganAt) return null;
  return step.timestamp - beganAt;
}

/** What is counted from a thread's steps is asked for this often at the most. */
const askEveryMs = 1_000;

/** A thread's log: all that stands in it, and all that comes. Give the id as it is, not shortened. */
export function useThreadLog(threadId: string): ThreadLog {
  const client = useQueryClient();
  const log = useMemo(() => ({ threadId, log: new ThreadLog() }), [threadId]).log;
  const [, setShown] = useState(0);
  useEffect(() => {
    const reader = new Reader(log, {
      onShow: () => setShown((count) => count + 1),
      onAsk: () => void client.invalidateQueries({ queryKey: threadKeys.one(threadId) }),
    });
    const stream = new Stream<ThreadEvents>({
      url: (from) => {
        const at = from ?? reader.position;
        return `/api${pathOf("threads", threadId, "events")}${at ? `?from=${encodeURIComponent(at)}` : ""}`;
      },
      on: reader.listeners(() => stream.close()),
    });
    return () => {
      reader.position = stream.position;
      stream.close();
      reader.close();
    };
  }, [client, log, threadId]);
  return log;
}

type Told = { onShow: () => void; onAsk: () => void };

/** Where a log was read to, for one who begins to read it again. */
const positions = new WeakMap<ThreadLog, string>();

class Reader {
  readonly #log: ThreadLog;
  readonly #told: Told;
  #frame = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(log: ThreadLog, told: Told) {
    this.#log = log;
    this.#told = told;
  }

  get position(): string | null {
    return positions.get(this.#log) ?? null;
  }

  set position(position: string | null) {
    if (position !== null) positions.set(this.#log, position);
  }

  listeners(onOver: () => void) {
    const log = this.#log;
    return {
      start: (data: ThreadEvents["start"]) => this.#take(() => log.takeStart(data), true),
      step: (data: ThreadEvents["step"]) => this.#take(() => log.takeStep(data), true),
      event: (data: ThreadEvents["event"]) => this.#take(() => log.takeEvent(data), false),
      status: ({ status }: ThreadEvents["status"]) =>
        this.#take(() => {
          log.status = status;
        }, true),
      end: (data: ThreadEvents["end"]) => {
        this.#take(() => {
          log.end = data;
          log.status = data.status;
        }, true);
        onOver();
      },
      removed: () => {
        this.#take(() => {
          log.isRemoved = true;
        }, false);
        onOver();
      },
    };
  }

  close(): void {
    cancelAnimationFrame(this.#frame);
    if (this.#timer) clearTimeout(this.#timer);
  }

  // A long log comes in thousands of pieces: they are shown together, once a frame.
  #take(change: () => void, isCounted: boolean): void {
    change();
    if (this.#frame === 0) {
      this.#frame = requestAnimationFrame(() => {
        this.#frame = 0;
        this.#told.onShow();
      });
    }
    if (!isCounted) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#told.onAsk();
    }, askEveryMs);
  }
}
