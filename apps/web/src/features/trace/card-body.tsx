import {
  CircleAlert,
  CircleCheck,
  CircleX,
  FileText,
  LoaderCircle,
  type LucideIcon,
  MessageSquare,
  Printer,
  Variable,
} from "lucide-react";
import type { Note, ToolCall } from "../../lib/activity.ts";
import { cost, count, counted, duration, tokens } from "../../lib/format.ts";
import type { Card } from "../../lib/thread-log.ts";
import { Prose } from "../../ui/prose.tsx";
import { Section } from "../../ui/section.tsx";
import { Nothing, Value, Values } from "../../ui/value.tsx";
import {
  contentBeside,
  isCommit,
  outputsOf,
  responseOf,
  totalOf,
  type Usage,
  usageOf,
} from "./parts.ts";
import type { CardState } from "./step-card.tsx";
import styles from "./trace.module.css";

/** What a card holds: what the step got, thought, said, called, gave and used. */
export function CardBody({ card, state }: { card: Card; state: CardState }) {
  const { key, activity } = card;
  const isRunning = state === "running";
  const response = responseOf(card);
  const content = activity?.response ? contentBeside(card) : (card.step?.content ?? null);
  return (
    <>
      {activity?.error && <p className={styles.error}>{activity.error}</p>}
      {content !== null && (
        <div className={styles.content}>
          {content === "" ? (
            <Nothing>It said nothing.</Nothing>
          ) : (
            <Prose text={content} isMarkdown={isModelText(card)} />
          )}
        </div>
      )}
      {activity?.inputs && (
        <Section name={`${key}/inputs`} title="Inputs" note={namesIn(activity.inputs)}>
          {() => <Values values={activity.inputs ?? {}} />}
        </Section>
      )}
      {activity?.thinking && (
        <Section
          name={`${key}/thinking`}
          title="Thinking"
          note={oneLine(activity.thinking)}
          isOpen={isRunning && response === ""}
        >
          {() => (
            <div className={styles.thinking}>
              <Prose text={activity.thinking} isGrowing={isRunning && response === ""} />
            </div>
          )}
        </Section>
      )}
      {activity?.response && (
        <Section name={`${key}/response`} title="Response" isOpen>
          {() => <Prose text={response} isGrowing={isRunning} isMarkdown />}
        </Section>
      )}
      <CardRest card={card} isRunning={isRunning} />
    </>
  );
}

function CardRest({ card, isRunning }: { card: Card; isRunning: boolean }) {
  const { key, activity, step } = card;
  const { tools = [], notes = [] } = activity ?? {};
  const outputs = outputsOf(card);
  const usage = usageOf(card);
  const isWait = step?.role === "__wait__";
  return (
    <>
      {tools.length > 0 && (
        <Section
          name={`${key}/tools`}
          title={`Tool calls (${tools.length})`}
          note={tools.map(({ name }) => name).join(", ")}
          isOpen={isRunning}
        >
          {() => <Tools tools={tools} isRunning={isRunning} />}
        </Section>
      )}
      {notes.length > 0 && (
        <Section name={`${key}/notes`} title={`Notes (${notes.length})`} isOpen={isRunning}>
          {() => <Notes notes={notes} />}
        </Section>
      )}
      {(step || activity?.outputs) && Object.keys(outputs).length > 0 && (
        <Section
          name={`${key}/outputs`}
          title={isWait ? "What is asked for" : "Outputs"}
          note={namesIn(outputs)}
        >
          {() => <Values values={outputs} />}
        </Section>
      )}
      {step && isCommit(step.meta) && (
        <Section name={`${key}/meta`} title="Record" note="what was committed, in full">
          {() => <Values values={step.meta} />}
        </Section>
      )}
      {usage && (
        <Section
          name={`${key}/usage`}
          title="Token usage"
          note={`${tokens(totalOf(usage))}${usage.models.length > 0 ? ` · ${usage.models.join(", ")}` : ""}${
            usage.latencyMs === null ? "" : ` · ${duration(usage.latencyMs)}`
          }`}
        >
          {() => <UsageTable usage={usage} />}
        </Section>
      )}
    </>
  );
}

