import { useQueryClient } from "@tanstack/react-query";
import { Send } from "lucide-react";
import { type KeyboardEvent, type ReactNode, type SubmitEvent, useState } from "react";
import { planKeys, writeToPlanner } from "../../lib/plans.ts";
import { ApiError, pathOf } from "../../lib/request.ts";
import { Button } from "../../ui/button.tsx";
import { TextArea } from "../../ui/field.tsx";
import { Prose } from "../../ui/prose.tsx";
import { FailureNotice } from "../../ui/states.tsx";

type ChatMessage = { by: "You" | "Planner"; text: string };

type Props = {
  /** Where the first message goes: a request, or what is to change of a plan. */
  path: string;
  label: string;
  hint?: ReactNode;
  action: string;
  /** The plan that a turn made. */
  onPlan?: (id: string) => void;
};

/** A conversation with the planner, from a request to a plan. */
export function PlannerChat({ path, label, hint, action, onPlan }: Props) {
  const client = useQueryClient();
  const [messages, setMessages] = useState<readonly ChatMessage[]>([]);
  const [session, setSession] = useState<string | null>(null);
  const [writing, setWriting] = useState<string | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [text, setText] = useState("");
  const add = (by: ChatMessage["by"], words: string) => {
    if (words.trim() !== "") setMessages((before) => [...before, { by, text: words }]);
  };
  const converse = async (words: string) => {
    let written = "";
    const to = session === null ? path : pathOf("planner", session);
    for await (const message of writeToPlanner(to, words)) {
      if (message.name === "token") {
        written += message.data.text;
        setWriting(written);
        continue;
      }
      if (message.name === "error") throw new ApiError(400, message.data);
      const { turn, workflow, session: own } = message.data;
      setSession(own);
      if (!turn.content.includes(written.trim())) add("Planner", written);
      add("Planner", turn.content);
      if (workflow) onPlan?.(workflow.id);
      return;
    }
    throw new ApiError(0, {
      code: "NOT_REACHED",
      message: "the server was lost before the planner's turn had ended",
      hint: "look whether the plan is among the plans; else write again",
    });
  };
  const send = () => {
    const words = text.trim();
    if (words === "" || writing !== null) return;
    add("You", words);
    setText("");
    setError(null);
    setWriting("");
    converse(words)
      .catch((reason: unknown) =>
        setError(reason instanceof Error ? reason : new Error(String(reason))),
      )
      .finally(() => {
        setWriting(null);
        void client.invalidateQueries({ queryKey: planKeys.all });
      });
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    send();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <div className="flex flex-col gap-7.5">
      <div role="log" aria-label="Conversation" className="flex flex-col gap-6 empty:hidden">
        {messages.map((one, at) => (
          <Message key={at} {...one} />
        ))}
      </div>
      {writing !== null && <Message by="Planner" text={writing} isGrowing />}
      {error && <FailureNotice error={error} />}
      <form onSubmit={submit} className="flex max-w-400 flex-col items-start gap-6">
        <div className="w-full">
          <TextArea
            label={messages.length === 0 ? label : "Your message"}
            hint={messages.length === 0 ? hint : "Enter sends it, Shift Enter begins a line."}
            rows={3}
            value={text}
            onChange={({ target }) => setText(target.value)}
            onKeyDown={onKeyDown}
          />
        </div>
        <Button
          look="solid"
          type="submit"
          icon={<Send />}
          isBusy={writing !== null}
          disabled={text.trim() === "" && writing === null}
        >
          {messages.length === 0 ? action : "Send"}
        </Button>
      </form>
    </div>
  );
}

function Message({ by, text, isGrowing = false }: ChatMessage & { isGrowing?: boolean }) {
  const look = by === "You" ? "bg-accent-soft self-end" : "bg-sunken";
  return (
    <div className={`max-w-520 min-w-0 rounded-md px-7.5 py-5 ${look}`}>
      <p className="text-small font-medium text-muted">{by}</p>
      <Prose text={text} isGrowing={isGrowing} isMarkdown={by === "Planner"} />
    </div>
  );
}
