import { useQueries, useQuery } from "@tanstack/react-query";
import { bundleQuery, sourceQuery } from "../../lib/workflows.ts";
import { LineDiff } from "../../ui/diff.tsx";
import { FailureNotice, Skeleton } from "../../ui/states.tsx";

type Props = { before: string; after: string };

/** What changed between the sources of two versions, file by file; between the bundles without sources. */
export function SourceChanges({ before, after }: Props) {
  const old = useQuery(bundleQuery(before)).data?.sources ?? [];
  const now = useQuery(bundleQuery(after)).data?.sources ?? [];
  const files = old.length > 0 && now.length > 0 ? [...new Set([...old, ...now])] : [undefined];
  return files.map((file) => (
    <FileChanges
      key={file ?? ""}
      file={file}
      before={file === undefined || old.includes(file) ? before : null}
      after={file === undefined || now.includes(file) ? after : null}
    />
  ));
}

type FileProps = { file: string | undefined; before: string | null; after: string | null };

function FileChanges({ file, before, after }: FileProps) {
  const texts = useQueries({
    queries: [before, after].map((hash) => ({
      ...sourceQuery(hash ?? "", file),
      enabled: hash !== null,
    })),
  });
  const error = texts.find((one) => one.error)?.error;
  const isPending = texts.some((one) => one.isLoading);
  const [old = "", now = ""] = texts.map((one) => one.data);
  const name = file ?? "the bundle";
  if (!isPending && !error && old === now) return null;
  return (
    <section className="flex flex-col gap-3.5">
      <h3 className="mono">{name}</h3>
      {error && <FailureNotice error={error} />}
      {isPending && <Skeleton lines={3} />}
      {!error && !isPending && <LineDiff before={old} after={now} label={`Changes in ${name}`} />}
    </section>
  );
}
