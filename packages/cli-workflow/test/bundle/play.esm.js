import { channel } from "node:diagnostics_channel";
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

export const descriptor = {
  description: "Yields the steps that its params describe",
  roles: {
    planner: { description: "Yields the first step", schema: { type: "object" } },
    coder: { description: "Yields the later steps", schema: { type: "object" } },
  },
};

const tell = (type, payload) =>
  channel("uncaged.workflow").publish({ type, stepID: null, payload });

export async function* run(input, options) {
  const {
    steps: count = 3,
    ms = 0,
    code = 0,
    fail,
    ask,
    schema,
    meta = {},
    say,
    kept,
    gate,
  } = input.params ?? {};
  for (let number = input.steps.length + 1; number <= count; number++) {
    while (gate?.before === number && !existsSync(gate.path))
      await sleep(10, undefined, { signal: options.signal });
    if (ms) await sleep(ms, undefined, { signal: options.signal });
    if (fail === number && !options.env.PLAY_WELL)
      throw Object.assign(new Error("it broke"), { kept });
    tell("llm_done", { usage: { input_tokens: 5 }, cost_usd: 0 });
    if (ask === number) {
      yield {
        role: "__wait__",
        content: "Go on?",
        meta: { for: "approval", token: input.params?.token, ...(schema && { schema }) },
      };
      number++;
      continue;
    }
    const role = number === 1 ? "planner" : "coder";
    const content = say ?? `${role} ${number}: ${input.prompt}`;
    yield { role, content, meta: { ...meta, cwd: options.cwd, extra: options.extra } };
  }
  return { returnCode: code, summary: "played" };
}
