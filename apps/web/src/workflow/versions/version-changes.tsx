import { useQuery } from "@tanstack/react-query";
import { ArrowRight, Minus, PenLine, Plus } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { bundleQuery } from "../../lib/workflows.ts";
import { Button } from "../../ui/button.tsx";
import { FailureNotice, Skeleton } from "../../ui/states.tsx";
import { type Change, changesOf } from "./changes.ts";

const LineDiff = lazy(async () => ({ default: (await import("../../ui/diff.tsx")).LineDiff }));
const SourceChanges = lazy(async () => ({
  default: (await import("./source-changes.tsx")).SourceChanges,
}));

type Props = { hash: string; before: string | null };

/** The changes of a version's descriptor, and of its source on demand. */
export function VersionChanges({ hash, before }: Props) {
  const [isWhole, setWhole] = useState(false);
  if (before === null) return <p className="text-muted">The first version.</p>;
  return (
    <>
      <DescriptorChanges hash={hash} before={before} />
      <Button
        look="quiet"
        small
        className="-ml-2 self-start"
        aria-expanded={isWhole}
        onClick={() => setWhole(!isWhole)}
      >
        {isWhole ? "Hide source changes" : "Show source changes"}
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
    return <p className="text-muted">One of the two descriptors can't be read.</p>;
  }
  const changes = changesOf(then.data.descriptor, now.data.descriptor);
  if (changes.length === 0) {
    return <p className="text-muted">Same descriptor, different source.</p>;
  }
  return (
    <ul className="grid gap-1">
      {changes.map((change) => (
        <ChangeRow key={`${change.what} ${change.after}`} change={change} />
      ))}
    </ul>
  );
}

const icons = {
  added: <Plus className="text-green" />,
  removed: <Minus className="text-red" />,
  changed: <PenLine className="text-amber" />,
  renamed: <PenLine className="text-amber" />,
} as const;

const isShort = (text: string): boolean => text.length <= 100 && !text.includes("\n");

const line = "flex items-center gap-2 text-left wrap-anywhere";

function ChangeRow({ change: { kind, what, before, after } }: { change: Change }) {
  const words = (
    <>
      {icons[kind]} {what} {kind}
    </>
  );
  if (before === undefined || after === undefined) return <li className={line}>{words}</li>;
  if (isShort(before) && isShort(after)) {
    return (
      <li className={line}>
        <span className="[&>svg]:inline [&>svg]:align-[-2px]">
          {words}: <del className="text-muted">{before}</del>{" "}
          <ArrowRight aria-label="to" className="text-faint" />{" "}
          <ins className="no-underline">{after}</ins>
        </span>
      </li>
    );
  }
  return (
    <li>
      <details>
        <summary className="wrap-anywhere [&>svg]:inline [&>svg]:align-[-2px]">{words}</summary>
        <Suspense fallback={<Skeleton lines={2} />}>
          <LineDiff before={before} after={after} label={`Changes of ${what}`} />
        </Suspense>
      </details>
    </li>
  );
}
