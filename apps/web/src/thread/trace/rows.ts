import {
  type Attempt,
  type AttemptTurn,
  knownEvent,
  type Retry,
  sleepsUntil,
  totalTokens,
} from "@uncaged/workflow/records";
import type { Status } from "@uncaged/workflow-server/api-types";
import { roleName, withoutMarks } from "../../lib/format.ts";
import { type Card, failedAmong, nameOf, type ThreadLog } from "../../lib/thread-log.ts";
import { isEnded, isLive } from "../../lib/threads.ts";
import { finished, leaf, lineIn, type TraceNode, type TraceRow } from "./nodes.ts";
import { Places } from "./places.ts";

export type { TraceRow } from "./nodes.ts";

/** The rows of a thread in the order of time. A parent comes before its children. */
export function traceRows(log: ThreadLog): TraceRow[] {
  const cards = log.cards.toSorted(({ attempt: a }, { attempt: b }) => inOrder(a, b));
  const failed = log.end === null ? [] : failedAmong(log.cards);
  const nodes = new Map(
    cards.map((card) => [card.attempt.attempt, nodeOf(card, log, failed.includes(card))]),
  );
  const retried = retriesIn(cards);
  const places = new Places(nodes);
  for (const card of cards) {
    const node = nodes.get(card.attempt.attempt) as TraceNode;
    const around = places.around(card, askerOf(card));
    around.push(node);
    const retry = retried.get(card.attempt.attempt);
    if (retry) around.push(retryNode(`${card.attempt.attempt}/retry`, retry, card));
  }
  const rows: TraceRow[] = [];
  const add = (list: TraceNode[], parent: string | null, depth: number): void => {
    for (const { row, children } of list) {
      rows.push({ ...row, parent, depth });
      add(children, row.id, depth + 1);
    }
  };
  add(finished([...places.top, ...pausesIn(log, cards)]), null, 0);
  return rows;
}

function inOrder(a: Attempt, b: Attempt): number {
  const later = timeOf(a) - timeOf(b) || a.attempt.length - b.attempt.length;
  return later || (a.attempt < b.attempt ? -1 : 1);
}

/** Attempts without a recorded start are in the order of their end. */
const timeOf = ({ startedAt, endedAt }: Attempt): number => startedAt ?? endedAt ?? 0;

/** The attempt that asks the question of a card, if another step asks it. */
const askerOf = ({ attempt, step }: Card): string | null => {
  const asker = step?.role === "__wait__" ? step.meta.attempt : null;
  return typeof asker === "string" ? asker : attempt.parent;
};

function nodeOf(card: Card, log: ThreadLog, isFailure: boolean): TraceNode {
  const { attempt, step } = card;
  const usage = attempt.usage === null ? 0 : totalTokens(attempt.usage);
  const row: TraceRow = {
    ...leaf(attempt.attempt, kindOf(card), attemptName(card, log)),
    status: statusOf(card, log),
    number: step?.number ?? null,
    failedAt: isFailure ? log.steps.length + 1 : null,
    startedAt: attempt.startedAt,
    endedAt: attempt.endedAt,
    tokens: usage,
    cost: attempt.cost,
    card,
  };
  // Without a worker, an attempt is over at its last event.
  if (row.status === "lost" || row.status === "parked")
    row.endedAt ??= log.lastAtOf(attempt.attempt);
  if (step?.role === "__wait__") {
    row.startedAt = step.timestamp;
    row.endedAt = log.steps[step.number]?.timestamp ?? (isOpen(card, log) ? null : log.lastAt);
  }
  return { row, children: partsOf(card, row.status === "running"), chain: false };
}

/** The name of an attempt's row; from the second run of a role at the same place on, with the number of the run. */
function attemptName({ attempt, step }: Card, { steps }: ThreadLog): string {
  const role = step?.role ?? nameOf(attempt);
  const name = role === null ? `Step ${steps.length + 1}` : roleName(role, step?.meta);
  const last = attempt.path.at(-1);
  const isNumbered = last?.in === "step.all" || last?.in === "run";
  const index = isNumbered && "iteration" in last ? (last.iteration ?? 0) : 0;
  return index === 0 ? name : `${name} #${index + 1}`;
}

const constructs: Readonly<Record<string, TraceRow["kind"]>> = {
  ...{ Loop: "loop", Branch: "branch", Check: "branch", Fork: "branch", Noop: "branch" },
};

function kindOf({ attempt, step }: Card): TraceRow["kind"] {
  if (step?.role === "__wait__") return sleepsUntil(step) === null ? "question" : "wait";
  if (step?.role === "__input__") return "answer";
  const type = attempt.input?.type ?? attempt.stepID?.split("/").at(-1)?.split("_", 1)[0];
  const isKnown = typeof type === "string" && Object.hasOwn(constructs, type);
  return (isKnown ? constructs[type] : undefined) ?? "attempt";
}

/** Tells whether a card is the thread's last step, a question without an answer. */
const isOpen = ({ step }: Card, { steps, status }: ThreadLog): boolean =>
  step?.number === steps.length && (status === null || !isOver(status));

const isOver = (status: Status): boolean => isEnded(status) || status === "moved";

function statusOf(card: Card, log: ThreadLog): TraceRow["status"] {
  const { attempt, step } = card;
  if (attempt.saved) return "copied";
  if (step?.role === "__wait__") {
    if (isOpen(card, log)) return "waiting";
    if (step.number !== log.steps.length) return "done";
    return log.status === "moved" ? "parked" : "cancelled";
  }
  if (attempt.status === "committed") return "done";
  if (attempt.status !== "running" || log.status === null || isLive(log.status))
    return attempt.status;
  return log.status === "waiting" && asks(attempt, log) ? "parked" : "lost";
}

