import {
  isWorkflowError,
  resolveWorkflow,
  startThread,
  storeBundle,
  toErrorRecord,
  WorkflowError,
} from "@uncaged/workflow/host";
import { Registry } from "@uncaged/workflow-steps";
import { stepsSource } from "@uncaged/workflow-steps/source";
import type { z } from "zod";
import type { Context } from "../routes/context.ts";
import { withUpload } from "../routes/upload.ts";
import type { runBody } from "../shape/run.ts";
import type { Runs } from "./run.ts";

const file = "workflow.json";
const place = new RegExp(`^${file}:\\d+:\\d+: `);

/**
 * Starts a run of a workflow that has a name, or of one that is sent along. Its params are checked
 * before there is a thread.
 *
 * @throws WorkflowError `BAD_REQUEST` (usage), `WORKFLOW_NOT_FOUND` (missing), `STEPS_INVALID`,
 * `PARAMS_INVALID`, and those of `startThread`.
 */
export async function startRun(
  { root, env, cwd }: Context,
  runs: Runs,
  { workflowName, workflow, params = {}, clientRunToken }: z.infer<typeof runBody>,
): Promise<string> {
  if ((workflowName === undefined) === (workflow === undefined)) throw oneOf();
  const named = workflowName ?? (await stored(root, workflow ?? {}));
  const { hash } = await resolveWorkflow(root, named);
  const { document } = await runs.documentsOf(hash);
  new Registry(document.registry).startParams(params);
  const options = optionsOf(clientRunToken);
  const { threadId } = await startThread(root, { workflow: named, params, options, env, cwd });
  return threadId;
}

/** The options of a thread whose starter gave a text of its own. */
export const optionsOf = (clientRunToken: string | undefined): Record<string, unknown> =>
  clientRunToken === undefined ? {} : { clientRunToken };

/** Builds a document and stores its bundle without a name: whoever has that name is not disturbed. */
async function stored(root: Context["root"], document: object): Promise<string> {
  const files = new Map([[file, JSON.stringify(document)]]);
  try {
    return await withUpload(file, files, async (path) => {
      const { hash } = await storeBundle(root, path, { sources: [stepsSource(() => undefined)] });
      return hash;
    });
  } catch (error) {
    throw withoutPlaces(error);
  }
}

// The text was made here: its lines mean nothing to whoever sent the document.
function withoutPlaces(error: unknown): unknown {
  if (!isWorkflowError(error)) return error;
  const { message, details, ...record } = toErrorRecord(error);
  return new WorkflowError({
    ...record,
    message: message.replace(place, ""),
    ...(details && { details: details.map((detail) => detail.replace(place, "")) }),
  });
}

function oneOf(): WorkflowError {
  return new WorkflowError({
    code: "BAD_REQUEST",
    kind: "usage",
    message: "give either workflowName or workflow",
    hint: '{"workflowName": "review", "params": {}}',
  });
}
