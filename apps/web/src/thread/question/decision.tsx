import { type QueryKey, useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, type RefObject, useCallback, useEffect, useRef, useState } from "react";
import { moment } from "../../lib/format.ts";
import { ApiError } from "../../lib/request.ts";
import { Button } from "../../ui/button.tsx";
import { AfterMarkdown, HidesContext, Prose } from "../../ui/prose.tsx";
import { FailureNotice } from "../../ui/states.tsx";

/** A way to end a question. */
export type Choice = {
  name?: "approve" | "reject";
  label: string;
  look?: "solid" | "plain" | "danger";
  icon?: ReactNode;
  title?: string;
  /** Identifies the choice among several questions on a page. */
  about?: string;
  needsSubject?: boolean;
  isDisabled?: boolean;
} & (
  | {
      /** Sends the choice; null if the form is incomplete. */
      send: () => Promise<unknown> | null;
    }
  | {
      act: () => void;
    }
);

type Props = {
  from?: ReactNode;
  prompt?: string;
  subject?: ReactNode;
  children?: ReactNode;
  choices: readonly Choice[];
  /** Time of the timeout in milliseconds since the epoch; null for none. */
  expiresAt?: number | null;
  /** Whether the question is closed, and accepts no answer. */
  isOver?: boolean;
  asked?: number;
  /** The queries that an answer changes. */
  changes: QueryKey;
  onSent?: () => void;
};

const closed = new Set(["STALE_ANSWER", "NOT_WAITING", "THREAD_ENDED", "ANSWER_LATE"]);

/**
 * A question with its whole subject, and the choices that answer it. A choice is sent once. The choices are disabled
 * after the answer, when the question is closed, and, for an approval, while a part of the subject is hidden.
 */
export function Decision(props: Props) {
  const { from, prompt = "", subject, children, choices, expiresAt = null, onSent } = props;
  const { isOver = false, asked = 0 } = props;
  const client = useQueryClient();
  const form = useRef<HTMLFormElement>(null);
  const [hidden, setHidden] = useState(0);
  const hide = useCallback(() => {
    setHidden((count) => count + 1);
    return () => setHidden((count) => count - 1);
  }, []);
  // The next click may arrive before the state of the mutation changes.
  const isSent = useRef(false);
  const work = useMutation({
    mutationFn: (sending: Promise<unknown>) => sending,
    onSettled: () => void client.invalidateQueries({ queryKey: props.changes }),
    onSuccess: () => onSent?.(),
    onError: () => {
      isSent.current = false;
    },
  });
  const { error } = work;
  const isDone = work.isPending || work.isSuccess;
  // The thread may continue before the response arrives.
  const isClosed = !isDone && (isOver || (error instanceof ApiError && closed.has(error.code)));
  const press = (choice: Choice, clicks: number) => {
    // The second click of a double click may hit the next question.
    if (clicks > 1 || isSent.current || isClosed) return;
    if ("act" in choice) return choice.act();
    const sending = choice.send();
    if (!sending) return;
    isSent.current = true;
    work.mutate(sending);
  };
  return (
    <div className="flex min-w-0 flex-col gap-4">
      {from}
      {prompt !== "" && <Prose text={prompt} isMarkdown isOpen />}
      <HidesContext value={hide}>{subject}</HidesContext>
      <AfterMarkdown>
        <Focus within={form} asked={asked} />
        <form
          ref={form}
          noValidate
          className="flex max-w-160 flex-col gap-3"
          onSubmit={(event) => event.preventDefault()}
        >
          {children}
          <div className="flex flex-wrap gap-2" data-choices>
            {choices.map((choice) => {
              const { name, label, look, icon, title, about, needsSubject, isDisabled } = choice;
              return (
                <Button
                  key={label}
                  // Enter in a field submits the only choice, but never one of several.
                  type={choices.length === 1 ? "submit" : "button"}
                  look={look}
                  icon={icon}
                  title={title}
                  data-choice={name}
                  isBusy={isDone}
                  disabled={isDisabled || isClosed || (needsSubject === true && hidden > 0)}
                  onClick={({ detail }) => press(choice, detail)}
                >
                  {label}
                  {about && <span className="sr-only"> {about}</span>}
                </Button>
              );
            })}
          </div>
          {hidden > 0 && choices.some(({ needsSubject }) => needsSubject) && (
            <p role="status" className="text-small text-amber">
              A part of the subject is not shown yet: show all of it to approve it.
            </p>
          )}
          {expiresAt !== null && (
            <p className="text-small text-muted">Answers are accepted until {moment(expiresAt)}.</p>
          )}
          {work.isSuccess && (
            <p role="status" className="text-small text-muted">
              Sent.
            </p>
          )}
          <p className="hidden text-small text-muted [form:has([data-choice]:focus-visible)>&]:block">
            Enter sends the focused choice.
          </p>
          {isClosed ? <Closed /> : error && <FailureNotice error={error} />}
        </form>
      </AfterMarkdown>
    </div>
  );
}

const Closed = () => (
  <p role="alert" className="rounded-md bg-amber-soft px-3 py-2 text-amber">
    This question is no longer open: it was answered, has timed out, or its thread has ended. Your
    text stays here.
  </p>
);

/** Focuses the first control of a form at each request, once the form is shown. */
function Focus({ within, asked }: { within: RefObject<HTMLElement | null>; asked: number }) {
  useEffect(() => {
    if (asked > 0)
      within.current?.querySelector<HTMLElement>("textarea, input, select, button")?.focus();
  }, [within, asked]);
  return null;
}
