import type { ApprovalDecision } from "@uncaged/workflow/records";
import { Check, X } from "lucide-react";
import { useMemo, useState } from "react";
import { isRecord } from "../lib/json.ts";
import { useKept } from "../lib/kept.ts";
import { Button } from "./button.tsx";
import { TextArea } from "./field.tsx";
import { AfterMarkdown, isLight, jsonIn, Prose } from "./prose.tsx";
import { Nothing, Value, Values } from "./value.tsx";

type Props = {
  /** The subject of the approval; undefined if the question lacks it. */
  subject: unknown;
  /** Storage key of the unsent note. */
  keep?: string;
  isBusy: boolean;
  onDecide: (decision: ApprovalDecision) => void;
};

/** The whole subject of an approval, and the decision. */
export function ApprovalForm({ subject, keep, isBusy, onDecide }: Props) {
  const [note, setNote] = useKept(keep ?? null, "");
  const decide = (decision: ApprovalDecision["decision"]) => onDecide({ decision, note });
  return (
    <div className="flex max-w-208 min-w-0 flex-col gap-3">
      {subject !== undefined && (
        <section className="flex flex-col gap-2" aria-label="To be approved">
          <p className="text-small font-semibold text-muted">To be approved</p>
          <div className="rounded-md border bg-surface p-3">
            <Subject subject={subject} />
          </div>
        </section>
      )}
      <AfterMarkdown>
        <TextArea
          label="Note (optional)"
          rows={2}
          value={note}
          onChange={({ target }) => setNote(target.value)}
        />
        <div className="flex flex-wrap gap-2">
          <Button look="solid" icon={<Check />} isBusy={isBusy} onClick={() => decide("approve")}>
            Approve
          </Button>
          <Button look="danger" icon={<X />} isBusy={isBusy} onClick={() => decide("reject")}>
            Reject
          </Button>
        </div>
      </AfterMarkdown>
    </div>
  );
}

function Subject({ subject }: { subject: unknown }) {
  if (subject === null || subject === "") return <Nothing>No previous output.</Nothing>;
  if (typeof subject === "string") return <TextSubject text={subject} />;
  return isRecord(subject) ? <Values values={subject} /> : <Value value={subject} />;
}

/** Markdown that rendering would hide: link addresses and definitions. */
const hidden = /\][(:]/;

function TextSubject({ text }: { text: string }) {
  const hasLayout = useMemo(() => isLight(text) && jsonIn(text) === null, [text]);
  const [isMarkdown, setMarkdown] = useState(!hidden.test(text));
  return (
    <div className="flex flex-col items-start gap-2 *:w-full">
      <Prose text={text} isMarkdown={isMarkdown} isOpen />
      {hasLayout && (
        <div>
          <Button small onClick={() => setMarkdown(!isMarkdown)}>
            {isMarkdown ? "Show as written" : "Show formatted"}
          </Button>
        </div>
      )}
    </div>
  );
}
