import type { Step } from "@uncaged/workflow-server/api-types";
import { useDeferredValue, useMemo } from "react";
import { Pieces } from "../diff/pieces.tsx";
import { piecesOf } from "../diff/words.ts";
import { roleName } from "../format/role.ts";
import { laidOut } from "../schema/json.ts";
import styles from "./compare.module.css";
import type { Pair } from "./pairs.ts";

/** The steps of two threads with one number, which differ. */
export function StepPair({ pair: { number, a, b } }: { pair: Pair }) {
  // Fifty pairs of long texts take seconds to compare: they are shown at once, and marked after that.
  const isCompared = useDeferredValue(true, false);
  const both = a !== null && b !== null && isCompared;
  const content = useMemo(
    () => both && piecesOf(a.content, b.content),
    [both, a?.content, b?.content],
  );
  const meta = useMemo(() => both && piecesOf(metaOf(a), metaOf(b)), [both, a, b]);
  return (
    <section className={styles.pair} aria-label={`Step ${number}`}>
      <Side step={a} number={number} side="left" isOther={both && a.role !== b.role}>
        <Pieces pieces={content ? content.a : unmarked(a?.content)} side="left" />
        <Meta step={a}>
          <Pieces pieces={meta ? meta.a : unmarked(metaOf(a))} side="left" code />
        </Meta>
      </Side>
      <Side step={b} number={number} side="right" isOther={both && a.role !== b.role}>
        <Pieces pieces={content ? content.b : unmarked(b?.content)} side="right" />
        <Meta step={b}>
          <Pieces pieces={meta ? meta.b : unmarked(metaOf(b))} side="right" code />
        </Meta>
      </Side>
    </section>
  );
}

type SideProps = {
  step: Step | null;
  number: number;
  side: "left" | "right";
  /** Its role is not that of the other. */
  isOther: boolean;
  children: React.ReactNode;
};

function Side({ step, number, side, isOther, children }: SideProps) {
  if (!step) return <div className={`${styles.side} ${styles.none}`}>No step {number}</div>;
  return (
    <div className={`${styles.side} ${styles[side]}`}>
      <h2>
        <span className={styles.number}>{number}</span>{" "}
        {isOther ? (
          <Pieces pieces={[{ text: roleName(step.role), isChanged: true }]} side={side} />
        ) : (
          roleName(step.role)
        )}
      </h2>
      {children}
    </div>
  );
}

function Meta({ step, children }: { step: Step | null; children: React.ReactNode }) {
  if (!step || Object.keys(step.meta).length === 0) return null;
  return (
    <div className={styles.meta}>
      <h3>Meta</h3>
      {children}
    </div>
  );
}

const unmarked = (text = "") => [{ text, isChanged: false }];

const metaOf = (step: Step | null): string =>
  step && Object.keys(step.meta).length > 0 ? (laidOut(step.meta) ?? "") : "";
