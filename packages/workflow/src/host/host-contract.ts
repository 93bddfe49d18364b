import type { Attempt } from "../attempt/attempt.ts";
import { isWorkflowError } from "../contract/error.ts";
import type { ThreadRef, ThreadView } from "../thread/thread.ts";
import { follow, settled } from "./follow.ts";
import type { Host, Observed, StartOptions } from "./host.ts";

/** What a suite needs of who runs it: a fresh host, and a way to give it a bundle. */
export type HostUnderTest = {
  host: Host;
  /** Stores a bundle's text and gives its hash. */
  put: (bundle: string) => Promise<string>;
};

/** One rule that every host keeps. It throws when the host breaks it. */
export type HostRule = { name: string; check: (under: HostUnderTest) => Promise<void> };

const yielded = "const step = (role, content = role, meta = {}) => ({ role, content, meta });";
const bundle = (body: string): string => `
export const descriptor = { description: "of the host's contract", roles: {} };
export async function* run(input, options) {
  ${yielded}
  const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  ${body}
  return { returnCode: 0, summary: "done" };
}`;

const counter = bundle(`
  for (let n = input.steps.length; n < (options.count ?? 3); n += 1) {
    if (options.delayMs) await sleep(options.delayMs);
    yield step("count", String(n), { n });
  }`);
const endless = bundle(`
  for (let n = input.steps.length; ; n += 1) {
    await sleep(5);
    yield step("count", String(n), { n });
  }`);
const asker = bundle(`
  let answer = input.steps.find(({ role }) => role === "__input__");
  if (!answer) answer = yield step("__wait__", "may I?", { for: "leave" });
  yield step("told", answer.content);`);
const failing = bundle('yield step("a"); throw new TypeError("no such model");');
const speaking = `import { channel } from "node:diagnostics_channel";
const events = channel("uncaged.workflow");
${bundle(`
  for (const role of ["a", "b", "c"]) {
    events.publish({ type: "print", stepID: role, payload: { value: role } });
    await sleep(1);
    yield step(role);
  }`)}`;

/**
 * The rules that every {@link Host} keeps, each to be run against a host of its own.
 *
 * @example for (const { name, check } of hostContract()) test(name, async () => check(await make()));
 */
export function hostContract(): HostRule[] {
  return Object.entries(rules).map(([name, check]) => ({
    name,
    check: (under) => check(new Trial(under)),
  }));
}

