import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Send, Square } from "lucide-react";
import type { PlannerEvents } from "@uncaged/workflow-server/api-types";
import {
  type KeyboardEvent,
  type ReactNode,
  type SubmitEvent,
  useEffect,
  useEffectEvent,
  useRef,
  useState,
} from "react";
import {
  conversationQuery,
  followPlanner,
  planKeys,
  type PlannerMessage,
  stopPlanner,
  writeToPlanner,
} from "../../lib/plans.ts";
import { readPlannerSearch } from "../../lib/search.ts";
import { isComposing, useKept } from "../../lib/kept.ts";
import { ApiError, pathOf } from "../../lib/request.ts";
import { Button } from "../../ui/button.tsx";
import { TextArea } from "../../ui/field.tsx";
import { Prose } from "../../ui/prose.tsx";
import { FailureNotice } from "../../ui/states.tsx";

type Props = {
  /** API path for the first message, which requests a new plan or a change of a plan. */
  path: string;
  label: string;
  hint?: ReactNode;
  action: string;
};

/** The current turn: the user's text and the planner's text so far. */
type Turn = { text: string; written: string };

/**
 * A conversation with the planner. The page's address contains the conversation, and the server stores it, so a reload
 * restores it.
 */
export function PlannerChat({ path, label, hint, action }: Props) {
  const { session = null } = readPlannerSearch(useSearch({ strict: false }));
  const navigate = useNavigate();
  const client = useQueryClient();
  const known = useQuery({ ...conversationQuery(session ?? ""), enabled: session !== null });
  const [turn, setTurn] = useState<Turn | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [note, setNote] = useState<string | null>(null);
  const [text, setText] = useKept(`planner-${path}`, "");
  const form = useRef<HTMLFormElement>(null);
  const isSending = useRef(false);
  const stop = useMutation({
    mutationFn: stopPlanner,
    onSuccess: () => form.current?.querySelector("textarea")?.focus(),
  });
  const isMissing = known.error instanceof ApiError && known.error.status === 404;
  const { messages = [], turn: state = null } = (!isMissing && known.data) || {};

  /** Shows a turn until it ends, then reads the conversation. */
  const show = async (
    stream: AsyncIterable<PlannerMessage>,
    { sent, signal }: { sent?: string; signal?: AbortSignal },
  ) => {
    let id = session;
    let words: string | null = null;
    let failure: Error | null = null;
    try {
      for await (const message of stream) {
        if (signal?.aborted) return;
        if (message.name === "begin") {
          ({ session: id, text: words } = message.data);
          setTurn({ text: words, written: "" });
          if (id !== session) void navigate({ to: ".", search: { session: id }, replace: true });
        } else if (message.name === "token") {
          const { text: token } = message.data;
          setTurn((before) => before && { ...before, written: before.written + token });
        } else if (message.name === "error") throw new ApiError(400, message.data);
        else return endOf(message.data.turn);
      }
      // A followed turn may have ended before the stream opened.
      if (words !== null || isSending.current) throw lost();
    } catch (reason) {
      failure = reason instanceof ApiError ? reason : lost();
    } finally {
      if (!signal?.aborted) {
        const read = { ...conversationQuery(id ?? ""), staleTime: 0 };
        const after = id === null ? null : await client.query(read).catch(() => null);
        if (failure) setError(failure);
        const isStored = after?.messages.some(({ by }) => by === "user") ?? false;
        // If the server refused or did not store the message, the user can send it again.
        const unsaved = words === null ? sent : isStored ? undefined : words;
        if (failure && unsaved !== undefined) setText(unsaved);
        setTurn(null);
        stop.reset();
        void client.invalidateQueries({ queryKey: planKeys.all });
      }
    }
  };
  const endOf = ({ type, content, stopped }: PlannerEvents["turn"]["turn"]) => {
    if (type !== "error") return;
    if (stopped) setNote("Stopped. Your next message continues the conversation.");
    else setError(new ApiError(400, { code: "PLANNER_ERROR", message: content, hint: null }));
  };
  // After a reload, follows the running turn.
  const follow = useEffectEvent((id: string, signal: AbortSignal) => {
    if (!isSending.current) void show(followPlanner(id, signal), { signal });
  });
  const isAtWork = state === "at work";
  useEffect(() => {
    if (session === null || !isAtWork) return;
    const abort = new AbortController();
    follow(session, abort.signal);
    return () => abort.abort();
  }, [session, isAtWork]);

  const send = () => {
    const words = text.trim();
    if (words === "" || turn !== null) return;
    setText("");
    setError(null);
    setNote(null);
    setTurn({ text: words, written: "" });
    isSending.current = true;
    const isKept = session !== null && messages.length > 0;
    const stream = writeToPlanner(isKept ? pathOf("planner", session) : path, words);
    void show(stream, { sent: words }).finally(() => {
      isSending.current = false;
    });
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    send();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || isComposing(event)) return;
    event.preventDefault();
    send();
  };
  const hasBegun = messages.length > 0 || turn !== null;
  return (
    <div className="flex flex-col gap-3">
      <div role="log" aria-label="Conversation" className="flex flex-col gap-2 empty:hidden">
        {messages.map((one, at) => (
          <Message key={at} {...one} />
        ))}
        {turn && turn.text !== "" && <Message by="user" text={turn.text} />}
      </div>
      {turn && <Message by="planner" text={turn.written} isGrowing />}
      <State state={turn ? null : state} isMissing={isMissing && turn === null && !error} />
      {note && turn === null && (
        <p role="status" className="text-muted">
          {note}
        </p>
      )}
      {error && <FailureNotice error={error} />}
      <form ref={form} onSubmit={submit} className="flex max-w-160 flex-col items-start gap-2">
        <div className="w-full">
          <TextArea
            label={hasBegun ? "Your message" : label}
            hint={hasBegun ? "Enter sends, Shift+Enter starts a new line." : hint}
            rows={3}
            value={text}
            onChange={({ target }) => setText(target.value)}
            onKeyDown={onKeyDown}
          />
        </div>
        <div className="flex flex-wrap gap-2">
          <Button
            look="solid"
            type="submit"
            icon={<Send />}
            isBusy={turn !== null}
            disabled={text.trim() === "" && turn === null}
          >
            {hasBegun ? "Send" : action}
          </Button>
          {turn && session !== null && (
            <Button
              icon={<Square />}
              title="Stop the planner; you can write again"
              isBusy={stop.isPending || stop.isSuccess}
              onClick={() => stop.mutate(session)}
            >
              Stop
            </Button>
          )}
        </div>
        {stop.error && turn && <FailureNotice error={stop.error} />}
      </form>
    </div>
  );
}

