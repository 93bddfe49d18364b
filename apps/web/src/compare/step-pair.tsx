import type { Step } from "@uncaged/workflow-server/api-types";
import { useMemo } from "react";
import { Pieces } from "../diff/pieces.tsx";
import { piecesOf } from "../diff/words.ts";
import { roleName } from "../format/role.ts";
import styles from "./compare.module.css";
import type { Pair } from "./pairs.ts";

/** The steps of two threads with one number, which differ. */
export function StepPair({ pair: { number, a, b } }: { pair: Pair }) {
  const content = useMemo(() => piecesOf(a?.content ?? "", b?.content ?? ""), [a, b]);
  const meta = useMemo(() => piecesOf(metaOf(a), metaOf(b)), [a, b]);
  const both = a !== null && b !== null;
  return (
    <section className={styles.pair} aria-label={`Step ${number}`}>
      <Side step={a} number={number} side="left" isOther={both && a.role !== b.role}>
        <Pieces pieces={both ? content.a : unmarked(a?.content)} side="left" />
        <Meta step={a}>
          <Pieces pieces={both ? meta.a : unmarked(metaOf(a))} side="left" code />
        </Meta>
      </Side>
      <Side step={b} number={number} side="right" isOther={both && a.role !== b.role}>
        <Pieces pieces={both ? content.b : unmarked(b?.content)} side="right" />
        <Meta step={b}>
          <Pieces pieces={both ? meta.b : unmarked(metaOf(b))} side="right" code />
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
  step && Object.keys(step.meta).length > 0 ? JSON.stringify(step.meta, null, 2) : "";
