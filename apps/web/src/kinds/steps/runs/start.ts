import "../../../lib/no-eval.ts";
import { inputSchema, Registry } from "@uncaged/workflow-steps/document";
import type { RunCheckpoint, RunState } from "@uncaged/workflow-server/api-types";
import { isRecord } from "../../../lib/json.ts";
import { ApiError, pathOf, request } from "../../../lib/request.ts";

const root = "/workflow";

/** An edited document. The server validates it. */
export type FlowDocument = Readonly<Record<string, unknown>>;

export const startRun = (workflow: FlowDocument, params: unknown) =>
  request<{ runID: string }>("/run", { root, method: "POST", json: { workflow, params } });

/** The start of a run from a step: the values at the step, and the run whose steps are kept, if any. */
export type Beginning = {
  threadId: string | null;
  steps: number;
  params: Readonly<Record<string, unknown>>;
  variables: Readonly<Record<string, unknown>>;
};

export function startFrom(
  workflow: FlowDocument,
  stepID: string,
  { threadId, steps, params, variables }: Beginning,
  overrides: Readonly<Record<string, unknown>>,
) {
  const checkpoint =
    threadId === null ? { currentStepID: stepID, params, variables } : { threadId, steps };
  const json = { workflow, checkpoint, stepID, overrides };
  return request<RunState>("/rerun", { root, method: "POST", json });
}

/** The values at the start of a run's step; if it has not run, the values at the end of the run. */
export async function beginningIn(
  runID: string,
  stepID: string,
  signal?: AbortSignal,
): Promise<Beginning> {
  const read = (before?: string) =>
    request<RunCheckpoint>(pathOf(runID, "checkpoint"), { root, query: { before }, signal });
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
