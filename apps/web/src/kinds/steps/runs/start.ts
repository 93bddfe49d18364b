import "../../../lib/no-eval.ts";
import { inputSchema, Registry } from "@uncaged/workflow-steps/document";
import type { RunCheckpoint } from "@uncaged/workflow-server/api-types";
import { isRecord } from "../../../lib/json.ts";
import { ApiError } from "../../../lib/request.ts";
import { readCheckpoint, startRerun, startThread } from "../../../lib/threads.ts";

/** An edited document. The server validates it. */
export type FlowDocument = Readonly<Record<string, unknown>>;

/** A document as text, and the name of its runs. */
export type Draft = { text: string; name: string | undefined };

/** Starts a run of a document and returns the id of its thread. */
export const startRun = async ({ text: document, name }: Draft, params: unknown): Promise<string> =>
  (await startThread({ document, name, params })).threadId;

/** The start of a run from a step: its values, and the thread with the kept steps; null without kept steps. */
export type Beginning = {
  threadId: string | null;
  steps: number;
  params: Readonly<Record<string, unknown>>;
  variables: Readonly<Record<string, unknown>>;
};

export async function startFrom(
  { text: document, name }: Draft,
  stepID: string,
  { threadId, steps, params, variables }: Beginning,
  overrides: Readonly<Record<string, unknown>>,
): Promise<string> {
  const checkpoint =
    threadId === null ? { currentStepID: stepID, params, variables } : { threadId, steps };
  return (await startRerun({ document, name, checkpoint, stepID, overrides })).runID;
}

/** The values at the start of a run's step; if it has not run, the values at the end of the run. */
export async function beginningIn(
  runID: string,
  stepID: string,
  signal?: AbortSignal,
): Promise<Beginning> {
  const read = (before?: string): Promise<RunCheckpoint> =>
    readCheckpoint(runID, { before }, signal);
  const {
    params,
    variables,
    steps = 0,
  } = await read(stepID).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 404) return read();
    throw error;
  });
  return { threadId: runID, steps, params, variables };
}

/** The declared initial values, for a document without a run. */
export function declaredBeginning(document: FlowDocument): Beginning {
  const { params, registry } = registryOf(document);
  const given = params.map(({ name, default: value }) => [name, value ?? null] as const);
  return {
    threadId: null,
    steps: 0,
    params: Object.fromEntries(given),
    variables: registry?.initialVariables() ?? {},
  };
}

/** The JSON Schema of the params; null without params. */
export function paramsOf(document: FlowDocument): unknown {
  const { params } = registryOf(document);
  if (params.length === 0) return null;
  const { registry } = document;
  return inputSchema(isRecord(registry) ? (registry.params as string[]) : []);
}

/** The registry of a document. An invalid registry declares nothing; the check reports the problem. */
function registryOf({
  registry,
}: FlowDocument): Pick<Registry, "params"> & { registry?: Registry } {
  try {
    const read = new Registry(isRecord(registry) ? registry : {});
    return { params: read.params, registry: read };
  } catch {
    return { params: [] };
  }
}