// What a program says is shown as it is: its lines would run together.
const isModelText = (card: Card): boolean =>
  card.step !== null && !isCommit(card.step.meta) && usageOf(card) !== null;

const mostNamed = 6;

function namesIn(values: Readonly<Record<string, unknown>>): string {
  const names = Object.keys(values);
  const rest = names.length - mostNamed;
  const told = names.slice(0, mostNamed).join(", ");
  return rest > 0 ? `${told} and ${counted(rest, "other")}` : told;
}

const oneLine = (text: string): string => text.slice(0, 140).replace(/\s+/g, " ");

const icons: Record<Note["kind"], { icon: LucideIcon; word: string }> = {
  variable: { icon: Variable, word: "variable" },
  file: { icon: FileText, word: "file" },
  print: { icon: Printer, word: "printed" },
  error: { icon: CircleAlert, word: "error" },
  message: { icon: MessageSquare, word: "message" },
};

/** What else a step told: variables that changed, files, printed values, messages. */
function Notes({ notes }: { notes: readonly Note[] }) {
  return (
    <ul className={styles.notes}>
      {notes.map(({ kind, text }, index) => {
        const { icon: Icon, word } = icons[kind];
        return (
          <li key={index}>
            <Icon aria-label={word} />
            <code>{text}</code>
          </li>
        );
      })}
    </ul>
  );
}

/** The tools that a step called, each with what it was given and what it gave. */
function Tools({ tools, isRunning }: { tools: readonly ToolCall[]; isRunning: boolean }) {
  return (
    <ul className={styles.tools}>
      {tools.map((tool, index) => (
        <li key={index} className={tool.isError ? styles.toolFailed : undefined}>
          <div className={styles.head}>
            <ToolState tool={tool} isRunning={isRunning} />
            <code>{tool.name}</code>
          </div>
          <div className={styles.value}>
            <Value value={tool.input} />
          </div>
          {tool.notes.length > 0 && (
            <ul className={styles.toolNotes}>
              {tool.notes.map((note, line) => (
                <li key={line}>{note}</li>
              ))}
            </ul>
          )}
          {tool.isDone && (
            <div className={styles.output}>
              {typeof tool.output === "string" ? (
                <Prose text={tool.output} />
              ) : (
                <Value value={tool.output} />
              )}
            </div>
          )}
        </li>
      ))}
    </ul>
  );
}

function ToolState({ tool, isRunning }: { tool: ToolCall; isRunning: boolean }) {
  if (tool.isError) return <CircleX aria-label="failed" className={styles.bad} />;
  if (tool.isDone) return <CircleCheck aria-label="done" className={styles.good} />;
  return isRunning ? <LoaderCircle aria-label="at work" className={styles.busy} /> : null;
}

/** What a step used of models, kind by kind. */
function UsageTable({ usage }: { usage: Usage }) {
  const { models, latencyMs, tokens: used, cost: dollars } = usage;
  return (
    <dl className={styles.usage}>
      {Object.entries(used)
        .filter(([, value]) => value > 0)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{wordsOf(name)}</dt>
            <dd>{count(value)}</dd>
          </div>
        ))}
      {models.length > 0 && (
        <div>
          <dt>Model</dt>
          <dd>{models.join(", ")}</dd>
        </div>
      )}
      {latencyMs !== null && (
        <div>
          <dt>Latency</dt>
          <dd>{duration(latencyMs)}</dd>
        </div>
      )}
      {dollars !== null && (
        <div>
          <dt>Cost</dt>
          <dd>{cost(dollars)}</dd>
        </div>
      )}
    </dl>
  );
}

/** `cache_read_tokens` as `Cache read`. */
function wordsOf(name: string): string {
  const words = name.replace(/_tokens$/, "").replaceAll("_", " ");
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}