const rules: Record<string, (trial: Trial) => Promise<void>> = {
  async "a start is durable when it returns, and its thread is found and listed"(trial) {
    const { host } = trial;
    const ref = await trial.start(counter, { prompt: "go", params: { a: 1 }, options: { x: "y" } });
    equal(await host.find(ref.threadId), ref, "found by its id");
    equal(await host.find(ref.threadId.slice(-20)), ref, "found by its ending");
    equal(await host.find("@last"), ref, "found as the newest");
    const view = await settled(host, ref);
    const { status, prompt, params, steps } = view;
    equal({ status, prompt, params }, { status: "completed", prompt: "go", params: { a: 1 } });
    equal(
      steps.map(({ content }) => content),
      ["0", "1", "2"],
    );
    const { rows, total } = await host.threads({ limit: 1 });
    equal([rows[0]?.threadId, rows[0]?.steps, total], [ref.threadId, 3, 1]);
    equal((await host.row(ref))?.status, "completed");
  },

  async "a second start with a thread's id starts nothing"(trial) {
    const threadId = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    const first = await trial.start(counter, { threadId });
    await settled(trial.host, first);
    const again = await trial.start(endless, { threadId });
    equal(again, first, "the first thread answers");
    equal((await trial.host.threads()).rows.length, 1);
  },

  async "what can't be started leaves no trace"(trial) {
    const { host } = trial;
    await refused(
      () => host.start({ workflow: "nobody", cwd: "/", env: {} }),
      "WORKFLOW_NOT_FOUND",
    );
    await refused(() => trial.start(counter, { maxRounds: 0 }), "BAD_MAX_ROUNDS");
    await refused(() => trial.start(counter, { options: { cwd: 1 } }), "BAD_OPTION");
    await refused(() => host.find("@last"), "THREAD_NOT_FOUND");
    equal((await host.threads()).rows, []);
  },

  async "an observer that begins behind any cursor sees what came after it"(trial) {
    const ref = await trial.start(speaking);
    const whole = await trial.observe(ref);
    const kinds = whole.filter(({ kind }) => kind !== "status").map(nameOf);
    equal(kinds.filter(isOwn), ["start", "print a", "a", "print b", "b", "print c", "c", "end"]);
    const recorded = await trial.observe(ref);
    equal(recorded.map(nameOf), kinds, "what is read again");
    for (const [index, { cursor }] of recorded.entries()) {
      const rest = await trial.observe(ref, cursor);
      equal(rest.map(bare), recorded.slice(index + 1).map(bare), `behind ${cursor}`);
      const before = await trial.observe(ref, undefined, { until: cursor });
      equal(before.map(bare), recorded.slice(0, index + 1).map(bare), `until ${cursor}`);
    }
    equal((await trial.observe(ref, undefined, { events: false })).map(nameOf), [
      ...["start", "a", "b", "c", "end"],
    ]);
  },

  async "what is published in an attempt carries its id, and so does its step"(trial) {
    const ref = await trial.start(speaking);
    await settled(trial.host, ref);
    const attempts = (await trial.observe(ref)).flatMap((item) => {
      if (item.kind === "step") return [item.step.attempt];
      return item.kind === "event" && item.event.type === "print" ? [item.event.attempt] : [];
    });
    equal(attempts.length, 6);
    for (const [index, attempt] of attempts.entries()) {
      equal(typeof attempt, "string");
      equal(
        attempts.indexOf(attempt),
        index - (index % 2),
        "a print and its step are of one attempt",
      );
    }
  },

  async "attempts say what happened in each step, in a fork too"(trial) {
    const { host } = trial;
    const ref = await trial.start(speaking);
    const told = ({ step, status, notes, saved }: Attempt) => ({
      ...{ step, status, saved },
      notes: notes.map(({ type, payload }) => `${type} ${String(payload.value)}`),
    });
    await settled(host, ref);
    const attempts = await host.attempts(ref);
    const of = (step: number, role: string, saved = false) => ({
      ...{ step, status: "committed", saved },
      notes: [`print ${role}`],
    });
    equal(attempts.map(told), [of(1, "a"), of(2, "b"), of(3, "c")]);
    const fork = await host.fork(ref, { keep: { atStep: 2 }, env: {} });
    const second = await host.fork(fork, { keep: { atStep: 1 }, env: {} });
    await settled(host, fork);
    equal((await host.attempts(fork)).slice(0, 2).map(told), [of(1, "a", true), of(2, "b", true)]);
    await settled(host, second);
    equal((await host.attempts(second)).slice(0, 1).map(told), [of(1, "a", true)]);
    await host.remove(ref);
    const [first] = await host.attempts(fork);
    equal(first && told(first), { ...of(1, "a", true), notes: [] }, "without its source");
  },

  async "an observer sees steps, questions and the end as they come, in one order"(trial) {
    const { host } = trial;
    const ref = await trial.start(asker);
    const seen: string[] = [];
    let answered = false;
    for await (const item of host.observe(ref)) {
      seen.push(nameOf(item));
      if (item.kind !== "status" || item.state.status !== "waiting" || answered) continue;
      answered = true;
      equal(item.state.question.content, "may I?");
      await host.control(ref, { kind: "answer", input: { content: "yes" }, env: {} });
    }
    equal(
      seen.filter((name) => isOwn(name) && name !== "running"),
      [...["start", "__wait__", "waiting", "__input__", "told", "end"]],
    );
  },

  async "a cursor of another thread, or none at all, is refused"(trial) {
    const ref = await trial.start(counter);
    await settled(trial.host, ref);
    for (const cursor of ["", "nonsense", "d1.i0", "d99999999.i0"]) {
      await refused(() => trial.observe(ref, cursor), "BAD_POSITION");
    }
  },

  async "a thread pauses between two steps and is resumed"(trial) {
    const { host } = trial;
    const ref = await trial.start(endless);
    await refused(() => host.control(ref, { kind: "resume", env: {} }), "ALREADY_RUNNING");
    await host.control(ref, { kind: "pause" });
    const { steps } = await trial.until(ref, "paused");
    equal(
      (await host.live()).map(({ status }) => status),
      ["paused"],
    );
    await host.control(ref, { kind: "resume", env: {} });
    await trial.until(ref, "running", (view) => view.steps.length > steps.length);
    await host.control(ref, { kind: "kill" });
  },

  async "a kill is in the log when it returns, and final"(trial) {
    const { host } = trial;
    const ref = await trial.start(endless);
    equal(await host.control(ref, { kind: "kill" }), { threadId: ref.threadId, resumed: [] });
    const view = await host.read(ref);
    equal(view.status === "killed" && view.result.returnCode, 143);
    for (const command of [
      { kind: "kill" },
      { kind: "pause" },
      { kind: "resume", env: {} },
    ] as const) {
      await refused(() => host.control(ref, command), "THREAD_ENDED");
    }
    const input = { content: "too late" };
    await refused(() => host.control(ref, { kind: "answer", input, env: {} }), "THREAD_ENDED");
  },

  async "a question is answered once, whoever asks again"(trial) {
    const { host } = trial;
    const ref = await trial.start(asker);
    const waiting = await settled(host, ref);
    equal(waiting.status, "waiting");
    await refused(() => host.control(ref, { kind: "resume", env: {} }), "WAITING");
    const input = { content: "yes", meta: { requestId: "1" } };
    const answer = { kind: "answer", input, env: {} } as const;
    await Promise.all([host.control(ref, answer), host.control(ref, answer)]);
    const { steps } = await settled(host, ref);
    equal(
      steps.map(({ role }) => role),
      ["__wait__", "__input__", "told"],
    );
    equal(await host.control(ref, answer), { threadId: ref.threadId }, "as it was answered before");
  },

  async "a failure is in the status, and a retry keeps every step"(trial) {
    const { host } = trial;
    const ref = await trial.start(failing);
    const view = await settled(host, ref);
    equal(view.status === "failed" && [view.result, view.error?.name, view.error?.step], [
      { returnCode: 1, summary: "no such model" },
      "TypeError",
      2,
    ]);
    const { forkFrom } = await host.fork(ref, { keep: { atStep: 1 }, env: {} });
    equal(forkFrom, { threadId: ref.threadId, steps: 1 });
  },

  async "a fork begins with a copy of the chosen steps"(trial) {
    const { host } = trial;
    const ref = await trial.start(counter, { prompt: "one" });
    const source = await settled(host, ref);
    const forked = await host.fork(ref, {
      keep: { atStep: 2 },
      prompt: "two",
      edit: { content: "edited" },
      options: { count: 4 },
      env: {},
    });
    const fork = await settled(host, forked);
    equal([fork.prompt, fork.forkFrom], ["two", { threadId: ref.threadId, steps: 2 }]);
    equal(fork.steps[0], source.steps[0], "a copied step, its time included");
    equal(
      fork.steps.map(({ content }) => content),
      ["0", "edited", "2", "3"],
    );
    equal(
      (await host.family(ref)).map(({ threadId }) => threadId),
      [ref.threadId, fork.threadId],
    );
    await refused(() => host.fork(ref, { keep: { fromRole: "nobody" }, env: {} }), "NO_SUCH_ROLE");
    await refused(() => host.fork(ref, { keep: { atStep: 9 }, env: {} }), "NO_SUCH_STEP");
  },

  async "a thread that has not ended is removed only by force"(trial) {
    const { host } = trial;
    const ref = await trial.start(endless);
    await refused(() => host.remove(ref), "THREAD_RUNNING");
    const observed = trial.observe(ref);
    await host.remove(ref, { force: true });
    await refused(() => host.read(ref), "THREAD_NOT_FOUND");
    equal(await host.row(ref), null);
    await refused(() => host.remove(ref), "THREAD_NOT_FOUND");
    const last = (await observed).at(-1)?.kind;
    equal(last === "removed" || last === "end", true, "its observer is told");
  },

  async "rounds are limited, and records too"(trial) {
    const { host } = trial;
    const ref = await trial.start(endless, { maxRounds: 3 });
    const view = await settled(host, ref);
    equal(view.status === "completed" && view.steps.length, 3);
    const size = host.maxRecordBytes + 1;
    const large = await trial.start(bundle(`yield step("large", "x".repeat(${size}));`));
    const failed = await settled(host, large);
    equal(failed.steps, [], "no part of it is in the log");
  },

  async "changes begin with ready and name new rows, new statuses and removals"(trial) {
    const { host } = trial;
    const stop = new AbortController();
    const seen: string[] = [];
    let ref: ThreadRef | null = null;
    for await (const change of host.changes(stop.signal)) {
      if (change.kind === "ready") ref = await trial.start(counter);
      seen.push(change.kind === "thread" ? change.row.status : change.kind);
      if (change.kind === "thread" && change.row.status === "completed" && ref)
        await host.remove(ref);
      if (change.kind === "removed") stop.abort();
    }
    equal([seen[0], seen.at(-2), seen.at(-1)], ["ready", "completed", "removed"]);
  },
};

