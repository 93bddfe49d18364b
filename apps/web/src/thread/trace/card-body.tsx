import type { EventRecord } from "@uncaged/workflow/records";
import {
  CircleAlert,
  CircleCheck,
  CircleX,
  FileText,
  LoaderCircle,
  type LucideIcon,
  MessageSquare,
  Printer,
  RefreshCw,
  TriangleAlert,
  Variable,
} from "lucide-react";
import { useState } from "react";
import { cost, count, counted, duration, moment, tokens, until, useNow } from "../../lib/format.ts";
import { isRecord } from "../../lib/json.ts";
import type { Card } from "../../lib/thread-log.ts";
import { Button } from "../../ui/button.tsx";
import { type Fact, Facts } from "../../ui/facts.tsx";
import { Prose } from "../../ui/prose.tsx";
import { Section } from "../../ui/section.tsx";
import { Nothing, Value, Values } from "../../ui/value.tsx";
import {
  contentBeside,
  groupsOf,
  isCommit,
  logLineOf,
  type Note,
  notesOf,
  outputsOf,
  type Spending,
  spendingOf,
  type ToolCall,
  tryOf,
  type TurnGroup,
} from "../detail/parts.ts";
import { Thrown } from "../detail/thrown.tsx";

type Props = { card: Card; isRunning: boolean };

export function CardBody({ card, isRunning }: Props) {
  const { attempt } = card;
  const inputs = attempt.input?.resolvedInputs;
  const content = contentBeside(card);
  return (
    <>
      {attempt.error && <Thrown error={attempt.error} />}
      <NextTry card={card} />
      <Warnings of={attempt.warnings} />
      {content !== null && (
        <div className="px-4 pb-2">
          {content === "" ? (
            <Nothing>No content.</Nothing>
          ) : (
            <Prose text={content} isMarkdown={isModelText(card)} />
          )}
        </div>
      )}
      {isRecord(inputs) && (
        <Section name={`${attempt.attempt}/inputs`} title="Inputs" note={namesIn(inputs)}>
          {() => <Values values={inputs} />}
        </Section>
      )}
      <Turns card={card} isRunning={isRunning} />
      <CardRest card={card} isRunning={isRunning} />
    </>
  );
}

function Warnings({ of }: { of: readonly string[] }) {
  if (of.length === 0) return null;
  return (
    <ul className="flex flex-col gap-1 px-4 pb-2 text-amber" aria-label="Warnings">
      {of.map((problem) => (
        <li key={problem} className="flex items-baseline gap-2 wrap-anywhere">
          <TriangleAlert aria-hidden className="translate-y-0.5" />
          {problem}
        </li>
      ))}
    </ul>
  );
}

function NextTry({ card }: { card: Card }) {
  const next = tryOf(card)?.next ?? null;
  const now = useNow(1_000, next !== null && next > Date.now());
  if (next === null) return null;
  return (
    <p className="flex items-center gap-2 px-4 pb-2 text-muted">
      <RefreshCw className="text-faint" />
      {next > now ? `Trying again ${until(next, now)}` : "Tried again."}
    </p>
  );
}

/** Maximum number of groups of turns shown at once. Earlier groups are shown on demand. */
const mostGroups = 40;

function Turns({ card: { attempt }, isRunning }: Props) {
  const [isWhole, setWhole] = useState(false);
  const all = groupsOf(attempt.turns);
  const groups = isWhole ? all : all.slice(-mostGroups);
  return (
    <>
      {groups.length < all.length && (
        <div className="px-4 pb-2">
          <Button small onClick={() => setWhole(true)}>
            Show {count(all.length - groups.length)} earlier turns
          </Button>
        </div>
      )}
      {groups.map((group) => (
        <Turn
          key={group.at}
          name={`${attempt.attempt}/turn-${group.at}`}
          group={group}
          isRunning={isRunning}
          isGrowing={isRunning && group === groups.at(-1)}
        />
      ))}
    </>
  );
}

type TurnProps = { name: string; group: TurnGroup; isRunning: boolean; isGrowing: boolean };

function Turn({ name, group, isRunning, isGrowing }: TurnProps) {
  if (group.kind === "tools") {
    const { calls } = group;
    const title = `Tool calls (${calls.length})`;
    const names = calls.map((call) => call.name).join(", ");
    return (
      <Section name={name} title={title} note={names} isOpen={isRunning}>
        {() => <Tools calls={calls} />}
      </Section>
    );
  }
  const { kind, text } = group;
  return kind === "thinking" ? (
    <Section name={name} title="Thinking" note={oneLine(text)} isOpen={isGrowing}>
      {() => (
        <div className="text-muted italic">
          <Prose text={text} isGrowing={isGrowing} />
        </div>
      )}
    </Section>
  ) : (
    <Section name={name} title="Response" isOpen>
      {() => <Prose text={text} isGrowing={isGrowing} isMarkdown />}
    </Section>
  );
}

