import { appendFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createRoleModerator, durable, END } from "@uncaged/workflow";
import { z } from "zod";
import {
  anthropicAgent,
  asTool,
  describe,
  openaiAgent,
  role,
  roleSteps,
  tool,
  toolRegistry,
} from "../../src/entry/index.ts";

/*
 * Roles with tools that need an approval. Each call leaves a mark. The file `die` names the place at which the process
 * exits.
 */

function dieAt(cwd: string, place: string): void {
  const file = join(cwd, "die");
  if (!existsSync(file) || readFileSync(file, "utf8") !== place) return;
  rmSync(file);
  process.kill(process.pid, "SIGKILL");
}

const input = z.object({ n: z.number(), note: z.string().optional() });
const execute = ({ n, note = "" }: z.infer<typeof input>, { cwd }: { cwd: string }): string => {
  dieAt(cwd, `before ${n}`);
  appendFileSync(join(cwd, "marks"), `${n}${note}\n`);
  dieAt(cwd, `after ${n}`);
  return `did ${n}`;
};
const made = { description: "Leaves a mark", input, execute };
const tools = toolRegistry([
  tool({ name: "mark", ...made, idempotent: false }),
  tool({ name: "deploy", ...made, approve: true, idempotent: false }),
  tool({ name: "pay", ...made, approve: ({ n }) => n > 5 }),
  // The model does not get this rule, because JSON Schema can't express it.
  tool({ name: "few", ...made, input: input.refine(({ n }) => n < 5, "too many"), approve: true }),
  tool({ name: "late", ...made, approve: { within: "1s" } }),
  tool({ name: "lenient", ...made, approve: { within: "1s", otherwise: "approve" } }),
]);

const shared = {
  description: "Deploys",
  systemPrompt: "Deploy what you are asked to.",
  schema: z.object({}),
};
const agent = anthropicAgent({ model: "claude-opus-5-5", tools });
const claude = role({ ...shared, agent });
const gpt = role({ ...shared, agent: openaiAgent({ model: "gpt-5.2", tools }) });
const responses = role({
  ...shared,
  agent: openaiAgent({ model: "gpt-5.2", api: "responses", tools }),
});
const big = tool({
  ...{ name: "big", description: "Leaves a mark", input },
  execute: (given, execution) => `${execute(given, execution)}${"x".repeat(given.n * 2 ** 20)}`,
});
// The results of `big` are too long for the log and go to the file of values. Later calls wait for an approval.
const long = role({
  ...shared,
  agent: anthropicAgent({
    model: "claude-opus-5-5",
    tools: toolRegistry([big, tool({ name: "deploy", ...made, approve: true })], {
      maxResult: 1e9,
    }),
  }),
});
const outer = role({
  ...shared,
  agent: anthropicAgent({
    model: "claude-opus-5-5",
    tools: toolRegistry([asTool(claude, { name: "inner" })]),
  }),
});
const whole = role({ ...shared, agent, durable: "role" });
const roles = { claude, gpt, responses, long, outer, whole };

export const descriptor = { ...describe("Deploys", roles), strict: false };

const moderated = createRoleModerator({
  roles,
  moderator: ({ steps, start }) => (steps.length > 0 ? END : (start.content as keyof typeof roles)),
});

/** Runs a group of three members. */
const asSteps = durable(async function* (step, given, options) {
  const play = roleSteps(step, given, options);
  const one = (n: number) => play("claude", claude, `member ${n}`);
  yield* step.all([one(1), one(2), one(3)]);
  return "done";
});

export const run: typeof moderated = Object.assign(
  ((given, options) =>
    (given.prompt in roles ? moderated : asSteps)(given, options)) as typeof moderated,
  Object.fromEntries(Object.getOwnPropertySymbols(moderated).map((key) => [key, true])),
);