/** A host under test, and what the rules do to it again and again. */
class Trial {
  readonly host: Host;
  readonly #put: HostUnderTest["put"];

  constructor({ host, put }: HostUnderTest) {
    this.host = host;
    this.#put = put;
  }

  async start(text: string, options: Partial<StartOptions> = {}): Promise<ThreadRef> {
    const workflow = await this.#put(text);
    const started = await this.host.start({ workflow, cwd: "/", env: {}, ...options });
    return { hash: started.hash, threadId: started.threadId };
  }

  observe(...given: Parameters<Host["observe"]>): Promise<Observed[]> {
    return Array.fromAsync(this.host.observe(...given));
  }

  /** Waits until a thread has the status, and more when `is` says so. */
  async until(
    ref: ThreadRef,
    status: ThreadView["status"],
    is: (view: ThreadView) => boolean = () => true,
  ): Promise<ThreadView> {
    for await (const _ of follow(this.host, ref)) {
      const view = await this.host.read(ref);
      if (view.status === status && is(view)) return view;
    }
    throw new Error(`it never was ${status}`);
  }
}

const isOwn = (name: string): boolean => !/^(worker|attempt)_/.test(name);

// What lies between two items, and is none, may be counted to either.
const bare = (item: Observed): object => ({ ...item, cursor: "" });

const nameOf = (item: Observed): string => {
  if (item.kind === "step") return item.step.role;
  if (item.kind === "event") return `${item.event.type} ${item.event.stepID}`;
  return item.kind === "status" ? item.state.status : item.kind;
};

async function refused(act: () => Promise<unknown>, code: string): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (isWorkflowError(error)) return equal(error.code, code);
    throw error;
  }
  throw new Error(`it is not refused with ${code}`);
}

function equal(found: unknown, wanted: unknown, what = "what was found"): void {
  const [one, other] = [found, wanted].map((value) => JSON.stringify(sorted(value)));
  if (one !== other) throw new Error(`${what}: ${one} is not ${other}`);
}

function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const entries = Object.entries(value).map(([key, one]) => [key, sorted(one)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
