import { useQueries, useQuery } from "@tanstack/react-query";
import { bundleQuery, sourceQuery } from "../../lib/workflows.ts";
import { LineDiff } from "../../ui/diff.tsx";
import { FailureNotice, Skeleton } from "../../ui/states.tsx";
import { renamesOf } from "./changes.ts";

type Props = { before: string; after: string };

/** The changes between the sources of two versions, file by file; without sources, between their bundles. */
export function SourceChanges({ before, after }: Props) {
  const old = useQuery(bundleQuery(before)).data?.sources ?? [];
  const now = useQuery(bundleQuery(after)).data?.sources ?? [];
  const isOfFiles = old.length > 0 && now.length > 0;
  const gone = isOfFiles ? old.filter((file) => !now.includes(file)) : [];
  const come = isOfFiles ? now.filter((file) => !old.includes(file)) : [];
  const texts = useQueries({
    queries: [
      ...gone.map((file) => sourceQuery(before, file)),
      ...come.map((file) => sourceQuery(after, file)),
    ],
  });
  // The search for renames compares contents, so the texts must be loaded.
  if (gone.length > 0 && come.length > 0 && texts.some((one) => one.isLoading)) {
    return <Skeleton lines={3} />;
  }
  const textsOf = (files: readonly string[], from: number) =>
    new Map(files.map((file, index) => [file, texts[from + index]?.data ?? ""]));
  const renames = renamesOf(textsOf(gone, 0), textsOf(come, gone.length));
  const renamed = new Set(renames.values());
  if (!isOfFiles) {
    return <FileChanges name="the bundle" before={{ hash: before }} after={{ hash: after }} />;
  }
  const files = [...new Set([...old, ...now])].filter((file) => !renamed.has(file));
  return files.map((file) => {
    const from = renames.get(file) ?? file;
    return (
      <FileChanges
        key={file}
        name={from === file ? file : `${from} → ${file}`}
        isRenamed={from !== file}
        before={old.includes(from) ? { hash: before, file: from } : null}
        after={now.includes(file) ? { hash: after, file } : null}
      />
    );
  });
}

type Source = { hash: string; file?: string };

type FileProps = {
  name: string;
  isRenamed?: boolean;
  before: Source | null;
  after: Source | null;
};

function FileChanges({ name, isRenamed = false, before, after }: FileProps) {
  const texts = useQueries({
    queries: [before, after].map((source) => ({
      ...sourceQuery(source?.hash ?? "", source?.file),
      enabled: source !== null,
    })),
  });
  const error = texts.find((one) => one.error)?.error;
  const isPending = texts.some((one) => one.isLoading);
  const [old = "", now = ""] = texts.map((one) => one.data);
  if (!isPending && !error && old === now && !isRenamed) return null;
  return (
    <section className="flex flex-col gap-1">
      <h3 className="mono">{name}</h3>
      {error && <FailureNotice error={error} />}
      {isPending && <Skeleton lines={3} />}
      {!error && !isPending && <LineDiff before={old} after={now} label={`Changes in ${name}`} />}
    </section>
  );
}
