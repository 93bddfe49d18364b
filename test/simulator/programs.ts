import type { RoleOutput, WorkflowFn } from "../../packages/workflow/src/contract/contract.ts";
import { hashOf } from "../../packages/workflow/src/bundle/hash.ts";
import { system } from "../../packages/workflow/src/system/system.ts";

/** The storage root of a simulation: three folders deep, and none of them is there at first. */
export const rootPath = "/home/user/.uncaged/workflow";

/** What a thread is started with: how many records its workflow makes, and which of them ask. */
export type Params = {
  count: number;
  asksAt: number[];
  pauseMs: number;
  expiresMs?: number;
  /** Whether it reads the file of its worker's lock before each step. */
  readsLock?: boolean;
};

/** A version of a workflow: its bundle's text. What it does is the same in all. */
export type Version = { name: string; hash: string; text: string };

const texts: [name: string, text: string][] = [
  ["alpha", "// alpha, first version\n"],
  ["alpha", "// alpha, second version\n"],
  ["beta", "// beta\n"],
  ["gamma", "// gamma, which comes and goes\n"],
];

/** The versions that a simulation registers. */
export const versions: readonly Version[] = await Promise.all(
  texts.map(async ([name, text]) => ({ name, text, hash: await hashOf(Buffer.from(text)) })),
);

export const descriptor = { description: "counts", roles: {} };

/** What happens outside of the machine when a step runs, so that no crash of it undoes it. */
type Effects = { executed(threadId: string, n: number): void };

/** The module of a bundle's text: a workflow whose effects come before its yields. */
export function moduleOf(text: string, effects: Effects): object {
  const lock = `${rootPath}/run/${versions.find((version) => version.text === text)?.hash}.lock`;
  const run: WorkflowFn = async function* (input, options) {
    const { count, asksAt, pauseMs, expiresMs, readsLock } = input.params as Params;
    for (let n = input.steps.length; n < count; n += 1) {
      if (asksAt.includes(n)) {
        // The answer is the record after it.
        yield question(n, expiresMs);
        n += 1;
        continue;
      }
      effects.executed(options.threadId, n);
      if (readsLock) system.files.close(system.files.open(lock, 0));
      if (pauseMs > 0) await system.clock.sleep(pauseMs);
      yield { role: `role${n % 2}`, content: `step ${n}`, meta: { n } };
    }
    return { returnCode: 0, summary: `${count}` };
  };
  return { descriptor, run };
}

function question(n: number, expiresMs: number | undefined): RoleOutput {
  const expires = expiresMs === undefined ? {} : { expiresAt: system.clock.now() + expiresMs };
  return { role: "__wait__", content: "which?", meta: { for: `q${n}`, n, ...expires } };
}
