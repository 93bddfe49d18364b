import { Link } from "@tanstack/react-router";
import type { Eval } from "@uncaged/workflow-server/api-types";
import { cost, count, counted, duration, share } from "../../lib/format.ts";
import { Facts } from "../../ui/facts.tsx";
import { Pill } from "../../ui/states.tsx";
import {
  CircleAlert,
  CircleCheck,
  CircleDollarSign,
  CircleMinus,
  CircleStop,
  CircleX,
  type LucideIcon,
  MessageCircleQuestion,
} from "lucide-react";

type Version = Eval["versions"][number];

type Props = {
  version: Version;
  /** The version to compare with, which may be this version; null for none. */
  baseline: Version | null;
  changes: Eval["changes"][number] | null;
};

/** A version of an eval: success, score, cost and time, with differences from the baseline. */
export function VersionCard({ version, baseline, changes }: Props) {
  const { cost: spent, hash, outcomes, p50Ms, p95Ms, passRate, passed, runs, score } = version;
  const dollars = (value: number) =>
    `${value === 0 ? "$0" : cost(value)}${version.unpriced > 0 ? " + ?" : ""}`;
  const isBaseline = baseline?.hash === hash;
  const other = isBaseline ? null : baseline;
  const left = (Object.keys(outcomeWords) as (keyof typeof outcomeWords)[]).filter(
    (outcome) => outcome !== "scored" && outcomes[outcome] > 0,
  );
  return (
    <article
      className={`panel flex h-full flex-col gap-2 px-4 pt-3 pb-4 shadow-sm ${isBaseline ? "border-accent" : ""}`}
      aria-label={`${version.workflow} ${hash}`}
    >
      <header className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <h2 className="wrap-anywhere">{version.workflow}</h2>
        <Link to="/" search={{ workflow: hash }} title="Its threads">
          <code>{hash}</code>
        </Link>
        {isBaseline && <Pill look="current">baseline</Pill>}
        {version.started > 0 && <Pill>{count(version.started)} not finished</Pill>}
      </header>
      <div>
        <p className="flex flex-wrap items-baseline gap-x-2">
          <span className="text-head leading-[1.3] font-semibold">{share(passRate)}</span>
          <span className="text-muted">
            {count(passed)} of {counted(runs, "run")} passed
          </span>
          <Difference of={passRate} to={other?.passRate} text={(by) => share(by)} />
        </p>
        <div className="mt-1 h-1 overflow-hidden rounded-full bg-gray-soft" aria-hidden>
          <div className="h-full bg-solid" style={{ width: `${(passRate ?? 0) * 100}%` }} />
        </div>
      </div>
      <Facts
        look="row"
        facts={[
          [
            "Score",
            <Figure key="score" of={score} to={other?.score} text={(by) => by.toFixed(3)} />,
          ],
          ["Cost", <Figure key="cost" of={spent} to={other?.cost} text={dollars} isLessBetter />],
          [
            "p50 of time",
            <Figure key="p50" of={p50Ms} to={other?.p50Ms} text={duration} isLessBetter />,
          ],
          [
            "p95 of time",
            <Figure key="p95" of={p95Ms} to={other?.p95Ms} text={duration} isLessBetter />,
          ],
        ]}
      />
      {changes && (
        <p className="text-muted">
          <span className={changes.worse > 0 ? "text-red" : ""}>
            {counted(changes.worse, "case")} worse
          </span>
          , {counted(changes.better, "case")} better
        </p>
      )}
      {left.length > 0 && (
        <p className="text-amber">
          {left
            .map((outcome) => `${count(outcomes[outcome])} ${outcomeWords[outcome].word}`)
            .join(", ")}
        </p>
      )}
    </article>
  );
}

/** A figure, and its difference from the baseline. */
const Figure = (props: DifferenceProps) => (
  <span className="flex flex-wrap items-baseline gap-x-2">
    {props.of === null ? "–" : props.text(props.of)}
    <Difference {...props} />
  </span>
);

type DifferenceProps = {
  of: number | null;
  to: number | null | undefined;
  text: (by: number) => string;
  isLessBetter?: boolean;
};

/** The difference of a figure from the baseline; empty if equal. */
function Difference({ of, to, text, isLessBetter = false }: DifferenceProps) {
  if (of === null || to === null || to === undefined || of === to) return null;
  const isBetter = of > to !== isLessBetter;
  return (
    <span className={`text-small ${isBetter ? "text-green" : "text-red"}`}>
      {of > to ? "+" : "−"}
      {text(Math.abs(of - to))}
      <span className="sr-only">{isBetter ? ", better" : ", worse"} than the baseline</span>
    </span>
  );
}

type Run = Eval["cases"][number]["runs"][number];

const outcomeWords: Record<Run["outcome"], { word: string; icon: LucideIcon }> = {
  scored: { word: "scored", icon: CircleCheck },
  failed: { word: "failed", icon: CircleX },
  waits: { word: "waiting for an answer", icon: MessageCircleQuestion },
  budget: { word: "over budget", icon: CircleDollarSign },
  rounds: { word: "out of rounds", icon: CircleStop },
  unscored: { word: "not scored", icon: CircleAlert },
};

/** The result of a run: its score and whether it passed, or the reason why it has no score. */
export function shownRun({ outcome, pass, score }: Run): {
  text: string;
  word: string;
  icon: LucideIcon;
  ink: string;
} {
  if (outcome !== "scored") {
    const { icon, word } = outcomeWords[outcome];
    return { text: word, word, icon, ink: outcome === "failed" ? "text-red" : "text-amber" };
  }
  const text = score?.toFixed(2) ?? "–";
  return pass
    ? { text, word: "passed", icon: CircleCheck, ink: "text-green" }
    : { text, word: "did not pass", icon: CircleMinus, ink: "text-red" };
}
