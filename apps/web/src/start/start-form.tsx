import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { type ReactNode, type SubmitEvent, useMemo, useState } from "react";
import { startThread } from "../api/threads.ts";
import { formQuery } from "../api/workflows.ts";
import { Button } from "../controls/button.tsx";
import { showProblems } from "../controls/problem.ts";
import { DialogBody, DialogButtons } from "../controls/dialog.tsx";
import { TextArea, TextField } from "../controls/field.tsx";
import { answerOf } from "../schema/answer.ts";
import { type Drafts, fieldsOf } from "../schema/fields.ts";
import { SchemaFields } from "../schema/schema-fields.tsx";
import { FailureNotice } from "../states/failure.tsx";
import { problemsIn, startOf } from "./start.ts";
import styles from "./start.module.css";

type Props = { workflow: string; choice: ReactNode; onClose: () => void };

/** What a workflow is told when it starts: the prompt, its own params, and its limits. */
export function StartForm({ workflow, choice, onClose }: Props) {
  const navigate = useNavigate();
  const { data: form, error } = useQuery(formQuery(workflow));
  const schema = form?.input ?? null;
  const fields = useMemo(() => (schema === null ? [] : fieldsOf(schema)), [schema]);
  const [prompt, setPrompt] = useState("");
  // What was typed for one workflow's params is none of another's.
  const [typed, setTyped] = useState<{ workflow: string; drafts: Drafts }>({
    workflow,
    drafts: {},
  });
  const drafts = typed.workflow === workflow ? typed.drafts : {};
  const [limits, setLimits] = useState({ maxRounds: "", maxCost: "" });
  const [isTold, setTold] = useState(false);
  const answer = answerOf(fields, drafts);
  const problems = { ...(fields.length > 0 && answer.problems), ...problemsIn(limits) };
  const start = useMutation({
    mutationFn: () =>
      startThread(startOf(workflow, prompt, schema === null ? undefined : answer.value, limits)),
    onSuccess: ({ threadId }) => {
      onClose();
      void navigate({ to: "/threads/$id", params: { id: threadId } });
    },
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (Object.keys(problems).length === 0) start.mutate();
    else showProblems(event.currentTarget, () => setTold(true));
  };
  const told: Record<string, string> = isTold ? problems : {};
  return (
    <form className={styles.form} onSubmit={submit} noValidate>
      <DialogBody>
        {choice}
        {error && !start.error && <FailureNotice error={error} />}
        <TextArea
          label="Prompt"
          autoFocus
          rows={4}
          value={prompt}
          hint="What the thread is to do. Every role can read it."
          onChange={({ target }) => setPrompt(target.value)}
        />
        {fields.length > 0 && (
          <fieldset className={styles.params}>
            <legend>Parameters</legend>
            <SchemaFields
              fields={fields}
              drafts={drafts}
              problems={told}
              onChange={(next) => setTyped({ workflow, drafts: next })}
            />
          </fieldset>
        )}
        <div className={styles.limits}>
          <TextField
            label="Max rounds"
            inputMode="numeric"
            placeholder="as the workflow says"
            value={limits.maxRounds}
            problem={told.maxRounds}
            onChange={({ target }) => setLimits({ ...limits, maxRounds: target.value })}
          />
          <TextField
            label="Max cost (US$)"
            inputMode="decimal"
            placeholder="no limit"
            value={limits.maxCost}
            problem={told.maxCost}
            onChange={({ target }) => setLimits({ ...limits, maxCost: target.value })}
          />
        </div>
        {start.error && <FailureNotice error={start.error} />}
      </DialogBody>
      <DialogButtons>
        <Button onClick={onClose}>Cancel</Button>
        <Button look="solid" type="submit" icon={<Play />} isBusy={start.isPending}>
          Start
        </Button>
      </DialogButtons>
    </form>
  );
}