const lost = (): ApiError =>
  new ApiError(0, {
    code: "NOT_REACHED",
    message: "lost the server before the planner's turn ended",
    hint: "reload the page to see the state of the turn",
  });

const states = {
  elsewhere: "The planner is working on this for another program. The result appears here.",
  interrupted: "The planner was interrupted, and the last message is lost. Send it again.",
} as const;

type StateProps = { state: "at work" | keyof typeof states | null; isMissing: boolean };

/** Explains why a conversation is interrupted or missing. */
function State({ state, isMissing }: StateProps) {
  const text =
    state === null || state === "at work"
      ? isMissing && "Conversation not found: it may never have had an answer. Start a new one."
      : states[state];
  if (!text) return null;
  return (
    <p role="status" className="rounded-md bg-amber-soft px-3 py-2 text-amber">
      {text}
    </p>
  );
}

type MessageProps = { by: "user" | "planner"; text: string; isGrowing?: boolean };

function Message({ by, text, isGrowing = false }: MessageProps) {
  const look = by === "user" ? "bg-accent-soft self-end" : "bg-sunken";
  return (
    <div className={`max-w-208 min-w-0 rounded-md px-3 py-2 ${look}`}>
      <p className="text-small font-semibold text-muted">{by === "user" ? "You" : "Planner"}</p>
      <Prose text={text} isGrowing={isGrowing} isMarkdown={by === "planner"} />
    </div>
  );
}
