import { type AgentFn, WorkflowError } from "@uncaged/workflow";
import {
  anthropicAgent,
  claudeCode,
  codex,
  cursor,
  editFile,
  listFiles,
  openaiAgent,
  readFile,
  runCommand,
  search,
  toolRegistry,
  writeFile,
} from "@uncaged/workflow-agents";

const reading = [readFile, listFiles, search, runCommand()];
const registries = {
  reads: toolRegistry(reading),
  writes: toolRegistry([...reading, writeFile, editFile]),
};

type Hand = keyof typeof registries;

/** Agents by their names in `--option agent=NAME`. The model comes from `--option model=NAME`. */
const agents: Record<string, (hand: Hand, model?: string) => AgentFn> = {
  // Model providers. Their agents use the tools of this project.
  anthropic: (hand, model = "claude-opus-5-5") =>
    anthropicAgent({ model, tools: registries[hand] }),
  openai: (hand, model = "gpt-5.5") => openaiAgent({ model, tools: registries[hand] }),
  // Programs with their own tools.
  "claude-code": (hand, model) => {
    const permissionMode = hand === "writes" ? "acceptEdits" : "default";
    return claudeCode({ model, permissionMode, args: ["--allowedTools", "Bash"] });
  },
  codex: (hand, model) =>
    codex({ model, codexSandbox: hand === "writes" ? "workspace-write" : "read-only" }),
  cursor: (hand, model) => cursor({ model, force: hand === "writes" }),
};

/** Returns the agent of this thread: from `--option agent=NAME`, or the script. */
export function player(hand: Hand, script: AgentFn): AgentFn {
  return (ctx, systemPrompt) => {
    const { agent = "scripted", model } = ctx.options ?? {};
    if (agent === "scripted") return script(ctx, systemPrompt);
    const make = Object.entries(agents).find(([name]) => name === agent)?.[1];
    if (make) return make(hand, model as string | undefined)(ctx, systemPrompt);
    throw new WorkflowError({
      code: "NO_SUCH_AGENT",
      kind: "usage",
      message: `unknown agent ${JSON.stringify(agent)}`,
      hint: `name one of ${["scripted", ...Object.keys(agents)].join(", ")}`,
    });
  };
}
