import type { ApprovalInput } from "@uncaged/workflow-graph/run";
import {
  Bot,
  CircleCheck,
  CircleSlash,
  CircleX,
  GitBranch,
  LoaderCircle,
  type LucideIcon,
  TriangleAlert,
  UserRoundCheck,
} from "lucide-react";
import type { ReactNode } from "react";
import { ApprovalForm } from "../../thread/question/question.tsx";
import { Subject } from "../../thread/question/subject.tsx";
import { Prose } from "../../ui/prose.tsx";
import {
  type AgentItem,
  type ApprovalItem,
  type Call,
  type RunItem,
  summaryOf,
} from "./run-view.ts";

const states: Record<AgentItem["state"], { icon: LucideIcon; ink: string; word: string }> = {
  running: { icon: LoaderCircle, ink: "text-blue", word: "running" },
  done: { icon: CircleCheck, ink: "text-green", word: "done" },
  failed: { icon: CircleX, ink: "text-red", word: "failed" },
  stopped: { icon: CircleSlash, ink: "text-faint", word: "stopped" },
};

function State({ state }: { state: AgentItem["state"] }) {
  const { icon: Icon, ink, word } = states[state];
  return <Icon className={ink} aria-label={word} role="img" />;
}

type Props = {
  item: RunItem;
  /** The subject of the approval and the callback for an answer; null while the user can't answer. */
  asked: {
    subject: unknown;
    /** Storage key of the unsent note. */
    keep: string;
    onAnswer: (answer: ApprovalInput) => Promise<void>;
  } | null;
};

export function RunItemView({ item, asked }: Props) {
  switch (item.kind) {
    case "prompt":
      return (
        <Item name="Prompt">
          <Prose text={item.text} />
        </Item>
      );
    case "agent":
      return <AgentView item={item} />;
    case "checks":
      return (
        <Item icon={<GitBranch />} name={item.name}>
          <ul className="flex flex-col gap-1 text-small text-muted wrap-anywhere">
            {item.lines.map((line, index) => (
              <li key={index}>{line}</li>
            ))}
          </ul>
        </Item>
      );
    case "approval":
      return <ApprovalView item={item} asked={asked} />;
    case "line":
      return <LineView {...item} />;
  }
}

type ItemProps = {
  icon?: ReactNode;
  name: string;
  state?: ReactNode;
  look?: string;
  children?: ReactNode;
};

function Item({ icon, name, state, look = "", children }: ItemProps) {
  return (
    <article aria-label={name} className={`panel flex flex-col gap-2 px-4 py-3 shadow-sm ${look}`}>
      <header className="flex min-w-0 items-center gap-2 font-semibold [&>svg]:text-faint">
        {icon}
        <span className="min-w-0 flex-1 wrap-anywhere">{name}</span>
        {state && <span className="flex">{state}</span>}
      </header>
      {children}
    </article>
  );
}

function AgentView({ item }: { item: AgentItem }) {
  const { name, state, prompt, text, calls } = item;
  return (
    <Item icon={<Bot />} name={name} state={<State state={state} />}>
      {prompt !== null && prompt !== "" && (
        <details>
          <summary>Prompt</summary>
          <div className="pt-2 text-muted">
            <Prose text={prompt} />
          </div>
        </details>
      )}
      {calls.length > 0 && (
        <details open={state === "running"}>
          <summary>{summaryOf(calls)}</summary>
          <Calls calls={calls} />
        </details>
      )}
      {text !== null && state === "failed" ? (
        <div className="text-red">
          <Prose text={`Error: ${text}`} />
        </div>
      ) : (
        text !== null && <Prose text={text} isGrowing={state === "running"} isMarkdown />
      )}
    </Item>
  );
}

const Calls = ({ calls }: { calls: readonly Call[] }) => (
  <ul className="mt-1 flex flex-col gap-2 border-l pl-2">
    {calls.map(({ id, name, state, message, text, calls: inner }) => (
      <li key={id} className="flex flex-col gap-1">
        <span className="flex items-center gap-2">
          <State state={state} />
          <span className="wrap-anywhere">{name}</span>
        </span>
        {message !== null && message !== "" && (
          <div className={`text-small ${state === "failed" ? "text-red" : "text-muted"}`}>
            <Prose
              text={state === "failed" ? `Error: ${message}` : message}
              isMarkdown={state === "done"}
            />
          </div>
        )}
        {text !== null && state === "running" && (
          <div className="text-small">
            <Prose text={text} isGrowing isMarkdown />
          </div>
        )}
        {inner.length > 0 && <Calls calls={inner} />}
      </li>
    ))}
  </ul>
);

type ApprovalProps = { item: ApprovalItem } & Pick<Props, "asked">;

function ApprovalView({ item, asked }: ApprovalProps) {
  const { name, prompt, answer, isRejected, isOver } = item;
  if (answer !== null) {
    const state = isRejected ? (
      <CircleX className="text-red" />
    ) : (
      <CircleCheck className="text-green" />
    );
    return (
      <Item icon={<UserRoundCheck />} name={name} state={state}>
        <Prose text={answer} />
      </Item>
    );
  }
  return (
    <Item icon={<UserRoundCheck />} name={name} look={asked ? "border-amber bg-amber-soft" : ""}>
      <Prose text={prompt} isMarkdown />
      {asked ? (
        <ApprovalForm
          keep={asked.keep}
          subject={<Subject title="To be approved" value={asked.subject} />}
          onDecide={asked.onAnswer}
        />
      ) : (
        <p className="text-small text-muted">
          {isOver
            ? "The run ended without an answer."
            : "Available when the other running nodes have finished."}
        </p>
      )}
    </Item>
  );
}

function LineView({ level, name, text }: Extract<RunItem, { kind: "line" }>) {
  const isError = level === "error";
  return (
    <p className={`flex gap-2 px-4 wrap-anywhere ${isError ? "text-red" : "text-amber"}`}>
      <TriangleAlert className="mt-1" aria-hidden />
      <span>
        {name !== null && `${name}: `}
        {isError ? `Error: ${text}` : text}
      </span>
    </p>
  );
}
