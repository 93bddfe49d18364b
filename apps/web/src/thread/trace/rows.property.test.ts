import { expect, test } from "bun:test";
import {
  type Attempt,
  AttemptLog,
  attemptJson,
  type Path,
  readEvent,
} from "@uncaged/workflow/records";
import fc from "fast-check";
import { ThreadLog } from "../../lib/thread-log.ts";
import { traceGraph } from "../graph/graph.ts";
import { axisOf } from "./axis.ts";
import { type TraceRow, traceRows } from "./rows.ts";

/*
 * Generated threads: concurrent, looping, retried, forked, waiting, killed, interrupted. While they run and after,
 * the rows, the bars and the graph must agree with the attempts that the command line shows.
 */

type Part =
  | { do: "step"; role: string; spends: boolean; fails: boolean }
  | { do: "loop"; concurrent: boolean; iterations: Part[][] }
  | { do: "fork"; chains: Part[][] }
  | { do: "all"; members: { fails: number }[] }
  | { do: "ask"; within: boolean };

const step = fc.record({
  do: fc.constant("step" as const),
  role: fc.constantFrom("plan", "code", "test"),
  spends: fc.boolean(),
  fails: fc.boolean(),
});
const together = fc.record({
  do: fc.constant("all" as const),
  members: fc.array(fc.record({ fails: fc.nat(2) }), { minLength: 1, maxLength: 4 }),
});
const parts: fc.Arbitrary<Part[]> = fc.letrec<{ parts: Part[]; part: Part }>((tie) => ({
  parts: fc.array(tie("part"), { minLength: 1, maxLength: 3 }),
  part: fc.oneof(
    { maxDepth: 2 },
    step,
    together,
    fc.record({
      do: fc.constant("loop" as const),
      concurrent: fc.boolean(),
      iterations: fc.array(tie("parts"), { minLength: 1, maxLength: 3 }),
    }),
    fc.record({
      do: fc.constant("fork" as const),
      chains: fc.array(tie("parts"), { minLength: 2, maxLength: 3 }),
    }),
  ),
})).parts;
const program = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: parts },
    fc
      .record({ do: fc.constant("ask" as const), within: fc.boolean() })
      .map((one): Part[] => [one]),
  ),
  { minLength: 1, maxLength: 4 },
);

type Item =
  | { kind: "event"; attempt: string; type: string; payload: object }
  | { kind: "step"; role: string; attempt: string; meta: Record<string, unknown> };

type Place = { path: Path; parent: string | null };

/** Plays a program. `choose` picks the next of the concurrent parts. */
class Play {
  #attempts = 0;
  #constructs = 0;
  readonly #choose: () => number;

  constructor(choose: () => number) {
    this.#choose = choose;
  }

  *sequence(list: readonly Part[], place: Place): Generator<Item> {
    for (const part of list) yield* this.#part(part, place);
  }

