import { Registry } from "@uncaged/workflow-steps";
import { planRerun } from "@uncaged/workflow-steps/threads";
import {
  isWorkflowError,
  type ThreadRef,
  WorkflowError,
  type AnsweredBy,
} from "@uncaged/workflow/host";
import { movedError, isThreadId } from "@uncaged/workflow/internal";
import type { z } from "zod";
import { rewritten } from "../guard/error-response.ts";
import type { DraftVersion } from "../routes/drafts.ts";
import type { Context } from "../routes/route.ts";
import type { rerunBody, resumeRunBody, runBody } from "../schema/run.ts";
import type { Run, Runs } from "./run.ts";
import { neitherWorkflow, noAnswerToken, unknownCheckpoint } from "./errors.ts";

const file = "workflow.json";
const position = new RegExp(`^${file}:\\d+:\\d+: `);

/**
 * Starts a run of a registered workflow, or of a workflow in the request. Checks the params before it creates a thread.
 */
export async function startRun(
  context: Context,
  runs: Runs,
  { workflowName, workflow, params = {}, clientRunToken }: z.infer<typeof runBody>,
  traceparent: string | undefined,
): Promise<string> {
  const { host, env, cwd } = context;
  const named = await versionOf(context, { workflowName, workflow });
  if (named === undefined) throw neitherWorkflow();
  const { hash } = await host.resolve(named.workflow);
  const { document } = await runs.documentsOf(hash);
  new Registry(document.registry).startParams(params);
  const options = clientRunToken === undefined ? {} : { clientRunToken };
  const { threadId } = await host.start({ ...named, params, options, traceparent, env, cwd });
  return threadId;
}

/**
 * Returns the workflow of a request; undefined without one. Builds a document and stores its bundle without a name, so
 * that registered workflows don't change. Threads show the document's name.
 */
async function versionOf(
  { drafts }: Context,
  given: Pick<Request, "workflowName" | "workflow" | "document" | "name">,
): Promise<DraftVersion | undefined> {
  const { workflowName, workflow, document, name } = given;
  if (workflow === undefined && document === undefined)
    return workflowName === undefined ? undefined : { workflow: workflowName };
  if (workflowName !== undefined) throw neitherWorkflow();
  if (document !== undefined) return await drafts.steps(document, { name });
  try {
    return await drafts.steps(JSON.stringify(workflow), { file });
  } catch (error) {
    if (!isWorkflowError(error)) throw error;
    // The server wrote the file, so its line numbers mean nothing to the client.
    throw new WorkflowError(rewritten(error, (text) => text.replace(position, "")));
  }
}

type Request = z.infer<typeof rerunBody>;

/** Runs again from a checkpoint: as a fork of its run, or as a new run if that run is unknown. */
export async function startRerun(
  context: Context,
  runs: Runs,
  request: Request,
  { by, traceparent }: { by: AnsweredBy; traceparent: string | undefined },
): Promise<string> {
  const { host, env, cwd } = context;
  const { checkpoint, stepID, path, overrides, maxRounds, threadId, clientRunToken } = request;
  const source = await sourceOf(runs, checkpoint);
  const named = await versionOf(context, request);
  const hash = await hashOf(context, source, named?.workflow);
  const documents = await runs.documentsOf(hash);
  const thread = source && (await host.read(source.ref));
  if (thread?.movedTo !== undefined) throw movedError(thread.threadId, thread.movedTo);
  const rerun = { checkpoint, stepID, path, overrides };
  const { kept: atStep, steps, input: given } = planRerun(documents, thread, rerun);
  const input = { ...given, by };
  const options = clientRunToken === undefined ? {} : { clientRunToken };
  if (!source) {
    const version = named ?? { workflow: hash };
    const start = { ...version, options, input, maxRounds, threadId, traceparent, env, cwd };
    return (await host.start(start)).threadId;
  }
  const { workflow: on, name } = hash === source.ref.hash ? {} : (named ?? {});
  const keep = steps ? { steps } : { atStep };
  const fork = {
    keep,
    rerun: input,
    options,
    maxRounds,
    threadId,
    traceparent,
    env,
    on,
    ...(name !== undefined && { name }),
  };
  return (await host.fork(source.ref, fork)).threadId;
}

async function sourceOf(runs: Runs, { threadId: id, workflowID }: Request["checkpoint"]) {
  const texts = [id, workflowID].filter((one) => typeof one === "string");
  const named = texts.find((text) => isThreadId(text));
  return named === undefined ? null : await runs.find(named);
}

async function hashOf(
  { host }: Context,
  source: Run | null,
  workflowName: string | undefined,
): Promise<string> {
  if (workflowName === undefined) {
    if (source) return source.ref.hash;
    throw unknownCheckpoint();
  }
  try {
    return (await host.resolve(workflowName)).hash;
  } catch (error) {
    // A workflow from a request has no registered name.
    const isUnknown = isWorkflowError(error) && error.code === "WORKFLOW_NOT_FOUND";
    if (isUnknown && source?.documents.document.name === workflowName) return source.ref.hash;
    throw error;
  }
}

/** Answers the Pause of a run. Without an answer, resumes a run that a client paused. */
export async function resumeRun(
  { host, env }: Context,
  ref: ThreadRef,
  { token, payload = null, requestId }: z.infer<typeof resumeRunBody>,
  by: AnsweredBy,
): Promise<void> {
  if (token === undefined) {
    const { status } = await host.read(ref);
    const isHeld = status === "paused" || status === "interrupted";
    if (!isHeld || payload !== null) throw noAnswerToken();
    await host.control(ref, { kind: "resume", env });
    return;
  }
  const content = typeof payload === "string" ? payload : JSON.stringify(payload);
  const meta = { token, ...(requestId !== undefined && { requestId }) };
  await host.control(ref, { kind: "answer", input: { content, value: payload, meta, by }, env });
}

/** Ends a run. Does nothing for an ended run. */
export const abortRun = ({ host, env }: Context, ref: ThreadRef): Promise<void> =>
  ignoring(["THREAD_ENDED"], host.control(ref, { kind: "kill", env }));

/** Pauses a run before its next step. Does nothing for a run that has ended, waits, or has no worker. */
export const pauseRun = ({ host }: Context, ref: ThreadRef): Promise<void> =>
  ignoring(["THREAD_ENDED", "NOT_RUNNING"], host.control(ref, { kind: "pause" }));

async function ignoring(codes: string[], done: Promise<unknown>): Promise<void> {
  try {
    await done;
  } catch (error) {
    if (!isWorkflowError(error) || !codes.includes(error.code)) throw error;
  }
}
