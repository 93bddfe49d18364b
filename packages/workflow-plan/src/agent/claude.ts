import { claudeCode, currentRun } from "@uncaged/workflow-agents";
import { paid } from "@uncaged/workflow-agents/interpreter";
import { basename } from "node:path";
import type { AgentProcess, StepAgent } from "./agent.ts";

/** How the agent command is run. */
export type ClaudeAgentOptions = {
  /** The command: `claude`, found on PATH, when not given. It must take Claude Code's arguments. */
  command?: string;
  /** The tools that it may use without asking. */
  tools?: readonly string[];
  model?: string;
  /** Further arguments. */
  args?: readonly string[];
  /** The variables that it gets besides those that hold no secret and its own; `NAME_*` is all with that prefix. */
  env?: readonly string[];
  /** How long it may take to end when it is asked to (5 seconds). */
  graceMs?: number;
  /** The most that it may put out, in bytes (10 Mi). */
  maxOutput?: number;
};

const ownTools = ["Bash", "Read", "Write", "Edit", "Glob", "Grep", "WebSearch", "WebFetch"];
const mostOutput = 10 * 1024 * 1024;

/**
 * Claude Code as the agent of a plan's steps. It works in the thread's directory; a further attempt at a step resumes
 * the session of the one before it, or begins a new one when that is not there any more.
 */
export function claudeAgent(options: ClaudeAgentOptions = {}): StepAgent {
  const { args = [], command = "claude", env, graceMs, model, tools = ownTools } = options;
  const { maxOutput = mostOutput } = options;
  return (request, around) =>
    around.environment.during(around, async (signal, process) => {
      const { onSession } = around;
      const { prompt, resume, sessionId, stepId, timeoutMs } = request;
      const { env: own, launch, secrets, ...more } = process ?? noProcess;
      const thread = { ...around.thread, signal, ...(own && { env: own }) };
      const agent = claudeCode({
        ...{ command, model, graceMs, timeoutMs, maxOutput, allowsEmpty: true, launch, secrets },
        env: own ? ["*"] : env,
        args: [
          ...["--allowedTools", [...tools, ...more.tools].join(",")],
          ...["--session-id", sessionId, ...more.args, ...args],
        ],
        message: () => prompt,
      });
      const { result, spending } = await paid(
        thread,
        {
          stepID: stepId,
          intercept({ payload, type }) {
            if (type === "session") onSession(String(payload.session_id));
            return false;
          },
        },
        () => {
          const session = { command: basename(command), session: resume, steps: 0 };
          if (resume !== null) currentRun().memory.sessions = [session];
          const start = { ...thread.start, content: prompt };
          return agent({ ...thread, start, steps: [] }, "");
        },
      );
      const { cost, model: used, usage } = spending;
      return { output: result, usage, cost, model: used };
    });
}

const noProcess: Partial<AgentProcess> & Pick<AgentProcess, "args" | "tools"> = {
  args: [],
  tools: [],
};