  *#part(part: Part, place: Place): Generator<Item> {
    switch (part.do) {
      case "step": {
        const meta = part.spends
          ? { usage: { input_tokens: 10, output_tokens: 5 }, cost: 0.25 }
          : {};
        yield* this.#attempt(part.role, place, meta, part.fails);
        return;
      }
      case "all": {
        const members = part.members.map((member, index) =>
          this.#member(member.fails, index, place),
        );
        yield* this.#together(members);
        return;
      }
      case "ask":
        yield* this.#ask(part.within, place);
        return;
      default:
        yield* this.#construct(part, place);
    }
  }

  *#attempt(role: string, { path, parent }: Place, meta: object, fails: boolean): Generator<Item> {
    const attempt = this.#id();
    yield this.#begin(attempt, role, path, parent);
    yield { kind: "event", attempt, type: "llm_token", payload: { delta: "Hello" } };
    if (fails) {
      const error = { name: "Error", message: "no" };
      yield { kind: "event", attempt, type: "attempt_end", payload: { outcome: "failed", error } };
      yield* this.#attempt(role, { path, parent }, meta, false);
    } else yield { kind: "step", role, attempt, meta: { ...meta } };
  }

  *#member(fails: number, index: number, { parent, path: around }: Place): Generator<Item> {
    const path = [...around, { in: "step.all", child: "read", iteration: index }];
    for (let number = 1; ; number += 1) {
      const attempt = this.#id();
      yield this.#begin(attempt, "read", path, parent);
      if (number > fails) {
        yield { kind: "step", role: "read", attempt, meta: { __durable__: { member: index } } };
        return;
      }
      const retry = { try: number, of: 3, at: 0, delayMs: 1 };
      const failure = { name: "Error", message: "no" };
      const mark = { member: index, retry, failure };
      yield { kind: "step", role: "read", attempt, meta: { __durable__: mark } };
    }
  }

  *#construct(part: Part & { do: "loop" | "fork" }, { path, parent }: Place): Generator<Item> {
    const attempt = this.#id();
    this.#constructs += 1;
    const role = `${part.do === "loop" ? "Loop" : "Fork"}_${this.#constructs}`;
    yield this.#begin(attempt, role, path, parent);
    yield {
      kind: "event",
      attempt,
      type: "step_start",
      payload: { type: part.do === "loop" ? "Loop" : "Noop" },
    };
    const chains = (part.do === "loop" ? part.iterations : part.chains).map((list, index) => {
      const at = part.do === "loop" ? { child: "a", iteration: index } : { child: `c${index}` };
      return this.sequence(list, { path: [...path, { in: role, ...at }], parent: attempt });
    });
    if (part.do === "loop" && !part.concurrent) for (const chain of chains) yield* chain;
    else yield* this.#together(chains);
    yield { kind: "step", role, attempt, meta: {} };
  }

  *#ask(within: boolean, { path, parent }: Place): Generator<Item> {
    const asker = this.#id();
    if (within) yield this.#begin(asker, "deploy", path, parent);
    const meta = within ? { stepQuestion: "k", attempt: asker } : { for: "a" };
    yield { kind: "step", role: "__wait__", attempt: this.#id(), meta };
    yield { kind: "step", role: "__input__", attempt: this.#id(), meta: {} };
    if (within) yield { kind: "step", role: "deploy", attempt: asker, meta: {} };
  }

  *#together(chains: readonly Generator<Item>[]): Generator<Item> {
    const open = [...chains];
    while (open.length > 0) {
      const at = this.#choose() % open.length;
      const next = open[at]?.next();
      if (next?.done === false) yield next.value;
      else open.splice(at, 1);
    }
  }

  #id(): string {
    this.#attempts += 1;
    return `a${String(this.#attempts).padStart(4, "0")}`;
  }

  #begin(attempt: string, role: string, path: Path, parent: string | null): Item {
    const payload = { role, path, ...(parent !== null && { parent }) };
    return { kind: "event", attempt, type: "attempt_start", payload };
  }
}

type End = "running" | "waiting" | "interrupted" | "killed" | "completed";

class Thread {
  readonly log = new ThreadLog();
  readonly attempts: AttemptLog;
  #seq = 0;
  #now = 1_000;
  #steps = 0;

  constructor(saved: number) {
    this.attempts = new AttemptLog({ saved });
    const forkFrom = saved > 0 ? { threadId: "00", steps: saved } : null;
    const start = { threadId: "01", workflow: "w", hash: "h", prompt: "", maxRounds: 99 };
    this.log.takeStart({ ...start, createdAt: 0, forkFrom });
    this.log.status = "running";
  }

