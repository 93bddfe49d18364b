import { closeSync, existsSync, openSync, readSync } from "node:fs";

/*
 * Compares the external effects of threads with their records. A bundle appends a line to a file at the start of each
 * step, without product code in between. Records are read through the cluster's query interface. This file shares no
 * code with the product.
 *
 * A1 A log has each step once, in order, without gaps, and one end record, which is last.
 * A2 A step does not start again after the next step has started: the step was committed.
 * A3 The process that committed a step also started it. A thawed process does not commit a step that another process
 *    started meanwhile.
 * A4 Records shown earlier are a prefix of the final log.
 * A5 Each question has one answer. Each acknowledged answer is in the log once.
 * A6 A thread ends: as killed after an acknowledged kill, else with all of its steps.
 * A7 A call of a bundle continues after a step only if the log has the step of this call, so the step was acknowledged.
 */

/**
 * Start of a step: the thread, the step's number from 0, the process, and the time. `asks`: a question came before it.
 * `call`: the id of the bundle's call, which is also in the step's record.
 */
export type Effect = {
  thread: string;
  step: number;
  pid: number;
  at: number;
  call?: string;
  asks?: true;
};

/**
 * A counting bundle: it writes its effects to `params.audit` and asks a question before the step `params.asks`. A fork
 * that copies the question must be answered again.
 */
export const auditedBundle = `import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
export const descriptor = { description: "of the fault tests", roles: {} };
export async function* run(input, options) {
  const call = crypto.randomUUID();
  const { audit, steps, ms, asks } = input.params;
  const counted = (role) => input.steps.filter((step) => step.role === role).length;
  const isAnswered = counted("__input__") > 0;
  for (let step = counted("count"); step < steps; step += 1) {
    const note = (more) => {
      const effect = { thread: options.threadId, step, pid: process.pid, at: Date.now(), call, ...more };
      appendFileSync(audit, JSON.stringify(effect) + "\\n");
    };
    if (step === asks && !isAnswered) {
      note({ asks: true });
      yield { role: "__wait__", content: "go on?", meta: { for: "word" } };
    }
    note();
    await sleep(ms, undefined, { signal: options.signal });
    yield { role: "count", content: String(step), meta: { pid: process.pid, call } };
  }
  return { returnCode: 0, summary: "counted" };
}`;

/** Effects in a growing file. */
export class Effects {
  readonly #file: string;
  readonly #all: Effect[] = [];
  #read = 0;
  #rest = "";

  constructor(file: string) {
    this.#file = file;
  }

