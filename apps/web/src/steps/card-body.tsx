import { counted, tokens } from "../format/amount.ts";
import { duration } from "../format/time.ts";
import type { Card } from "../log/card.ts";
import { Prose } from "../value/prose.tsx";
import { Nothing, Values } from "../value/value.tsx";
import type { CardState } from "./card-state.tsx";
import { Notes } from "./notes.tsx";
import { contentBeside, isCommit, outputsOf, responseOf, totalOf, usageOf } from "./parts.ts";
import { Section } from "./section.tsx";
import styles from "./step-card.module.css";
import { Tools } from "./tools.tsx";
import { UsageTable } from "./usage-table.tsx";

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
