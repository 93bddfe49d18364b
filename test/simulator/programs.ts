import type { RoleOutput, WorkflowFn } from "../../packages/workflow/src/contract/contract.ts";
import { durable } from "../../packages/workflow/src/durable/durable.ts";
import { hashOf } from "../../packages/workflow/src/bundle/hash.ts";
import { system } from "../../packages/workflow/src/system/system.ts";

/** Storage root of a simulation. Its parent folders are also missing. */
export const rootPath = "/home/user/.uncaged/workflow";

/** Params of a thread: the number of its workflow's records, and the numbers of the records that ask a question. */
export type Params = {
  count: number;
  asksAt: number[];
  pauseMs: number;
  expiresMs?: number;
  /** Whether the thread sleeps instead of asking. */
  sleeps?: boolean;
  /** Whether the workflow reads its worker's lock file before each step. */
  readsLock?: boolean;
  /** Backoff of a durable workflow with failing attempts: a timer or a sleep. */
  backoffMs?: number;
};

/** A version of a workflow, with the text of its bundle. All versions behave the same. */
export type Version = { name: string; hash: string; text: string };

const texts: [name: string, text: string][] = [
  ["alpha", "// alpha, first version\n"],
  ["alpha", "// alpha, second version\n"],
  ["beta", "// beta\n"],
  ["gamma", "// gamma, which comes and goes\n"],
];

/** Versions that a simulation registers. */
export const versions: readonly Version[] = texts.map(([name, text]) => ({
  name,
  text,
  hash: hashOf(Buffer.from(text)),
}));

export const descriptor = { description: "counts", roles: {} };

/** Effects of a step outside of the machine. A crash does not undo them. */
type Effects = { executed(threadId: string, n: number): void };

/** Returns the module of a bundle's text: a workflow with an effect before each yield. */
export function moduleOf(text: string, effects: Effects): object {
  const lock = `${rootPath}/run/${versions.find((version) => version.text === text)?.hash}.lock`;
  const plain: WorkflowFn = async function* (input, options) {
    const { count, asksAt, pauseMs, readsLock, ...params } = input.params as Params;
    for (let n = input.steps.length; n < count; n += 1) {
      if (asksAt.includes(n)) {
        // The answer is the following record.
        yield question(n, params);
        n += 1;
        continue;
      }
      effects.executed(options.threadId, n);
      if (readsLock) lookAt(lock);
      if (pauseMs > 0) await system.clock.sleep(pauseMs);
      yield { role: `role${n % 2}`, content: `step ${n}`, meta: { n } };
    }
    return { returnCode: 0, summary: `${count}` };
  };
  const run: WorkflowFn = (input, options) => {
    const { backoffMs } = input.params as Params;
    return (backoffMs === undefined ? plain : retrying(effects, backoffMs))(input, options);
  };
  return { descriptor, run };
}

/** Opens and closes a file. A failure on a faulty disk does not fail the workflow. */
function lookAt(path: string): void {
  try {
    system.files.close(system.files.open(path, 0));
  } catch {}
}

/** Returns a durable workflow. An attempt at every fourth record fails, even when it is repeated after a crash. */
const retrying = (effects: Effects, backoffMs: number): WorkflowFn =>
  async function* (input, options) {
    let n = input.steps.length;
    const { count, pauseMs } = input.params as Params;
    const retry = { attempts: 5, backoff: backoffMs, maxDelay: backoffMs };
    const work = async () => {
      effects.executed(options.threadId, n);
      if (pauseMs > 0) await system.clock.sleep(pauseMs);
      if (n % 4 === 0) throw new Error("not this time");
      return { content: `step ${n}`, meta: { n } };
    };
    const program = durable(async function* (step) {
      for (let done = 0; done < count; done += 1) yield* step(`role${done % 2}`, work, { retry });
      return `${count}`;
    });
    const run = program(input, options);
    for (let sent: RoleOutput | undefined; ; ) {
      const { done, value } = await run.next(sent);
      if (done) return value;
      sent = yield value;
      // An answer is a separate record.
      n += sent === undefined ? 1 : 2;
    }
  };

function question(
  n: number,
  { expiresMs, sleeps }: Pick<Params, "expiresMs" | "sleeps">,
): RoleOutput {
  const expires = expiresMs === undefined ? {} : { expiresAt: system.clock.now() + expiresMs };
  const sleep = sleeps ? { sleep: true } : {};
  return { role: "__wait__", content: "which?", meta: { for: `q${n}`, n, ...expires, ...sleep } };
}
