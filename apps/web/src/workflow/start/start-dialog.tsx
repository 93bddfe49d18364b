import { useQuery } from "@tanstack/react-query";
import type { StartThread } from "@uncaged/workflow-server/api-types";
import { Play } from "lucide-react";
import { type ReactNode, useMemo, useState } from "react";
import { forgetKept, useKept } from "../../lib/kept.ts";
import { fieldOf, fieldsOf, filledWith } from "../../lib/schema.ts";
import { useNewThread } from "../../lib/thread-actions.ts";
import { problemOfRounds, startThread } from "../../lib/threads.ts";
import { formQuery, workflowsQuery } from "../../lib/workflows.ts";
import { Dialog, DialogBody, DialogForm } from "../../ui/dialog.tsx";
import { SelectField, TextArea, TextField, useSchemaForm } from "../../ui/field.tsx";
import { FailureNotice, Skeleton } from "../../ui/states.tsx";
import { NoWorkflows } from "./no-workflows.tsx";

type Props = {
  isOpen: boolean;
  onClose: () => void;
  /** The workflow to preselect: a name, or name@hash. */
  workflow?: string;
  /** Initial values of the form. */
  values?: StartValues;
};

type StartValues = { prompt: string; params?: unknown };

export function StartDialog({ isOpen, onClose, workflow, values }: Props) {
  return (
    <Dialog title={values ? "Start again" : "Start a thread"} isOpen={isOpen} onClose={onClose}>
      <Start onClose={onClose} first={workflow} values={values} />
    </Dialog>
  );
}

type StartProps = { onClose: () => void; first: string | undefined; values?: StartValues };

function Start({ onClose, first, values }: StartProps) {
  const { data: workflows, error, refetch } = useQuery(workflowsQuery);
  const [kept, keep] = useKept("start-workflow", "");
  const [chosen, choose] = useState(first ?? "");
  if (error) {
    return (
      <DialogBody>
        <FailureNotice error={error} onRetry={() => void refetch()} />
      </DialogBody>
    );
  }
  if (!workflows) return <Skeleton lines={5} />;
  if (workflows.length === 0) return <NoWorkflows />;
  const names = workflows.map(({ name }) => name);
  const name = chosen || (names.includes(kept) ? kept : names[0]) || "";
  return (
    <StartForm
      workflow={name}
      values={values}
      onClose={onClose}
      choice={
        <SelectField
          label="Workflow"
          value={name}
          hint={workflows.find((one) => one.name === name)?.description}
          onChange={({ target }) => {
            choose(target.value);
            keep(target.value);
          }}
        >
          {!names.includes(name) && <option value={name}>{name}</option>}
          {names.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </SelectField>
      }
    />
  );
}

/** The field for params of a workflow without a declared input, which may still read params. */
const anyParams = fieldOf(
  "",
  {
    title: "Params",
    description: 'Any JSON, such as {"files": 4}: the workflow does not declare what it reads.',
  },
  false,
);

type StartFormProps = {
  workflow: string;
  values?: StartValues;
  choice: ReactNode;
  onClose: () => void;
};

/** The form for a new thread: the prompt, the workflow's params, and limits. */
function StartForm({ workflow, values, choice, onClose }: StartFormProps) {
  const { data: form, error } = useQuery(formQuery(workflow));
  const schema = form?.input ?? null;
  const fields = useMemo(
    () => filledWith(schema === null ? [anyParams] : fieldsOf(schema), values?.params),
    [schema, values?.params],
  );
  // Values from another thread are not stored, because they would replace unsent input.
  const isFresh = values === undefined;
  const keep = isFresh ? `start-params-${workflow}` : undefined;
  const [prompt, setPrompt] = useKept(isFresh ? "start-prompt" : null, values?.prompt ?? "");
  const [limits, setLimits] = useKept(isFresh ? "start-limits" : null, {
    maxRounds: "",
    maxCost: "",
  });
  const params = useSchemaForm(fields, { of: workflow, keep, problems: problemsIn(limits) });
  const start = useNewThread(async () => {
    const { threadId } = await startThread(startOf(workflow, prompt, params.value, limits));
    if (keep !== undefined) forgetKept("start-workflow", "start-prompt", "start-limits", keep);
    return threadId;
  }, onClose);
  const { controls, shown, submit } = params;
  return (
    <DialogForm
      action="Start"
      icon={<Play />}
      work={start}
      onSubmit={(box) => submit(box, () => start.mutate())}
      onClose={onClose}
    >
      {choice}
      {error && !start.error && <FailureNotice error={error} />}
      <TextArea
        label="Prompt"
        autoFocus
        rows={4}
        value={prompt}
        hint="The task of the thread. Every role can read it."
        onChange={({ target }) => setPrompt(target.value)}
      />
      {form && schema === null && controls}
      {form && schema !== null && (
        <fieldset className="flex flex-col gap-4 rounded-md border px-4 pt-2 pb-4">
          <legend className="px-1 text-small font-semibold text-muted">Params</legend>
          {controls}
        </fieldset>
      )}
      <div className="grid grid-cols-[repeat(auto-fit,minmax(11rem,1fr))] gap-4">
        <TextField
          label="Max rounds"
          inputMode="numeric"
          placeholder="the workflow's default"
          value={limits.maxRounds}
          problem={shown.maxRounds}
          onChange={({ target }) => setLimits({ ...limits, maxRounds: target.value })}
        />
        <TextField
          label="Max cost (US$)"
          inputMode="decimal"
          placeholder="no limit"
          value={limits.maxCost}
          problem={shown.maxCost}
          onChange={({ target }) => setLimits({ ...limits, maxCost: target.value })}
        />
      </div>
    </DialogForm>
  );
}

type Limits = { maxRounds: string; maxCost: string };

export function problemsIn({ maxRounds, maxCost }: Limits): Record<string, string> {
  const dollars = Number(maxCost);
  const isFine = maxCost.trim() === "" || (dollars > 0 && Number.isFinite(dollars));
  return {
    ...problemOfRounds(maxRounds),
    ...(!isFine && { maxCost: "This must be a number greater than 0." }),
  };
}

/** The request that starts a thread. Empty fields are left out. */
export function startOf(
  workflow: string,
  prompt: string,
  params: unknown,
  { maxRounds, maxCost }: Limits,
): StartThread {
  return {
    workflow,
    prompt,
    ...(params !== undefined && { params }),
    ...(maxRounds.trim() !== "" && { maxRounds: Number(maxRounds) }),
    ...(maxCost.trim() !== "" && { options: { maxCost: Number(maxCost) } }),
  };
}
