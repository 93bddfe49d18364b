import { useMutation, useQueryClient } from "@tanstack/react-query";
import { decisionOf } from "@uncaged/workflow/records";
import type { AnswerThread, NumberedStep, Thread } from "@uncaged/workflow-server/api-types";
import { Check, Send, X } from "lucide-react";
import { type ReactNode, type SubmitEvent, useEffect, useMemo, useRef } from "react";
import { moment } from "../../lib/format.ts";
import { forgetKept, useKept } from "../../lib/kept.ts";
import { fieldsOf, type FormField } from "../../lib/schema.ts";
import { answerThread, threadKeys } from "../../lib/threads.ts";
import { ApprovalForm } from "../../ui/approval-form.tsx";
import { Button } from "../../ui/button.tsx";
import { TextArea, useSchemaForm } from "../../ui/field.tsx";
import { FailureNotice } from "../../ui/states.tsx";
import { CallAnswer } from "./call-answer.tsx";
import { decided, type Question, questionOf, requestOf, takesText, textRequest } from "./answer.ts";

type Props = {
  thread: Pick<Thread, "threadId">;
  question: NumberedStep;
  /** Number of requests to show the form. Each request focuses the form. */
  asked: number;
};

/** The form that answers a waiting thread. */
export function AnswerForm({ thread, question: step, asked }: Props) {
  const { threadId } = thread;
  const client = useQueryClient();
  const question = useMemo(() => questionOf(step), [step]);
  const keep = `answer-${threadId}-${step.number}`;
  const send = useMutation({
    mutationFn: async (answer: AnswerThread) => {
      await answerThread(threadId, answer);
      forgetKept(keep);
    },
    onSettled: () => client.invalidateQueries({ queryKey: threadKeys.one(threadId) }),
  });
  const { approval, call, expiresAt } = question;
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (asked > 0)
      box.current?.querySelector<HTMLElement>("textarea, input, select, button")?.focus();
  }, [asked]);
  const Form = takesText(question) ? TextAnswer : SchemaAnswer;
  return (
    <div
      ref={box}
      className="flex flex-col gap-3 border-t bg-[color-mix(in_srgb,var(--color-amber-soft)_45%,var(--color-surface))] p-4"
    >
      {call ? (
        <CallAnswer
          question={question}
          call={call}
          keep={keep}
          isBusy={send.isPending}
          onAnswer={send.mutate}
        />
      ) : approval ? (
        <ApprovalForm
          subject={approval.subject}
          keep={keep}
          isBusy={send.isPending}
          onDecide={(decision) => send.mutate(requestOf(question, decision))}
        />
      ) : (
        <Form question={question} keep={keep} isBusy={send.isPending} onAnswer={send.mutate} />
      )}
      {expiresAt !== null && (
        <p className="text-small text-muted">Answers are accepted until {moment(expiresAt)}.</p>
      )}
      {send.error && <FailureNotice error={send.error} />}
    </div>
  );
}

const column = "flex max-w-160 flex-col gap-3";

type FormProps = {
  question: Question;
  /** Storage key of the unsent text. */
  keep: string;
  isBusy: boolean;
  onAnswer: (answer: AnswerThread) => void;
};

function TextAnswer({ question, keep, isBusy, onAnswer }: FormProps) {
  const { schema, decision } = question;
  const [text, setText] = useKept(keep, "");
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (text.trim() !== "") onAnswer(textRequest(question, text));
  };
  return (
    <form onSubmit={submit} className={column}>
      <TextArea
        label={decision ? "Or another answer" : "Your answer"}
        rows={3}
        value={text}
        hint={schema === null ? "A text. Valid JSON is sent as its value." : hintOf(schema)}
        onChange={({ target }) => setText(target.value)}
      />
      <Buttons
        question={question}
        isBusy={isBusy}
        onDecide={(yes) => onAnswer(requestOf(question, decided(question, null, yes)))}
      >
        <Button
          look={decision ? "plain" : "solid"}
          type="submit"
          icon={<Send />}
          isBusy={isBusy}
          disabled={text.trim() === ""}
        >
          Answer
        </Button>
      </Buttons>
    </form>
  );
}

const hintOf = (schema: unknown): string | undefined => fieldsOf(schema)[0]?.hint ?? undefined;

function SchemaAnswer({ question, keep, isBusy, onAnswer }: FormProps) {
  const all = useMemo(() => fieldsOf(question.schema).map(chosen), [question]);
  const { decision } = question;
  // The buttons set the property of the decision.
  const fields = all.filter(({ name }) => decision === null || name !== (decision.property ?? ""));
  const { controls, value, submit } = useSchemaForm(fields, { keep });
  const form = useRef<HTMLFormElement>(null);
  const answer = (what: unknown) => submit(form.current, () => onAnswer(requestOf(question, what)));
  const send = (event: SubmitEvent) => {
    event.preventDefault();
    if (!decision) answer(value);
  };
  return (
    <form ref={form} onSubmit={send} className={column} noValidate>
      {controls}
      <Buttons
        question={question}
        isBusy={isBusy}
        onDecide={(yes) => answer(decided(question, value, yes))}
      >
        {!decision && (
          <Button look="solid" type="submit" icon={<Send />} isBusy={isBusy}>
            Answer
          </Button>
        )}
      </Buttons>
    </form>
  );
}

/** A field without a default: an answer is never preselected. */
function chosen(field: FormField): FormField {
  const { choices, kind } = field;
  if (kind === "boolean") return { ...field, kind: "choice", choices: [true, false], draft: "" };
  return kind === "choice" && isDecision(choices) ? { ...field, isRequired: true } : field;
}

const isDecision = (choices: readonly unknown[]): boolean =>
  choices.length > 1 && choices.every((choice) => decisionOf(choice) !== null);

type ButtonsProps = {
  question: Question;
  isBusy: boolean;
  onDecide: (isYes: boolean) => void;
  children: ReactNode;
};

const Buttons = ({ question, isBusy, onDecide, children }: ButtonsProps) => (
  <div className="flex flex-wrap gap-2">
    {question.decision && (
      <>
        <Button look="solid" icon={<Check />} isBusy={isBusy} onClick={() => onDecide(true)}>
          Approve
        </Button>
        <Button look="danger" icon={<X />} isBusy={isBusy} onClick={() => onDecide(false)}>
          Reject
        </Button>
      </>
    )}
    {children}
  </div>
);
