import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ApprovalDecision, decisionOf, sleepsUntil } from "@uncaged/workflow/records";
import type { AnswerThread, NumberedStep } from "@uncaged/workflow-server/api-types";
import { Check, Pencil, Send, X } from "lucide-react";
import { useMemo, useRef, useState } from "react";
import { ago, moment, until, useNow } from "../../lib/format.ts";
import { readJson } from "../../lib/json.ts";
import { forgetKept, readKept, useKept } from "../../lib/kept.ts";
import { fieldsOf, type FormField } from "../../lib/schema.ts";
import { answerThread, threadKeys, threadQuery } from "../../lib/threads.ts";
import { TextArea, TextField, useSchemaForm } from "../../ui/field.tsx";
import {
  type AskedCall,
  decided,
  type Question as Asked,
  questionOf,
  requestOf,
  takesText,
  textRequest,
} from "./answer.ts";
import { type Choice, Decision } from "./decision.tsx";
import { revealed, Subject } from "./subject.tsx";
import { useThread } from "../run/thread-context.tsx";
import type { TraceRow } from "../trace/rows.ts";

type Props = {
  threadId: string;
  step: NumberedStep;
  /** Number of requests to show the question. Each request focuses it. */
  asked: number;
  isOver?: boolean;
  onAnswered?: () => void;
};

/** The question of a waiting thread: the asking role, the whole subject, and the answer. */
export function Question({ threadId, step, asked, isOver, onAnswered }: Props) {
  const question = useMemo(() => questionOf(step), [step]);
  const { text, expiresAt, call, approval } = question;
  const keep = draftKey(threadId, question.number);
  const answer: Answer = async (given) => {
    await answerThread(threadId, given);
    forgetKept(keep);
  };
  const form = { question, keep, answer };
  const subject = call ? (
    <Subject title={`Input of ${call.tool}`} value={call.input} isCode />
  ) : approval && approval.subject !== undefined ? (
    <Subject title="To be approved" value={approval.subject} />
  ) : null;
  const around: Around = {
    from: <Asker threadId={threadId} step={step} by={question.asker} tool={call?.tool ?? null} />,
    ...{ prompt: revealed(text), subject, expiresAt, isOver, asked, onSent: onAnswered },
    changes: threadKeys.one(threadId),
  };
  return (
    <section aria-label="Question" className="min-w-0 p-4">
      {call ? (
        <CallForm {...form} call={call} around={around} />
      ) : approval ? (
        <ApprovalForm
          {...around}
          keep={keep}
          onDecide={(decision) => answer(requestOf(question, decision))}
        />
      ) : takesText(question) ? (
        <TextForm {...form} around={around} />
      ) : (
        <FieldsForm {...form} around={around} />
      )}
    </section>
  );
}

const draftKey = (threadId: string, step: number): string => `answer-${threadId}-${step}`;

/** Tells whether a row's question has an unsent text. */
export const hasDraft = (threadId: string, { card }: TraceRow): boolean =>
  !!card?.step && readKept<unknown>(draftKey(threadId, card.step.number), null) !== null;

type Answer = (given: AnswerThread) => Promise<void>;

type Around = Omit<Parameters<typeof Decision>[0], "choices" | "children">;

type AskerProps = Pick<Props, "threadId" | "step"> & { by: string | null; tool: string | null };

function Asker({ threadId, step, by, tool }: AskerProps) {
  const { data: thread } = useQuery(threadQuery(threadId));
  const now = useNow(10_000);
  return (
    <p className="text-small text-muted wrap-anywhere">
      <span className="font-semibold text-ink">{by ?? "The workflow"}</span>{" "}
      {tool === null ? "asks" : "asks to run "}
      {tool !== null && <code className="font-semibold text-ink">{tool}</code>}
      {thread && (
        <>
          {" in "}
          <Link to="/threads/$id" params={{ id: threadId }} className="underline">
            {thread.workflow}
          </Link>
        </>
      )}
      {", "}
      <time dateTime={new Date(step.timestamp).toISOString()} title={moment(step.timestamp)}>
        {ago(step.timestamp, now)}
      </time>
    </p>
  );
}

const approve = { name: "approve", label: "Approve", look: "solid", needsSubject: true } as const;

const verdict = (send: (isYes: boolean) => Promise<unknown> | null): Choice[] => [
  { ...approve, icon: <Check />, send: () => send(true) },
  { name: "reject", label: "Reject", look: "danger", icon: <X />, send: () => send(false) },
];

type ApprovalProps = Around & {
  /** Storage key of the unsent note; null stores nothing. */
  keep: string | null;
  onDecide: (decision: ApprovalDecision) => Promise<unknown>;
};

/** Approves or rejects a subject, with a note. */
function ApprovalForm({ keep, onDecide, ...around }: ApprovalProps) {
  const [note, setNote] = useKept(keep, "");
  return (
    <Decision
      {...around}
      choices={verdict((isYes) => onDecide({ decision: isYes ? "approve" : "reject", note }))}
    >
      <TextArea
        label="Note (optional)"
        rows={2}
        value={note}
        onChange={({ target }) => setNote(target.value)}
      />
    </Decision>
  );
}

type FormProps = { question: Asked; keep: string; answer: Answer; around: Around };

/** Text typed before a decision; `input` is null until it is edited. */
type Typed = { reason: string; input: string | null };

