import { claudeCode } from "../../src/command/claude-code.ts";
import { commandAgent, type CommandOptions } from "../../src/command/command.ts";
import { toolRegistry } from "../../src/tools/registry.ts";
import { runCommand, type RunCommandOptions } from "../../src/tools/run-command.ts";
import { observed, threadOf } from "../published.ts";

/*
 * Runs commands in sequence, as a role does, and prints each result with its warnings. This is a program of its own so
 * that a test can run it as another user.
 */
type Call = {
  /** The shell command line for the tool `runCommand`. */
  tool?: string;
  agent?: string;
  claude?: string;
  role?: string;
  options?: RunCommandOptions & Partial<CommandOptions>;
};
const { calls, cwd, env } = JSON.parse(process.argv[2] ?? "") as {
  calls: Call[];
  cwd: string;
  env: Record<string, string>;
};
const threadId = "01K0000000000000000000SAND";

for (const { agent, claude, options = {}, role = "coder", tool } of calls) {
  const thread = threadOf({ threadId, role, cwd, env });
  const run = await observed(async () => {
    if (tool !== undefined) {
      const registry = toolRegistry([runCommand({ allowShell: true, ...options })]);
      const { signal } = new AbortController();
      const answer = await registry.run(
        "runCommand",
        { command: tool },
        { signal, cwd, env, thread },
      );
      return answer.content;
    }
    const play =
      claude === undefined
        ? commandAgent({ argv: ["/bin/sh", "-c", agent ?? ""], ...options })
        : claudeCode({ command: claude, ...options });
    return await play(thread, "");
  });
  const warnings = run.events
    .filter(({ payload }) => payload.level === "warn")
    .map(({ payload }) => payload.message);
  const { code, message } = (run.error ?? {}) as { code?: string; message?: string };
  console.log(JSON.stringify({ text: run.text, warnings, ...(code && { code, message }) }));
}
