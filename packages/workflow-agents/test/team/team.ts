import { appendFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type AgentFn, createRoleModerator, END } from "@uncaged/workflow";
import { z } from "zod";
import {
  type AgentMeta,
  anthropicAgent,
  asTool,
  describe,
  openaiAgent,
  role,
  type Tool,
  tool,
  toolRegistry,
} from "../../src/index.ts";

/*
 * A lead that calls two readers in one turn, and then a writer that calls a checker. Each marks what it does; the process
 * dies where the file `die` in its folder says.
 */

function dieAt(cwd: string, place: string): void {
  const file = join(cwd, "die");
  if (!existsSync(file) || readFileSync(file, "utf8") !== place) return;
  rmSync(file);
  process.kill(process.pid, "SIGKILL");
}

const mark = tool({
  name: "mark",
  description: "Leaves a mark",
  input: z.object({ of: z.string() }),
  execute({ of }, { cwd, key = "" }) {
    dieAt(cwd, `before ${of}`);
    appendFileSync(join(cwd, "marks"), `${of} ${key}\n`);
    dieAt(cwd, `after ${of}`);
    return `marked ${of}`;
  },
});

const schema = z.object({});

function teamOf(agentWith: (tools: Tool[]) => AgentFn) {
  const member = (systemPrompt: string, tools: Tool[]) =>
    role({ description: `${systemPrompt}.`, systemPrompt, schema, agent: agentWith(tools) });
  const reader = member("You read", [mark]);
  const checker = member("You check", [mark]);
  const writer = member("You write", [mark, asTool(checker, { name: "checker" })]);
  return member("You lead", [
    mark,
    asTool(reader, { name: "reader", budget: { maxTokens: 1_000_000 } }),
    asTool(writer, { name: "writer" }),
  ]);
}

const claude = teamOf((tools) =>
  anthropicAgent({ model: "claude-opus-5-5", maxRetries: 0, tools: toolRegistry(tools) }),
);
const gpt = teamOf((tools) =>
  openaiAgent({ model: "gpt-5.2", maxRetries: 0, tools: toolRegistry(tools) }),
);

type Meta = AgentMeta<typeof schema>;
export const descriptor = describe("Leads a team", { claude, gpt });
export const run = createRoleModerator<{ claude: Meta; gpt: Meta }>({
  roles: { claude, gpt },
  moderator: ({ steps, start }) => (steps.length > 0 ? END : (start.content as "claude" | "gpt")),
});