  /** Returns all effects so far, in the order in which they happened. */
  read(): readonly Effect[] {
    if (!existsSync(this.#file)) return this.#all;
    const file = openSync(this.#file, "r");
    try {
      const bytes = Buffer.alloc(1 << 20);
      for (;;) {
        const length = readSync(file, bytes, 0, bytes.length, this.#read);
        if (length === 0) return this.#all;
        this.#read += length;
        const lines = (this.#rest + bytes.toString("latin1", 0, length)).split("\n");
        this.#rest = lines.pop() ?? "";
        for (const line of lines) this.#all.push(JSON.parse(line) as Effect);
      }
    } finally {
      closeSync(file);
    }
  }
}

/** Admin interface of a cluster, with the token. */
export type Interface = { admin: string; token: string | null };

/** Returns the lines of a thread's log from the interface of a server; null when it does not respond. */
export async function linesOf(
  { admin, token }: Interface,
  threadId: string,
): Promise<string[] | null> {
  const query = `SELECT key, value FROM state WHERE scope IS NULL AND service_name = 'thread' AND service_key = '${threadId}' AND key >= 's:' AND key < 's;'`;
  try {
    const response = await fetch(`${admin}/query`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json",
      },
      body: JSON.stringify({ query }),
      signal: AbortSignal.timeout(10_000),
    });
    if (!response.ok) return null;
    const { rows } = (await response.json()) as { rows: { key: string; value: string }[] };
    const numbers = rows.map(({ key }) => Number(key.slice(2)));
    const lines: string[] = [];
    for (const [index, { value }] of rows.entries()) {
      lines[numbers[index] ?? -1] = Buffer.from(value, "hex").toString("utf8").trim();
    }
    // A gap means a missing line, not a shorter log.
    return Array.from(lines, (line) => line ?? "");
  } catch {
    return null;
  }
}

/** Facts about a thread from outside its log. */
export type Known = {
  /** Number of steps that the thread counts to. */
  steps: number;
  /** Number of steps copied from another thread. */
  copied: number;
  /** Whether a kill was requested or acknowledged. */
  kill: "none" | "asked" | "acknowledged";
  /** Sent and acknowledged answers. */
  answers: { given: readonly string[]; acknowledged: readonly string[] };
  /** Records that an observer received. */
  shown: readonly string[];
  /** Number of times that a fault held up a process. The process may then write the start of a step late. */
  heldUp: (pid: number) => number;
  /** Freezes of processes during which nothing else failed. */
  freezes: readonly { pid: number; from: number; to: number }[];
};

type Step = {
  role?: string;
  content: string;
  meta: { pid?: number; call?: string; reason?: string };
  timestamp: number;
};

/** Returns violations of the rules by a thread, from its log, its effects in order, and the known facts. */
export function violations(
  lines: readonly string[],
  all: readonly Effect[],
  known: Known,
): string[] {
  const effects = all.filter(({ asks }) => !asks);
  const missing = lines.findIndex((line) => line === "");
  if (missing !== -1 || lines.length === 0) return [`record ${missing} is missing`];
  const [, ...records] = lines.map((line) => JSON.parse(line) as Step);
  const counted = records.filter(isCounted);
  const copied = records.slice(0, known.copied).filter(isCounted).length;
  return [
    ...wrongLog(records, counted, known),
    ...wrongAnswers(records, known),
    ...repeated(effects, copied, known),
    ...superseded(counted, effects, copied, known),
    ...unacknowledged(counted, effects),
    ...known.shown
      .filter((line, n) => lines[n] !== line)
      .map((line) => `lacks a shown record: ${line.slice(0, 100)}`),
  ];
}

const isCounted = ({ role }: Step): boolean => role === "count";

/** A1 and A6. */
function wrongLog(records: readonly Step[], counted: readonly Step[], known: Known): string[] {
  const found: string[] = [];
  const contents = counted.map(({ content }) => content).join();
  if (contents !== Array.from(counted, (_, n) => n).join()) found.push(`has the steps ${contents}`);
  const ends = records.filter(({ role }) => role === "__end__");
  if (ends.length !== 1 || records.at(-1)?.role !== "__end__") {
    found.push(`has ${ends.length} end records, and ${records.at(-1)?.role} at its end`);
  }
  const isKilled = ends[0]?.meta.reason === "killed";
  if (isKilled && known.kill === "none") found.push("is killed without an acknowledged kill");
  if (!isKilled && known.kill === "acknowledged") found.push("was killed, but has no kill record");
  if (!isKilled && counted.length !== known.steps) found.push(`ended with ${counted.length} steps`);
  return found;
}

/** A5. */
function wrongAnswers(records: readonly Step[], { answers }: Known): string[] {
  const found: string[] = [];
  for (const [n, { role }] of records.entries()) {
    if (role === "__input__" && records[n - 1]?.role !== "__wait__") found.push("answers nothing");
  }
  const inputs = records.filter(({ role }) => role === "__input__").map(({ content }) => content);
  for (const content of answers.acknowledged) {
    const times = inputs.filter((one) => one === content).length;
    if (times !== 1) found.push(`has the answer ${content} ${times} times`);
  }
  return found;
}

/** A2. */
function repeated(effects: readonly Effect[], copied: number, { heldUp }: Known): string[] {
  const found: string[] = [];
  const late = new Map<number, number>();
  let highest = copied - 1;
  for (const { step, pid } of effects) {
    if (step > highest + 1) found.push(`step ${step} began, but step ${highest + 1} never did`);
    if (step < highest) {
      const times = (late.get(pid) ?? 0) + 1;
      late.set(pid, times);
      if (times > heldUp(pid)) found.push(`step ${step} ran again after step ${highest} had begun`);
    }
    highest = Math.max(highest, step);
  }
  return found;
}

/** A frozen worker uses a claim from before the freeze within this time, in milliseconds. */
const claimMs = 3000;

/** A3. */
function superseded(
  counted: readonly Step[],
  effects: readonly Effect[],
  copied: number,
  { freezes }: Known,
): string[] {
  const found: string[] = [];
  for (const [step, { meta, timestamp }] of counted.entries()) {
    if (step < copied) continue;
    const begun = effects.filter((one) => one.step === step);
    const own = begun.findLast(({ pid, at }) => pid === meta.pid && at <= timestamp);
    if (!own) found.push(`step ${step} is of process ${meta.pid}, which never began it`);
    for (const { pid, from, to } of freezes) {
      if (pid !== meta.pid || !own || own.at > from || timestamp < to) continue;
      const other = begun.find((one) => one.pid !== pid && one.at > from + claimMs && one.at < to);
      if (other)
        found.push(`step ${step} is of process ${pid}, and ${other.pid} had taken it over`);
    }
  }
  const highest = effects.reduce((most, { step }) => Math.max(most, step), copied - 1);
  if (highest > counted.length) found.push(`step ${highest - 1} was lost`);
  return found;
}

/** A7. */
function unacknowledged(counted: readonly Step[], effects: readonly Effect[]): string[] {
  const calls = Map.groupBy(effects, ({ call }) => call);
  calls.delete(undefined);
  return [...calls].flatMap(([call, own]) =>
    own
      .slice(0, -1)
      .filter(({ step }, n) => own[n + 1]?.step !== step && counted[step]?.meta.call !== call)
      .map(({ step, pid }) => `process ${pid} continued after its step ${step}, which was refused`),
  );
}
