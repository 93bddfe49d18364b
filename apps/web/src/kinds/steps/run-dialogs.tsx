import { useMutation, useQuery } from "@tanstack/react-query";
import { Play } from "lucide-react";
import { useMemo } from "react";
import { fieldsOf } from "../../lib/schema.ts";
import { problemOf } from "../../lib/value-edits.ts";
import type { Start } from "../../thread/fork/fork.ts";
import { NewThreadForm } from "../../thread/fork/new-thread.tsx";
import { Dialog, DialogBody, DialogForm } from "../../ui/dialog.tsx";
import { useSchemaForm } from "../../ui/field.tsx";
import { FailureNotice, Skeleton } from "../../ui/states.tsx";
import "../../lib/no-eval.ts";
import { inputSchema, Registry } from "@uncaged/workflow-steps/document";
import type { RunCheckpoint } from "@uncaged/workflow-server/api-types";
import { isRecord } from "../../lib/json.ts";
import { ApiError } from "../../lib/request.ts";
import { readCheckpoint, startRerun, startThread } from "../../lib/threads.ts";

type Props = {
  document: FlowDocument;
  draft: () => Draft;
  onClose: () => void;
  onStarted: (runID: string) => void;
};

/** A form for the params that runs the current text of the document. */
export function RunDialog({ isOpen, ...rest }: Props & { isOpen: boolean }) {
  return (
    <Dialog
      title="Run"
      description="The document runs as it is now, saved or not."
      isOpen={isOpen}
      onClose={rest.onClose}
    >
      <RunForm {...rest} />
    </Dialog>
  );
}

function RunForm({ document, draft, onClose, onStarted }: Props) {
  const fields = useMemo(() => fieldsOf(paramsOf(document)), [document]);
  const { controls, value, submit } = useSchemaForm(fields);
  const start = useMutation({
    mutationFn: () => startRun(draft(), value),
    onSuccess: (runID) => {
      onStarted(runID);
      onClose();
    },
  });
  return (
    <DialogForm
      action="Run"
      icon={<Play />}
      work={start}
      onSubmit={(form) => submit(form, () => start.mutate())}
      onClose={onClose}
    >
      {controls}
    </DialogForm>
  );
}

type FromProps = Props & {
  /** The step to start from; null while the dialog is closed. */
  stepID: string | null;
  /** The run whose values and steps are kept; null for none. */
  runID: string | null;
};

/** Runs a document from one of its steps, with edited values. */
export function RunFromDialog({ stepID, ...rest }: FromProps) {
  return (
    <Dialog title={`Run from ${stepID ?? ""}`} isOpen={stepID !== null} onClose={rest.onClose} wide>
      {stepID !== null && <From key={stepID} {...rest} stepID={stepID} />}
    </Dialog>
  );
}

function From(props: FromProps & { stepID: string }) {
  const { runID, document, draft, stepID, onClose, onStarted } = props;
  const { data, error, refetch } = useQuery({
    queryKey: ["runs", runID, "before", stepID],
    queryFn: ({ signal }) =>
      runID === null ? declaredBeginning(document) : beginningIn(runID, stepID, signal),
    gcTime: 0,
    retry: false,
  });
  if (error) {
    return (
      <DialogBody>
        <FailureNotice error={error} onRetry={() => void refetch()} />
      </DialogBody>
    );
  }
  if (!data) return <Skeleton lines={5} />;
  return (
    <NewThreadForm
      action="Run from here"
      icon={<Play />}
      keep={null}
      start={startOf(data, (values) => startFrom(draft(), stepID, data, values))}
      onMade={onStarted}
      onClose={onClose}
    />
  );
}

const startOf = ({ variables, params, threadId }: Beginning, make: Start["make"]): Start => ({
  groups: [
    { title: "Variables", values: variables },
    { title: "Params", values: params },
  ],
  note:
    threadId === null
      ? "No run is selected, so these are the declared values. Earlier steps do not run."
      : "These are the values of the selected run. Its earlier steps are kept and do not run again.",
  problemOf: (_, edit) => problemOf(edit),
  make,
});

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

async function startFrom(
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
async function beginningIn(
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
  const registry = registryOf(document);
  const params = registry?.params ?? [];
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
  if (!registryOf(document)?.params.length) return null;
  const { registry } = document;
  return inputSchema(isRecord(registry) ? (registry.params as string[]) : []);
}

/** The registry of a document; null for an invalid registry, whose problem the check reports. */
function registryOf({ registry }: FlowDocument): Registry | null {
  try {
    return new Registry(isRecord(registry) ? registry : {});
  } catch {
    return null;
  }
}
