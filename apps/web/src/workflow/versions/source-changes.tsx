import { useQueries, useQuery } from "@tanstack/react-query";
import { bundleQuery, sourceQuery } from "../../lib/workflows.ts";
import { LineDiff } from "../../ui/diff.tsx";
import { FailureNotice, Skeleton } from "../../ui/states.tsx";

type Props = { before: string; after: string };

/** The changes between the sources of two versions, file by file; without sources, between their bundles. */
export function SourceChanges({ before, after }: Props) {
  const old = useQuery(bundleQuery(before)).data?.sources ?? [];
  const now = useQuery(bundleQuery(after)).data?.sources ?? [];
  if (old.length === 0 || now.length === 0) {
    return <FileChanges name="the bundle" before={{ hash: before }} after={{ hash: after }} />;
  }
  return [...new Set([...old, ...now])].map((file) => (
    <FileChanges
      key={file}
      name={file}
      before={old.includes(file) ? { hash: before, file } : null}
      after={now.includes(file) ? { hash: after, file } : null}
    />
  ));
}

type Source = { hash: string; file?: string };

type FileProps = {
  name: string;
  before: Source | null;
  after: Source | null;
};

function FileChanges({ name, before, after }: FileProps) {
  const texts = useQueries({
    queries: [before, after].map((source) => ({
      ...sourceQuery(source?.hash ?? "", source?.file),
      enabled: source !== null,
    })),
  });
  const error = texts.find((one) => one.error)?.error;
  const isPending = texts.some((one) => one.isLoading);
  const [old = "", now = ""] = texts.map((one) => one.data);
  if (!isPending && !error && old === now) return null;
  return (
    <section className="flex flex-col gap-1">
      <h3 className="mono">{name}</h3>
      {error && <FailureNotice error={error} />}
      {isPending && <Skeleton lines={3} />}
      {!error && !isPending && <LineDiff before={old} after={now} label={`Changes in ${name}`} />}
    </section>
  );
}
