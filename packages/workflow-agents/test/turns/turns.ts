import { appendFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createRoleModerator, END, type Role } from "@uncaged/workflow";
import { z } from "zod";
import {
  type AgentMeta,
  anthropicAgent,
  describe,
  openaiAgent,
  role,
  tool,
  toolRegistry,
} from "../../src/entry/index.ts";

/* A role whose tools leave marks. The file `die` in the thread's folder names the place at which the process exits. */

function isAt(cwd: string, place: string): boolean {
  const file = join(cwd, "die");
  if (!existsSync(file) || readFileSync(file, "utf8") !== place) return false;
  rmSync(file);
  return true;
}

function dieAt(cwd: string, place: string): void {
  if (isAt(cwd, place)) process.kill(process.pid, "SIGKILL");
}

const marker = (name: string, idempotent: boolean) =>
  tool({
    name,
    description: "Leaves a mark",
    idempotent,
    input: z.object({ n: z.number() }),
    execute({ n }, { cwd, key = "" }) {
      dieAt(cwd, `before ${n}`);
      if (isAt(cwd, `exit ${n}`)) process.exit(0);
      appendFileSync(join(cwd, "marks"), `${n} ${key}\n`);
      dieAt(cwd, `after ${n}`);
      return `marked ${n}: ${"x".repeat(n * 4000)}`;
    },
  });

const tools = toolRegistry([marker("mark", true), marker("pay", false)]);
const shared = {
  description: "Marks",
  systemPrompt: "Mark what you are asked to.",
  schema: z.object({ done: z.boolean() }),
};
const agent = anthropicAgent({ model: "claude-opus-5-5", tools, maxRetries: 0 });
const claude = role({ ...shared, agent });
const gpt = role({
  ...shared,
  agent: openaiAgent({ model: "gpt-5.2", tools, maxRetries: 0 }),
});
const responses = role({
  ...shared,
  agent: openaiAgent({ model: "gpt-5.2", api: "responses", tools, maxRetries: 0 }),
});

type Meta = AgentMeta<typeof shared.schema>;

const dying =
  (play: Role<Meta>): Role<Meta> =>
  async (ctx) => {
    const result = await play(ctx);
    dieAt(ctx.cwd ?? "", "end");
    return result;
  };

export const descriptor = describe("Marks", { claude, gpt, responses });
export const run = createRoleModerator({
  roles: {
    claude: dying(claude),
    gpt: dying(gpt),
    responses: dying(responses),
  },
  moderator: ({ steps, start }) =>
    steps.length > 0 ? END : (start.content as "claude" | "gpt" | "responses"),
});
