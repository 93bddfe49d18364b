import { claudeCode, currentRun } from "@uncaged/workflow-agents";
import { paid } from "@uncaged/workflow-agents/interpreter";
import { basename } from "node:path";
import type { AgentProcess, StepAgent } from "./agent.ts";

/** Options of {@link claudeAgent}. */
export type ClaudeAgentOptions = {
  /** The command (default: `claude` on PATH). It must accept Claude Code's arguments. */
  command?: string;
  /** The tools that the agent may use without asking. */
  tools?: readonly string[];
  model?: string;
  /** Additional arguments. */
  args?: readonly string[];
  /**
   * Variables to pass in addition to the agent's own variables and variables without secrets. `NAME_*` selects all with
   * that prefix.
   */
  env?: readonly string[];
  /** Grace period for the agent's exit, in milliseconds (5 seconds). */
  graceMs?: number;
  /** The output limit in bytes (10 Mi). */
  maxOutput?: number;
};

const ownTools = ["Bash", "Read", "Write", "Edit", "Glob", "Grep", "WebSearch", "WebFetch"];
const mostOutput = 10 * 1024 * 1024;

/**
 * Creates a step agent that runs Claude Code in the thread's directory. A further attempt at a step resumes the session
 * of the previous attempt, or starts a new session when that session is missing.
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