/** Tells whether an attempt, or an attempt in it, asks the thread's open question. */
function asks({ attempt }: Attempt, log: ThreadLog): boolean {
  const parents = new Map(log.cards.map((card) => [card.attempt.attempt, card.attempt.parent]));
  const question = log.cards.findLast(({ step }) => step !== null);
  const seen = new Set<string>();
  let one = question ? askerOf(question) : null;
  while (one !== null && one !== attempt && !seen.has(one)) {
    seen.add(one);
    one = parents.get(one) ?? null;
  }
  return one === attempt;
}

function partsOf(card: Card, isRunning: boolean): TraceNode[] {
  const { turns, retries, notes, endedAt, attempt: id } = card.attempt;
  const turnNodes = turns.map((turn, index): TraceNode => {
    const part = leaf(`${id}/${index}`, turn.kind, nameOfTurn(turn));
    if (turn.kind === "tool") {
      const times = { startedAt: turn.at, endedAt: turn.endedAt };
      const status = turn.status === "running" && !isRunning ? "lost" : turn.status;
      return node({ ...part, ...times, status, card, turn });
    }
    const end = turns[index + 1]?.at ?? endedAt;
    const status = end === null && isRunning ? "running" : "done";
    return node({ ...part, startedAt: turn.at, endedAt: end, status, card, turn });
  });
  const ofCalls = retries.filter((retry) => retry.attempt === undefined);
  const waits = notes.flatMap((note, index): TraceNode[] => {
    const event = knownEvent(note);
    if (event?.type !== "llm_wait") return [];
    const { delay_ms, reason } = event.payload;
    const delay = Number.isFinite(delay_ms) ? delay_ms : 0;
    const times = { startedAt: note.timestamp, endedAt: note.timestamp + delay };
    return [node({ ...leaf(`${id}/wait-${index}`, "wait", lineIn(reason)), ...times, card })];
  });
  return [
    ...turnNodes,
    ...ofCalls.map((retry, index) => retryNode(`${id}/retry-${index}`, retry, card)),
    ...waits,
  ];
}

const node = (row: TraceRow): TraceNode => ({ row, children: [], chain: false });

const nameOfTurn = (turn: AttemptTurn): string =>
  turn.kind === "tool"
    ? turn.name
    : withoutMarks(lineIn(turn.text)) || (turn.kind === "text" ? "Response" : "Thinking");

const retryNode = (id: string, { at, delayMs, error }: Retry, card: Card): TraceNode =>
  node({
    ...leaf(id, "retry", lineIn(error)),
    startedAt: at,
    endedAt: at + (delayMs ?? 0),
    card,
  });

const retriesIn = (cards: readonly Card[]): ReadonlyMap<string, Retry> =>
  new Map(
    cards.flatMap(({ attempt: { retries } }) =>
      retries.flatMap((retry) =>
        retry.attempt === undefined ? [] : [[retry.attempt, retry] as const],
      ),
    ),
  );

const leastPauseMs = 1_000;

/** The times without an attempt, an open question or a retry's delay: the thread was paused, or had no worker. */
function pausesIn(log: ThreadLog, cards: readonly Card[]): TraceNode[] {
  const retried = retriesIn(cards);
  const starts = log.lines.filter(({ type }) => type === "worker_start");
  const pauses: TraceNode[] = [];
  const add = (from: number, to: number | null, name: string) => {
    const times = { startedAt: from, endedAt: to };
    const status = to === null ? "waiting" : "done";
    pauses.push(node({ ...leaf(`pause-${from}`, "pause", name), ...times, status }));
  };
  let busyUntil: number | null = log.start?.createdAt ?? null;
  for (const { attempt, step } of cards) {
    const { startedAt, endedAt, saved } = attempt;
    if (saved || startedAt === null) continue;
    if (busyUntil !== null && startedAt - busyUntil >= leastPauseMs) {
      const from = busyUntil;
      const restart = starts.some(({ timestamp }) => timestamp > from && timestamp <= startedAt);
      add(from, startedAt, restart ? "No worker" : "Paused");
    }
    const asked = step?.role === "__wait__" ? log.steps[step.number]?.timestamp : undefined;
    const { at = 0, delayMs = 0 } = retried.get(attempt.attempt) ?? {};
    busyUntil = Math.max(busyUntil ?? 0, asked ?? endedAt ?? Infinity, at + (delayMs ?? 0));
  }
  const names: Partial<Record<Status, string>> = { paused: "Paused", interrupted: "No worker" };
  const stopped = log.status && names[log.status];
  if (stopped && busyUntil !== null)
    add(busyUntil === Infinity ? log.lastAt : busyUntil, null, stopped);
  return pauses;
}

/** The row that needs attention: the failure, the open question, else the newest running or last attempt. */
export function leadingRow(rows: readonly TraceRow[], status: Status): TraceRow | null {
  const attempts = rows.filter(({ kind }) => kind === "attempt");
  return (
    rows.find(({ failedAt }) => status === "failed" && failedAt !== null) ??
    rows.findLast((row) => row.kind === "question" && row.status === "waiting") ??
    rows.findLast((row) => row.kind === "wait" && row.status === "waiting") ??
    attempts.findLast((row) => row.status === "running") ??
    attempts.at(-1) ??
    rows.at(-1) ??
    null
  );
}