  take(item: Item): void {
    this.#now += 7;
    if (item.kind === "step") {
      this.#steps += 1;
      const { role, attempt, meta } = item;
      const record = { role, content: "", meta, timestamp: this.#now, attempt };
      this.log.takeStep({ ...record, number: this.#steps });
      this.attempts.step(this.#steps, record);
      return;
    }
    this.#seq += 1;
    const { attempt, type, payload } = item;
    const line = { tag: "EVENT000", content: "", stepID: null, timestamp: this.#now };
    const whole = { ...line, type, payload, attempt, seq: this.#seq };
    this.log.takeEvent(whole);
    const event = readEvent(whole);
    if (event) this.attempts.event(event);
  }

  end(end: End): void {
    if (end === "running") return;
    this.log.status = end;
    if (end === "waiting" || end === "interrupted") return this.attempts.close(null);
    this.attempts.close({ meta: { reason: end } });
    this.log.takeEnd({ status: end, result: { returnCode: 1, summary: "" } });
  }
}

const isShown = ({ role, step: number, error, turns }: Attempt) =>
  role !== null || number !== null || error !== null || turns.length > 0;

/** Checks the rows of attempts against the attempts of the command line. */
function agree({ log, attempts }: Thread): void {
  const rows = traceRows(log);
  const byId = new Map(rows.map((row) => [row.id, row]));
  expect(byId.size).toBe(rows.length);
  const shown = attempts.attempts.filter(isShown);
  const own = rows.filter((row) => row.card?.attempt.attempt === row.id);
  expect(own.map(({ id }) => id).toSorted()).toEqual(
    shown.map(({ attempt }) => attempt).toSorted(),
  );
  for (const attempt of shown) {
    const row = byId.get(attempt.attempt) as TraceRow;
    const json = attemptJson(attempt);
    expect(row.number).toBe(json.step);
    const used = json.usage ? json.usage.input_tokens + json.usage.output_tokens : 0;
    if (row.kind === "attempt") expect([row.tokens, row.cost]).toEqual([used, json.cost]);
    else expect(row.tokens).toBe(spentWithin(row, rows));
    if (row.kind === "question") {
      const answer = log.steps[json.step ?? 0];
      expect([row.startedAt, row.endedAt]).toEqual([
        json.endedAt,
        answer?.timestamp ?? (log.end ? log.lastAt : null),
      ]);
    } else {
      expect([row.startedAt, row.endedAt]).toEqual([json.startedAt, json.endedAt]);
      const status = json.status === "committed" ? "done" : json.status;
      expect(row.status).toBe(attempt.saved ? "copied" : status);
    }
    placed(row, byId, attempt);
  }
  ordered(rows);
  barred(rows, log.lastAt);
  drawn(rows);
}

/** The tokens of the attempts in a construct, without copied attempts. */
function spentWithin({ id }: TraceRow, rows: readonly TraceRow[]): number {
  const inside = new Set([id]);
  let tokens = 0;
  for (const row of rows) {
    if (!inside.has(row.parent ?? "")) continue;
    inside.add(row.id);
    if (row.kind === "attempt" && row.status !== "copied") tokens += row.tokens;
  }
  return tokens;
}

/** Checks that a row is in its parent attempt, and in the iterations of its path. */
function placed(row: TraceRow, byId: ReadonlyMap<string, TraceRow>, attempt: Attempt): void {
  const around: TraceRow[] = [];
  for (let one = row.parent; one !== null; one = byId.get(one)?.parent ?? null)
    around.push(byId.get(one) as TraceRow);
  if (attempt.parent !== null) expect(around.map(({ id }) => id)).toContain(attempt.parent);
  for (const part of attempt.path) {
    if (!("child" in part) || part.iteration === undefined || part.in === "step.all") continue;
    expect(around.map(({ name }) => name)).toContain(`Iteration ${part.iteration + 1}`);
  }
  expect(row.depth).toBe(around.length);
}

function ordered(rows: readonly TraceRow[]): void {
  const seen = new Map<string | null, number>();
  const ids = new Set<string | null>([null]);
  for (const { id, parent, startedAt, endedAt } of rows) {
    expect(ids.has(parent)).toBe(true);
    ids.add(id);
    const at = startedAt ?? endedAt ?? Infinity;
    expect(seen.get(parent) ?? 0).toBeLessThanOrEqual(at);
    seen.set(parent, at);
  }
}

/** Checks that bars are in the order of time. */
function barred(rows: readonly TraceRow[], now: number): void {
  const axis = axisOf(rows, now);
  const times = rows.flatMap(({ startedAt, endedAt, status }) =>
    status === "copied" ? [] : [startedAt ?? [], endedAt ?? []].flat(),
  );
  if (!axis) return;
  const places = times.toSorted((a, b) => a - b).map((time) => axis.at(time));
  for (const [index, place] of places.entries()) {
    expect(place).toBeGreaterThanOrEqual(places[index - 1] ?? 0);
    expect(place).toBeLessThanOrEqual(1 + 1e-9);
  }
}

/** Checks that each node has its runs, and that each line leads from an end to a later start. */
function drawn(rows: readonly TraceRow[]): void {
  const { nodes, edges } = traceGraph(rows);
  const done = rows.filter(
    ({ kind, status }) =>
      ["attempt", "loop", "branch", "question", "wait"].includes(kind) &&
      (status === "done" || status === "copied"),
  );
  expect(nodes.reduce((sum, { count }) => sum + count, 0)).toBe(done.length);
  const byRow = new Map(rows.map((row) => [row.id, row]));
  const ids = new Map(nodes.map((node) => [node.id, node]));
  for (const { parent, isGroup } of nodes) {
    if (parent !== null) expect(ids.get(parent)?.isGroup).toBe(true);
    expect(typeof isGroup).toBe("boolean");
  }
  for (const { from, to, label } of edges) {
    const [a, b] = [ids.get(from), ids.get(to)];
    expect(a?.parent).toBe(b?.parent as string | null);
    const [before, after] = [byRow.get(a?.row ?? ""), byRow.get(b?.row ?? "")];
    if (from === to || label !== null || (a?.count ?? 0) > 1 || (b?.count ?? 0) > 1) continue;
    if (before && after && before.endedAt !== null && nameOf2(before) === 1 && nameOf2(after) === 1)
      expect(before.endedAt).toBeLessThanOrEqual(after.startedAt ?? Infinity);
  }
  function nameOf2(row: TraceRow): number {
    return rows.filter((one) => one.name === row.name).length;
  }
}

test("the rows, the bars and the graph of a thread agree with its attempts, live and after", () => {
  fc.assert(
    fc.property(
      program,
      fc.infiniteStream(fc.nat(11)),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.constantFrom<End>("running", "interrupted", "killed", "completed"),
      fc.nat(3),
      (made, turns, cut, wanted, copied) => {
        const play = new Play(() => turns.next().value as number);
        const items = [...play.sequence(made.flat(), { path: [], parent: null })];
        const steps = items.filter(({ kind }) => kind === "step").length;
        const thread = new Thread(Math.min(copied, steps - 1));
        const kept = items.slice(0, Math.ceil(items.length * (wanted === "completed" ? 1 : cut)));
        const every = Math.ceil(kept.length / 6);
        for (const [index, item] of kept.entries()) {
          thread.take(item);
          if (index % every === 0) agree(thread);
        }
        const before = shapeOf(thread);
        const last = kept.at(-1);
        thread.end(last?.kind === "step" && last.role === "__wait__" ? "waiting" : wanted);
        agree(thread);
        expect(shapeOf(thread)).toEqual(before);
      },
    ),
    { numRuns: 100 },
  );
});

/** The structure of the tree and of the graph, which the end of the thread does not change. A stop adds a pause. */
function shapeOf({ log }: Thread) {
  const rows = traceRows(log).filter(({ kind }) => kind !== "pause");
  const { nodes, edges } = traceGraph(rows);
  return {
    rows: rows.map(({ id, parent, name, depth }) => [id, parent, name, depth]),
    nodes: nodes.map(({ id, parent, isGroup }) => [id, parent, isGroup]),
    edges,
  };
}
