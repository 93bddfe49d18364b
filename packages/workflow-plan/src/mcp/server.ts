import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { maskOf } from "@uncaged/workflow/interpreter";
import type { Environment } from "@uncaged/workflow/host";
import { z } from "zod";
import { secretsVariable, type StepMessage } from "../ipc/message.ts";
import { StepCalls } from "./calls.ts";

/**
 * Serves the tools of a step over stdio until the input ends. Passes calls through the step's folder to the process
 * that runs the step.
 */
export async function serveStepTools(folder: string, env: Environment): Promise<void> {
  const names = (env[secretsVariable] ?? "").split(",").filter(Boolean);
  const secrets = Object.fromEntries(names.map((name) => [name, env[name] ?? ""]));
  const calls = new StepCalls(folder, maskOf({}, [], secrets));
  const ended = new Promise<void>((resolve) => {
    for (const event of ["end", "close"]) process.stdin.once(event, () => resolve());
  });
  const server = serveStdio(() => stepTools(calls));
  await ended;
  await server.close();
}

const message = (what: string) =>
  z.object({ message: z.string().min(1).max(10_000).describe(what) });

const subtaskForm = z.object({
  id: z.string().optional().describe("kebab-case, such as check-links; chosen when not given."),
  description: z.string().min(1).describe("The task of the subtask's agent, in detail."),
  inputs: z.record(z.string(), z.json()).optional().describe("Texts may have $steps.<id>.output."),
  depends_on: z
    .array(z.string())
    .optional()
    .describe("The ids of the steps that must have succeeded; this step when not given."),
});

function stepTools(calls: StepCalls): McpServer {
  const server = new McpServer({ name: "cueclaw", version: "1.0.0" });
  const answer = async (call: StepMessage) => {
    try {
      return content(await calls.call(call));
    } catch (error) {
      return { ...content(error instanceof Error ? error.message : String(error)), isError: true };
    }
  };
  server.registerTool(
    "cueclaw_report_progress",
    { description: "Reports how far this step is.", inputSchema: message("One line or two.") },
    (input) => answer({ type: "progress", message: input.message }),
  );
  server.registerTool(
    "cueclaw_notify",
    { description: "Sends a message to the user.", inputSchema: message("The message.") },
    (input) => answer({ type: "notify", message: input.message }),
  );
  server.registerTool(
    "cueclaw_get_context",
    {
      description:
        "Gives the outputs of the steps of this run that have succeeded, and the user's additions to the task.",
      inputSchema: z.object({}),
    },
    async () => {
      const result = await answer({ type: "context" });
      const added = await calls.instructions();
      return { ...result, content: [...result.content, ...added.map(textBlock)] };
    },
  );
  server.registerTool(
    "cueclaw_create_subtask",
    {
      description:
        "Adds a step to this run. It has its own agent, and this step does not wait for it.",
      inputSchema: subtaskForm,
    },
    (subtask) => answer({ type: "subtask", subtask }),
  );
  return server;
}

const textBlock = (text: string) => ({ type: "text" as const, text });

const content = (value: unknown) => ({
  content: [textBlock(typeof value === "string" ? value : JSON.stringify(value, null, 2))],
});
