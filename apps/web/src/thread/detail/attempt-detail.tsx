import { RefreshCw } from "lucide-react";
import { cost, count, counted, duration, moment, tokens, until, useNow } from "../../lib/format.ts";
import { sizeOf } from "../../lib/json-nodes.ts";
import { isRecord } from "../../lib/json.ts";
import type { Card } from "../../lib/thread-log.ts";
import { type Fact, Facts } from "../../ui/facts.tsx";
import { jsonOf } from "../../ui/json-search.tsx";
import { Section } from "../../ui/section.tsx";
import { sentence, Warnings } from "../../ui/states.tsx";
import { Values } from "../../ui/value.tsx";
import type { TraceRow } from "../trace/rows.ts";
import { Conversation } from "./conversation.tsx";
import {
  contentOf,
  isCommit,
  type Note,
  notesOf,
  outputsOf,
  type Spending,
  spendingOf,
  tryOf,
} from "./parts.ts";
import { Shown } from "./shown.tsx";
import { StateChanges } from "./state-changes.tsx";
import { Thrown, thrownText } from "./thrown.tsx";

type Props = { row: TraceRow; card: Card };

/** The parts of an attempt: its error, result, conversation, input, changes of state, events and spending. */
export function AttemptDetail({ row, card }: Props) {
  const { attempt, step } = card;
  const isRunning = row.status === "running";
  const isOpenQuestion = row.status === "waiting" && row.kind === "question";
  const outputs = resultOf(row, card);
  const hasOutputs = (step !== null || attempt.output !== null) && sizeOf(outputs) > 0;
  const isConstruct = row.kind === "loop" || row.kind === "branch";
  const content = isOpenQuestion || isConstruct ? null : contentOf(card, hasOutputs);
  const inputs = attempt.input?.resolvedInputs;
  const notes = notesOf(card);
  const spending = spendingOf(card);
  return (
    <>
      {attempt.warnings.length > 0 && (
        <div className="px-4 pb-3">
          <Warnings of={attempt.warnings} />
        </div>
      )}
      <NextTry card={card} />
      {attempt.error && (
        <Section name="error" title="Error" isOpen copy={() => errorText(card)}>
          {() => attempt.error && <Thrown error={attempt.error} />}
        </Section>
      )}
      {(content || hasOutputs) && (
        <Section
          name="result"
          title={row.kind === "question" ? "Question" : row.kind === "answer" ? "Answer" : "Result"}
          isOpen
          copy={() => content || jsonOf(outputs)}
        >
          {() => (
            <>
              {content && <Shown value={content} name="Result" isMarkdown={isModelText(card)} />}
              {hasOutputs && <Values values={outputs} name="Outputs" />}
            </>
          )}
        </Section>
      )}
      {hasConversation(card, content) && (
        <Section
          name="conversation"
          title="Conversation"
          note={conversationNote(card)}
          isOpen={!content}
        >
          {() => <Conversation turns={attempt.turns} isRunning={isRunning} />}
        </Section>
      )}
      {isRecord(inputs) && Object.keys(inputs).length > 0 && (
        <Section
          name="input"
          title="Input"
          note={Object.keys(inputs).slice(0, 6).join(", ")}
          isOpen
          copy={() => jsonOf(inputs)}
        >
          {() => <Values values={inputs} name="Input" />}
        </Section>
      )}
      <StateChanges card={card} />
      {notes.length > 0 && (
        <Section name="events" title="Events" note={counted(notes.length, "event")}>
          {() => <Notes notes={notes} />}
        </Section>
      )}
      {step && (isCommit(step.meta) || step.role.startsWith("__")) && (
        <Section name="record" title="Record" note="as in the log">
          {() => <Values values={step.meta} name="Record" />}
        </Section>
      )}
      {spending && spending.total + (spending.cost ?? 0) > 0 && (
        <Section name="spending" title="Spending" note={`${tokens(spending.total)} tokens`}>
          {() => <Facts look="row" facts={spendingFacts(spending)} />}
        </Section>
      )}
    </>
  );
}

const spendingFacts = ({ models, latencyMs, tokens: used, cost: dollars }: Spending): Fact[] => [
  ...Object.entries(used)
    .filter(([, value]) => value > 0)
    .map(([name, value]): Fact => {
      const words = name.replace(/_tokens$/, "").replaceAll("_", " ");
      return [sentence(words), count(value)];
    }),
  ["Model", models.join(", ") || null],
  ["Latency", latencyMs === null ? null : duration(latencyMs)],
  ["Cost", dollars === null ? null : cost(dollars)],
];

const errorText = ({ attempt: { error } }: Card): string => (error ? thrownText(error) : "");

/** The values that a row shows as its result. The meta of a question or an answer is in its record. */
function resultOf({ kind }: TraceRow, card: Card): Readonly<Record<string, unknown>> {
  const { meta = {} } = card.step ?? {};
  if (kind === "answer") return isRecord(meta.value) ? meta.value : {};
  return kind === "question" || kind === "wait" ? {} : outputsOf(card);
}

const hasConversation = ({ attempt: { turns } }: Card, content: string | null): boolean =>
  turns.some((turn) => turn.kind !== "text" || turn.text.trim() !== content?.trim());

function conversationNote({ attempt: { turns } }: Card): string {
  const calls = turns.filter(({ kind }) => kind === "tool").length;
  return calls > 0 ? counted(calls, "tool call") : "";
}

// A program's text is not Markdown. As Markdown, its lines would run together.
const isModelText = (card: Card): boolean =>
  card.step !== null && !isCommit(card.step.meta) && spendingOf(card) !== null;

function NextTry({ card }: { card: Card }) {
  const next = tryOf(card)?.next ?? null;
  const now = useNow(1_000, next !== null && next > Date.now());
  if (next === null) return null;
  return (
    <p className="flex items-center gap-2 px-4 pb-3 text-muted">
      <RefreshCw className="text-faint" />
      {next > now ? `Trying again ${until(next, now)}` : "Tried again."}
    </p>
  );
}

const mostNotes = 200;

function Notes({ notes }: { notes: readonly Note[] }) {
  return (
    <>
      {notes.length > mostNotes && <p className="text-muted">The newest {mostNotes} are shown.</p>}
      <ol className="flex flex-col gap-1">
        {notes.slice(-mostNotes).map(({ type, text, at }, index) => (
          <li key={index} className="flex gap-3">
            <time className="code flex-none text-faint" title={moment(at)}>
              {new Date(at).toLocaleTimeString()}
            </time>
            <span className="w-24 flex-none truncate text-small text-muted" title={type}>
              {type}
            </span>
            <code className="code min-w-0 wrap-anywhere">{text}</code>
          </li>
        ))}
      </ol>
    </>
  );
}
