import {
  forkThread,
  isWorkflowError,
  readThread,
  resolveWorkflow,
  startThread,
  threadIdPattern,
  WorkflowError,
} from "@uncaged/workflow/host";
import { planRerun } from "@uncaged/workflow-steps";
import type { z } from "zod";
import type { Context } from "../routes/context.ts";
import type { rerunBody } from "../shape/run.ts";
import type { Run, Runs } from "./run.ts";
import { optionsOf } from "./start.ts";

type Request = z.infer<typeof rerunBody>;

/**
 * Runs again from a checkpoint: a fork of the run that it is of, or a new run where that is not known.
 *
 * @throws WorkflowError `WORKFLOW_NOT_FOUND` (missing), those of `planRerun`, and those of `forkThread`.
 */
export async function startRerun(context: Context, runs: Runs, request: Request): Promise<string> {
  const { root, env, cwd } = context;
  const { checkpoint, stepID, path, overrides, maxRounds } = request;
  const source = await sourceOf(runs, checkpoint);
  const hash = await hashOf(context, source, request.workflowName);
  const documents = await runs.documentsOf(hash);
  const thread = source && (await readThread(root, source.ref));
  const { kept, input } = planRerun(documents, thread, { checkpoint, stepID, path, overrides });
  const options = optionsOf(request.clientRunToken);
  if (!source) {
    const workflow = request.workflowName ?? hash;
    return (await startThread(root, { workflow, options, input, maxRounds, env, cwd })).threadId;
  }
  const on = hash === source.ref.hash ? undefined : request.workflowName;
  const fork = { keep: { atStep: kept }, input, options, maxRounds, env, on };
  return (await forkThread(root, source.ref, fork)).threadId;
}

/** The run that a checkpoint is of, if it is here. */
async function sourceOf(runs: Runs, { threadId: id, workflowID }: Request["checkpoint"]) {
  const texts = [id, workflowID].filter((one) => typeof one === "string");
  const named = texts.find((text) => threadIdPattern.test(text));
  return named === undefined ? null : await runs.find(named);
}

async function hashOf(
  { root }: Context,
  source: Run | null,
  workflowName: string | undefined,
): Promise<string> {
  if (workflowName === undefined) {
    if (source) return source.ref.hash;
    throw noWorkflow();
  }
  try {
    return (await resolveWorkflow(root, workflowName)).hash;
  } catch (error) {
    // A workflow that was sent to be run has no name but its own.
    const isUnknown = isWorkflowError(error) && error.code === "WORKFLOW_NOT_FOUND";
    if (isUnknown && source?.documents.document.name === workflowName) return source.ref.hash;
    throw error;
  }
}

function noWorkflow(): WorkflowError {
  return new WorkflowError({
    code: "BAD_REQUEST",
    kind: "usage",
    message: "the checkpoint is of no run that is known here, and there is no workflowName",
    hint: "say which workflow is to run: workflowName",
  });
}
