import type { AnswerThread } from "@uncaged/workflow-server/api-types";
import { Check, Pencil, X } from "lucide-react";
import { type SubmitEvent, useState } from "react";
import { isRecord } from "../../lib/json.ts";
import { Button } from "../../ui/button.tsx";
import { TextArea, TextField } from "../../ui/field.tsx";
import { Values } from "../../ui/value.tsx";
import { type AskedCall, type Question, requestOf } from "./answer.ts";

type Props = {
  question: Question;
  call: AskedCall;
  isBusy: boolean;
  onAnswer: (answer: AnswerThread) => void;
};

/** Decides on a tool call: as it is, with another input, or not at all. */
export function CallAnswer({ question, call, isBusy, onAnswer }: Props) {
  const [isEditing, setEditing] = useState(false);
  const [reason, setReason] = useState("");
  const decide = (value: object) => onAnswer(requestOf(question, value));
  const given = reason.trim();
  return (
    <div className="flex max-w-400 flex-col gap-7">
      <div className="flex flex-col gap-4">
        <h3 className="text-small text-muted">
          Input of <code>{call.tool}</code>
        </h3>
        {isRecord(call.input) && <Values values={call.input} />}
      </div>
      {isEditing ? (
        <Edited call={call} isBusy={isBusy} onDecide={decide} onCancel={() => setEditing(false)} />
      ) : (
        <>
          <TextField
            label="Reason for a rejection (optional)"
            hint={`The model reads it in place of the result of ${call.tool}.`}
            value={reason}
            onChange={({ target }) => setReason(target.value)}
          />
          <div className="flex flex-wrap gap-5">
            <Button
              look="solid"
              icon={<Check />}
              isBusy={isBusy}
              onClick={() => decide({ approve: true })}
            >
              Approve
            </Button>
            <Button icon={<Pencil />} disabled={isBusy} onClick={() => setEditing(true)}>
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
  call: AskedCall;
  isBusy: boolean;
  onDecide: (value: object) => void;
  onCancel: () => void;
};

function Edited({ call, isBusy, onDecide, onCancel }: EditedProps) {
  const [text, setText] = useState(() => JSON.stringify(call.input, null, 2));
  const [problem, setProblem] = useState<string | null>(null);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    try {
      onDecide({ approve: true, input: JSON.parse(text) as unknown });
    } catch (error) {
      setProblem(`This is no JSON: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-7" noValidate>
      <TextArea
        label="Input in place of the model's"
        hint="JSON; the model reads that you have changed it."
        problem={problem}
        code
        // The one thing to do here, which a button has just asked for.
        autoFocus
        rows={Math.min(20, text.split("\n").length + 1)}
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          setProblem(null);
        }}
      />
      <div className="flex flex-wrap gap-5">
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