function CardRest({ card, isRunning }: Props) {
  const { attempt, step } = card;
  const key = attempt.attempt;
  const notes = notesOf(card);
  const outputs = outputsOf(card);
  const spending = spendingOf(card);
  return (
    <>
      {notes.length > 0 && (
        <Section name={`${key}/notes`} title={`Notes (${notes.length})`} isOpen={isRunning}>
          {() => <Notes notes={notes} />}
        </Section>
      )}
      {(step || attempt.output) && Object.keys(outputs).length > 0 && (
        <Section
          name={`${key}/outputs`}
          title={step?.role === "__wait__" ? "Question" : "Outputs"}
          note={namesIn(outputs)}
        >
          {() => <Values values={outputs} />}
        </Section>
      )}
      {step && isCommit(step.meta) && (
        <Section name={`${key}/meta`} title="Record" note="the full commit">
          {() => <Values values={step.meta} />}
        </Section>
      )}
      {spending && spending.total + (spending.cost ?? 0) > 0 && (
        <Section name={`${key}/usage`} title="Token usage" note={summaryOf(spending)}>
          {() => <SpendingTable spending={spending} />}
        </Section>
      )}
    </>
  );
}

const summaryOf = ({ total, models, latencyMs }: Spending): string =>
  [tokens(total), models.join(", "), latencyMs === null ? "" : duration(latencyMs)]
    .filter(Boolean)
    .join(" · ");

// A program's text is not Markdown. As Markdown, its lines would run together.
const isModelText = (card: Card): boolean =>
  card.step !== null && !isCommit(card.step.meta) && spendingOf(card) !== null;

const mostNamed = 6;

function namesIn(values: Readonly<Record<string, unknown>>): string {
  const names = Object.keys(values);
  const rest = names.length - mostNamed;
  const shown = names.slice(0, mostNamed).join(", ");
  return rest > 0 ? `${shown} and ${counted(rest, "other")}` : shown;
}

const oneLine = (text: string): string => text.slice(0, 140).replace(/\s+/g, " ");

const icons: Record<Note["kind"], { icon: LucideIcon; word: string }> = {
  variable: { icon: Variable, word: "variable" },
  file: { icon: FileText, word: "file" },
  print: { icon: Printer, word: "printed" },
  error: { icon: CircleAlert, word: "error" },
  retry: { icon: RefreshCw, word: "retry" },
  event: { icon: MessageSquare, word: "event" },
};

const mostNotes = 200;

const Newest = ({ of }: { of: readonly unknown[] }) =>
  of.length > mostNotes && <li>The newest {mostNotes} are shown.</li>;

function Notes({ notes }: { notes: readonly Note[] }) {
  return (
    <ul className="flex flex-col gap-1">
      <Newest of={notes} />
      {notes.slice(-mostNotes).map(({ kind, text }, index) => {
        const { icon: Icon, word } = icons[kind];
        return (
          <li key={index} className="flex gap-2 wrap-anywhere">
            <Icon aria-label={word} className="mt-1 text-faint" />
            <code>{text}</code>
          </li>
        );
      })}
    </ul>
  );
}

export function LogLines({ lines }: { lines: readonly EventRecord[] }) {
  if (lines.length === 0) return null;
  return (
    <div className="panel overflow-clip shadow-sm">
      <Section name="lines" title={`Log (${counted(lines.length, "line")})`}>
        {() => (
          <ol className="code wrap-anywhere">
            <Newest of={lines} />
            {lines.slice(-mostNotes).map((line) => (
              <li key={line.seq}>
                <time className="text-faint">{moment(line.timestamp)}</time> {logLineOf(line)}
              </li>
            ))}
          </ol>
        )}
      </Section>
    </div>
  );
}

function Tools({ calls }: { calls: readonly ToolCall[] }) {
  return (
    <ul className="flex flex-col gap-2">
      {calls.map((call, index) => (
        <li
          key={index}
          className={`flex flex-col gap-1 rounded-md border px-3 py-2 ${call.status === "failed" ? "border-red/40" : ""}`}
        >
          <div className="flex items-center gap-2 font-semibold">
            <ToolState status={call.status} />
            <code>{call.name}</code>
            {call.continued && <span className="text-small text-faint">continued</span>}
          </div>
          <div className="text-muted">
            <Value value={call.input} />
          </div>
          {call.messages.length > 0 && (
            <ul className="text-small text-faint">
              {call.messages.map((message, line) => (
                <li key={line}>{message}</li>
              ))}
            </ul>
          )}
          {"output" in call && (
            <div className="code border-t border-dashed border-line-strong pt-1">
              {typeof call.output === "string" ? (
                <Prose text={call.output} />
              ) : (
                <Value value={call.output} />
              )}
            </div>
          )}
        </li>
      ))}
    </ul>
  );
}

function ToolState({ status }: { status: ToolCall["status"] }) {
  if (status === "failed") return <CircleX aria-label="failed" className="text-red" />;
  if (status === "done") return <CircleCheck aria-label="done" className="text-green" />;
  return <LoaderCircle aria-label="running" className="text-blue" />;
}

function SpendingTable({ spending }: { spending: Spending }) {
  const { models, latencyMs, tokens: used, cost: dollars } = spending;
  const kinds = Object.entries(used).filter(([, value]) => value > 0);
  return (
    <Facts
      look="row"
      facts={[
        ...kinds.map(([name, value]): Fact => [wordsOf(name), count(value)]),
        ["Model", models.join(", ") || null],
        ["Latency", latencyMs === null ? null : duration(latencyMs)],
        ["Cost", dollars === null ? null : cost(dollars)],
      ]}
    />
  );
}

/** `cache_read_tokens` as `Cache read`. */
function wordsOf(name: string): string {
  const words = name.replace(/_tokens$/, "").replaceAll("_", " ");
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}
