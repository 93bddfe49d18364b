import type { AnswerThread } from "@uncaged/workflow-server/api-types";
import { Check, Pencil, X } from "lucide-react";
import { type SubmitEvent, useState } from "react";
import { isRecord, readJson } from "../../lib/json.ts";
import { useKept } from "../../lib/kept.ts";
import { Button } from "../../ui/button.tsx";
import { TextArea, TextField } from "../../ui/field.tsx";
import { Values } from "../../ui/value.tsx";
import { type AskedCall, type Question, requestOf } from "./answer.ts";

type Props = {
  question: Question;
  call: AskedCall;
  /** Storage key of the unsent text. */
  keep: string;
  isBusy: boolean;
  onAnswer: (answer: AnswerThread) => void;
};

/** Text typed before a decision; `input` is null until it is edited. */
type Typed = { reason: string; input: string | null };

/** Approves a tool call unchanged or with another input, or rejects it. */
export function CallAnswer({ question, call, keep, isBusy, onAnswer }: Props) {
  const [{ reason, input }, setTyped] = useKept<Typed>(keep, { reason: "", input: null });
  const decide = (value: object) => onAnswer(requestOf(question, value));
  const given = reason.trim();
  return (
    <div className="flex max-w-160 flex-col gap-3">
      <div className="flex flex-col gap-2">
        <h3 className="text-small text-muted">
          Input of <code>{call.tool}</code>
        </h3>
        {isRecord(call.input) && <Values values={call.input} />}
      </div>
      {input !== null ? (
        <Edited
          text={input}
          setText={(text) => setTyped({ reason, input: text })}
          isBusy={isBusy}
          onDecide={decide}
          onCancel={() => setTyped({ reason, input: null })}
        />
      ) : (
        <>
          <TextField
            label="Reason for a rejection (optional)"
            hint={`The model gets it instead of the result of ${call.tool}.`}
            value={reason}
            onChange={({ target }) => setTyped({ reason: target.value, input })}
          />
          <div className="flex flex-wrap gap-2">
            <Button
              look="solid"
              icon={<Check />}
              isBusy={isBusy}
              onClick={() => decide({ approve: true })}
            >
              Approve
            </Button>
            <Button
              icon={<Pencil />}
              disabled={isBusy}
              onClick={() => setTyped({ reason, input: JSON.stringify(call.input, null, 2) })}
            >
              Edit
            </Button>
            <Button
              look="danger"
              icon={<X />}
              isBusy={isBusy}
              onClick={() => decide({ approve: false, ...(given !== "" && { reason: given }) })}
            >
              Reject
            </Button>
          </div>
        </>
      )}
    </div>
  );
}

type EditedProps = {
  text: string;
  setText: (text: string) => void;
  isBusy: boolean;
  onDecide: (value: object) => void;
  onCancel: () => void;
};

function Edited({ text, setText, isBusy, onDecide, onCancel }: EditedProps) {
  const [problem, setProblem] = useState<string | null>(null);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const read = readJson(text);
    if (read.problem === null) onDecide({ approve: true, input: read.value });
    else setProblem(read.problem);
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-3" noValidate>
      <TextArea
        label="Input instead of the model's"
        hint="JSON. The model is told that you changed it."
        problem={problem}
        code
        // The user pressed a button to type here.
        autoFocus
        rows={Math.min(20, text.split("\n").length + 1)}
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          setProblem(null);
        }}
      />
      <div className="flex flex-wrap gap-2">
        <Button look="solid" type="submit" icon={<Check />} isBusy={isBusy}>
          Approve with this input
        </Button>
        <Button icon={<X />} onClick={onCancel}>
          Cancel
        </Button>
      </div>
    </form>
  );
}
