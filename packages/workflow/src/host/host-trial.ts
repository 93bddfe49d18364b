import { isWorkflowError } from "../contract/error.ts";
import type { ThreadRef, ThreadView } from "../record/thread.ts";
import type { Host, Observed, StartOptions } from "./host.ts";
import { isSame } from "./rules.ts";

/** A fresh host, and a function that stores a bundle on it. The caller of a suite provides both. */
export type HostUnderTest = {
  host: Host;
  /** Stores a bundle's text, and registers it under the name, if given. Returns its hash. */
  put: (bundle: string, name?: string) => Promise<string>;
  /** The environment of its workers, on hosts where threads don't get their starter's environment. */
  workerEnv?: Readonly<Record<string, string>>;
};

const yielded = "const step = (role, content = role, meta = {}) => ({ role, content, meta });";
export const bundle = (body: string): string => `
export const descriptor = { description: "of the host's contract", roles: {} };
export async function* run(input, options) {
  ${yielded}
  const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  ${body}
  return { returnCode: 0, summary: "done" };
}`;

export const counter = bundle(`
  for (let n = input.steps.length; n < (options.count ?? 3); n += 1) {
    if (options.delayMs) await sleep(options.delayMs);
    yield step("count", String(n), { n });
  }`);
export const endless = bundle(`
  for (let n = input.steps.length; ; n += 1) {
    await sleep(5);
    yield step("count", String(n), { n });
  }`);
export const asker = bundle(`
  let answer = input.steps.find(({ role }) => role === "__input__");
  const asked = { for: "leave", stepID: "may", ...input.params };
  if (!answer) answer = yield step("__wait__", "may I?", asked);
  yield step("thanks", answer.content);`);
export const sleeper = bundle(`
  const asleep = { for: "nap", sleep: true, expiresAt: Date.now() };
  if (input.steps.length === 0) yield step("__wait__", "", asleep);`);
/** Asks for a decision twice. */
export const approvals = bundle(`
  const schema = { properties: { decision: { enum: ["approve", "reject"] }, note: {} } };
  const answers = input.steps.filter(({ role }) => role === "__input__");
  for (let n = answers.length; n < 2; n += 1) {
    answers.push(yield step("__wait__", "may I?", { for: "approval", stepID: "may", schema }));
  }
  yield step("decided", JSON.stringify(answers.map(({ meta }) => meta.value)));`);
export const failing = bundle('yield step("a"); throw new TypeError("no such model");');
/** Blocks its process for six seconds in its second role. */
export const blocking = bundle(`
  const { channel } = process.getBuiltinModule("node:diagnostics_channel");
  channel("uncaged.workflow").publish({ type: "print", stepID: null, payload: { value: 1 } });
  yield step("begun");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6000);
  yield step("late");`);
export const surroundings = bundle(`
  yield step("a", "", { cwd: options.cwd, value: options.env[options.own] });`);
export const speaking = `import { channel } from "node:diagnostics_channel";
const events = channel("uncaged.workflow");
${bundle(`
  for (const role of ["a", "b", "c"]) {
    events.publish({ type: "print", stepID: role, payload: { value: role } });
    await sleep(1);
    yield step(role);
  }`)}`;
/** A host under test, with helpers for the rules. */
export class Trial {
  readonly host: Host;
  readonly workerEnv: HostUnderTest["workerEnv"];
  readonly put: HostUnderTest["put"];

  constructor({ host, put, workerEnv }: HostUnderTest) {
    this.host = host;
    this.workerEnv = workerEnv;
    this.put = put;
  }

  async start(text: string, options: Partial<StartOptions> = {}): Promise<ThreadRef> {
    const workflow = await this.put(text);
    const started = await this.host.start({ workflow, cwd: "/", env: {}, ...options });
    return { hash: started.hash, threadId: started.threadId };
  }

  async observe(...given: Parameters<Host["observe"]>): Promise<Observed[]> {
    const all: Observed[] = [];
    for await (const one of this.host.observe(...given)) all.push(one);
    return all;
  }

  /** Counts the lines with a tag or a type in a thread's debug log. */
  async lines(ref: ThreadRef, of: string): Promise<number> {
    let count = 0;
    for await (const _ of this.host.log(ref, { only: [of] })) count += 1;
    return count;
  }

  /** Waits until a thread has the status and `is` returns true. */
  async until(
    ref: ThreadRef,
    status: ThreadView["status"],
    is: (view: ThreadView) => boolean = () => true,
  ): Promise<ThreadView> {
    // Observe to the end: a question may time out, and the thread then continues.
    for await (const _ of this.host.observe(ref)) {
      const view = await this.host.read(ref);
      if (view.status === status && is(view)) return view;
    }
    throw new Error(`the thread never was ${status}`);
  }
}

/** Rules by their names. */
export type Rules = Record<string, (trial: Trial) => Promise<void>>;

/** Returns the contents of a thread's steps. */
export const contents = ({ steps }: ThreadView): string[] => steps.map(({ content }) => content);

export const isOwn = (name: string): boolean => !/^(worker|attempt)_/.test(name);

// The cursor of an item may differ between two reads: it may include the bytes before the next item.
export const bare = (item: Observed): object => ({ ...item, cursor: "" });

export const nameOf = (item: Observed): string => {
  if (item.kind === "step") return item.step.role;
  if (item.kind === "event") return `${item.event.type} ${item.event.stepID}`;
  return item.kind === "status" ? item.state.status : item.kind;
};

/** Asserts that an action is refused with an error code. */
export async function refused(act: () => Promise<unknown>, code: string): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (isWorkflowError(error)) return equal(error.code, code);
    throw error;
  }
  throw new Error(`not refused with ${code}`);
}

export function equal(found: unknown, wanted: unknown, what = "result"): void {
  const text = (value: unknown): string => JSON.stringify(value) ?? "null";
  if (isSame(JSON.parse(text(found)), JSON.parse(text(wanted)))) return;
  throw new Error(`${what}: ${text(found)} is not ${text(wanted)}`);
}