function CallForm({ question, call, keep, answer, around }: FormProps & { call: AskedCall }) {
  const [{ reason, input }, setTyped] = useKept<Typed>(keep, { reason: "", input: null });
  const [problem, setProblem] = useState<string | null>(null);
  const decide = (value: object) => answer(requestOf(question, value));
  const given = reason.trim();
  const edit = (text: string | null) => {
    setTyped({ reason, input: text });
    setProblem(null);
  };
  if (input !== null) {
    const send = () => {
      const read = readJson(input);
      if (read.problem === null) return decide({ approve: true, input: read.value });
      setProblem(read.problem);
      return null;
    };
    return (
      <Decision
        {...around}
        choices={[
          { ...approve, icon: <Check />, label: "Approve with this input", send },
          { label: "Cancel", icon: <X />, act: () => edit(null) },
        ]}
      >
        <TextArea
          label="Input instead of the model's"
          hint="JSON. The model is told that you changed it."
          problem={problem}
          code
          // The user pressed a button to type here.
          autoFocus
          rows={Math.min(20, input.split("\n").length + 1)}
          value={input}
          onChange={({ target }) => edit(target.value)}
        />
      </Decision>
    );
  }
  return (
    <Decision
      {...around}
      choices={[
        ...verdict((isYes) =>
          decide(isYes || given === "" ? { approve: isYes } : { approve: false, reason: given }),
        ),
        {
          ...{ label: "Edit", icon: <Pencil />, title: "Approve with another input" },
          act: () => edit(JSON.stringify(call.input, null, 2)),
        },
      ]}
    >
      <TextField
        label="Reason for a rejection (optional)"
        hint={`The model gets it instead of the result of ${call.tool}.`}
        value={reason}
        onChange={({ target }) => setTyped({ reason: target.value, input })}
      />
    </Decision>
  );
}

function TextForm({ question, keep, answer, around }: FormProps) {
  const { schema, decision } = question;
  const [text, setText] = useKept(keep, "");
  const decide = (isYes: boolean) => answer(requestOf(question, decided(question, null, isYes)));
  const send: Choice = {
    ...{ label: "Answer", look: decision ? "plain" : "solid", icon: <Send /> },
    isDisabled: text.trim() === "",
    send: () => answer(textRequest(question, text)),
  };
  return (
    <Decision {...around} choices={[...(decision ? verdict(decide) : []), send]}>
      <TextArea
        label={decision ? "Or another answer" : "Your answer"}
        rows={3}
        value={text}
        hint={
          schema === null
            ? "A text. Valid JSON is sent as its value."
            : (fieldsOf(schema)[0]?.hint ?? undefined)
        }
        onChange={({ target }) => setText(target.value)}
      />
    </Decision>
  );
}

function FieldsForm({ question, keep, answer, around }: FormProps) {
  const all = useMemo(() => fieldsOf(question.schema).map(chosen), [question]);
  const { decision } = question;
  // The buttons set the property of the decision.
  const fields = all.filter(({ name }) => decision === null || name !== (decision.property ?? ""));
  const { controls, value, submit } = useSchemaForm(fields, { keep });
  const form = useRef<HTMLDivElement>(null);
  const send = (given: unknown): Promise<void> | null => {
    let sending: Promise<void> | null = null;
    submit(form.current, () => {
      sending = answer(requestOf(question, given));
    });
    return sending;
  };
  return (
    <Decision
      {...around}
      choices={
        decision
          ? verdict((isYes) => send(decided(question, value, isYes)))
          : [{ label: "Answer", look: "solid", icon: <Send />, send: () => send(value) }]
      }
    >
      <div ref={form} className="flex flex-col gap-3 empty:hidden">
        {controls}
      </div>
    </Decision>
  );
}

/** A field without a default: an answer is never preselected. */
function chosen(field: FormField): FormField {
  const { choices, kind } = field;
  if (kind === "boolean") return { ...field, kind: "choice", choices: [true, false], draft: "" };
  return kind === "choice" && isDecision(choices)
    ? { ...field, isRequired: true, draft: "" }
    : field;
}

const isDecision = (choices: readonly unknown[]): boolean =>
  choices.length > 1 && choices.every((choice) => decisionOf(choice) !== null);

/**
 * The form of a row's question while the thread waits for it or the question has an unsent text; for a sleep, its end.
 * `asked` counts the requests to show the form.
 */
export function RowFoot({ row, asked }: { row: TraceRow; asked: number }) {
  const { threadId, status } = useThread();
  const step = row.card?.step;
  const isOver = row.status !== "waiting";
  if (step?.role !== "__wait__") return null;
  if ((isOver || status !== "waiting") && !hasDraft(threadId, row)) return null;
  if (row.kind === "wait") return <Asleep step={step} />;
  return (
    <Question key={step.number} threadId={threadId} step={step} asked={asked} isOver={isOver} />
  );
}

function Asleep({ step }: { step: NumberedStep }) {
  const at = sleepsUntil(step);
  const now = useNow(1_000, at !== null && at > Date.now());
  if (at === null) return null;
  return (
    <p className="px-4 pb-3">
      Sleeps until <time dateTime={new Date(at).toISOString()}>{moment(at)}</time>{" "}
      <span className="text-muted" role="timer">
        ({until(at, now)})
      </span>
    </p>
  );
}
