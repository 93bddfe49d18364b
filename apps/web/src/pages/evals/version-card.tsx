import { Link } from "@tanstack/react-router";
import type { Eval } from "@uncaged/workflow-server/api-types";
import type { ReactNode } from "react";
import { cost, count, counted, duration, share } from "../../lib/format.ts";
import { Pill } from "../../ui/states.tsx";
import { outcomeWords } from "./outcome.tsx";

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
      <dl className="grid grid-cols-2 gap-x-3 gap-y-2">
        <Figure label="Score">
          {score?.toFixed(3) ?? "–"}
          <Difference of={score} to={other?.score} text={(by) => by.toFixed(3)} />
        </Figure>
        <Figure label="Cost">
          {spent === 0 ? "$0" : cost(spent)}
          {version.unpriced > 0 && " + ?"}
          <Difference of={spent} to={other?.cost} text={cost} isLessBetter />
        </Figure>
        <Figure label="p50 of time">
          {p50Ms === null ? "–" : duration(p50Ms)}
          <Difference of={p50Ms} to={other?.p50Ms} text={duration} isLessBetter />
        </Figure>
        <Figure label="p95 of time">
          {p95Ms === null ? "–" : duration(p95Ms)}
          <Difference of={p95Ms} to={other?.p95Ms} text={duration} isLessBetter />
        </Figure>
      </dl>
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

const Figure = ({ label, children }: { label: string; children: ReactNode }) => (
  <div>
    <dt className="text-small text-faint">{label}</dt>
    <dd className="flex flex-wrap items-baseline gap-x-2">{children}</dd>
  </div>
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
