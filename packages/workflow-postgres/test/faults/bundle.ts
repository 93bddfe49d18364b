/**
 * A workflow that counts. Each step has one external effect before its commit: a line in the file `params.audit`. The
 * workflow asks a question before step `params.asks`, and sleeps before step `params.naps`.
 */
export const countingBundle = `import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
export const descriptor = { description: "of the fault tests", roles: {} };
export async function* run(input, options) {
  const call = crypto.randomUUID();
  const { audit, steps, ms, asks, naps } = input.params;
  const count = (is) => input.steps.filter(is).length;
  const isAnswered = count(({ role, meta }) => role === "__input__" && meta.sleep !== true) > 0;
  const hasSlept = count(({ role, meta }) => role === "__input__" && meta.sleep === true) > 0;
  for (let step = count(({ role }) => role === "count"); step < steps; step += 1) {
    const note = (more) => {
      const effect = { thread: options.threadId, step, pid: process.pid, at: Date.now(), call, ...more };
      appendFileSync(audit, JSON.stringify(effect) + "\\n");
    };
    if (step === naps && !hasSlept) {
      note({ asks: true });
      yield { role: "__wait__", content: "a nap", meta: { for: "nap", sleep: true, expiresAt: Date.now() + 700 } };
    }
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
