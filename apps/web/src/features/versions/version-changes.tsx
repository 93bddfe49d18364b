import { useQuery } from "@tanstack/react-query";
import { ArrowRight, Minus, PenLine, Plus } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { bundleQuery } from "../../lib/workflows.ts";
import { Button } from "../../ui/button.tsx";
import { FailureNotice, Skeleton } from "../../ui/states.tsx";
import { type Change, changesOf } from "./changes.ts";
import styles from "./versions.module.css";

const LineDiff = lazy(async () => ({ default: (await import("../../ui/diff.tsx")).LineDiff }));
const SourceChanges = lazy(async () => ({
  default: (await import("./source-changes.tsx")).SourceChanges,
}));

type Props = { hash: string; before: string | null };

/** What a version changed: its descriptor at once, its source when it is asked for. */
export function VersionChanges({ hash, before }: Props) {
  const [isWhole, setWhole] = useState(false);
  if (before === null) return <p className="muted">The first version.</p>;
  return (
    <>
      <DescriptorChanges hash={hash} before={before} />
      <Button
        look="quiet"
        small
        className={styles.more}
        aria-expanded={isWhole}
        onClick={() => setWhole(!isWhole)}
      >
        {isWhole ? "Hide what changed in the source" : "Show what changed in the source"}
      </Button>
      {isWhole && (
        <Suspense fallback={<Skeleton lines={4} />}>
          <SourceChanges before={before} after={hash} />
        </Suspense>
      )}
    </>
  );
}

function DescriptorChanges({ hash, before }: { hash: string; before: string }) {
  const now = useQuery(bundleQuery(hash));
  const then = useQuery(bundleQuery(before));
  const error = now.error ?? then.error;
  if (error) return <FailureNotice error={error} />;
  if (!now.data || !then.data) return <Skeleton lines={2} />;
  if (!now.data.descriptor || !then.data.descriptor) {
    return <p className="muted">One of the two has no descriptor that can be read.</p>;
  }
  const changes = changesOf(then.data.descriptor, now.data.descriptor);
  if (changes.length === 0) {
    return <p className="muted">Its descriptor is as before; its source is not.</p>;
  }
  return (
    <ul className={styles.changes}>
      {changes.map((change) => (
        <ChangeRow key={change.what} change={change} />
      ))}
    </ul>
  );
}

const icons = {
  added: <Plus aria-hidden className="green" />,
  removed: <Minus aria-hidden className="red" />,
  changed: <PenLine aria-hidden className="amber" />,
} as const;

const isShort = (text: string): boolean => text.length <= 100 && !text.includes("\n");

function ChangeRow({ change: { kind, what, before, after } }: { change: Change }) {
  const [isOpen, setOpen] = useState(false);
  const words = (
    <>
      {icons[kind]} {what} {kind}
    </>
  );
  if (before === undefined || after === undefined)
    return <li className={styles.change}>{words}</li>;
  if (isShort(before) && isShort(after)) {
    return (
      <li className={styles.change}>
        <span>
          {words}: <del>{before}</del> <ArrowRight aria-label="to" className="faint" />{" "}
          <ins>{after}</ins>
        </span>
      </li>
    );
  }
  return (
    <li>
      <button
        type="button"
        className={`${styles.change} ${styles.opens}`}
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {words}
      </button>
      {isOpen && (
        <Suspense fallback={<Skeleton lines={2} />}>
          <LineDiff before={before} after={after} label={`What changed: ${what}`} />
        </Suspense>
      )}
    </li>
  );
}
