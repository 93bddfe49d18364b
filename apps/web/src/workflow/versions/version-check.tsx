import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { count, counted } from "../../lib/format.ts";
import { checkWorkflow } from "../../lib/workflows.ts";
import { Button } from "../../ui/button.tsx";
import { FailureNotice } from "../../ui/states.tsx";

const mostShown = 10;

/** Replays a workflow's threads on a version on request; shows the counts, and the newest threads that diverge. */
export function VersionCheck({ name, hash }: { name: string; hash: string }) {
  const { data, error, isPending, mutate } = useMutation({
    mutationFn: () => checkWorkflow(name, hash),
  });
  const diverging = data?.threads.filter(({ status }) => status === "diverges") ?? [];
  const offer = data ? "Check again" : "Check its threads on this version";
  return (
    <div className="flex flex-col gap-1 text-small" aria-live="polite">
      <Button small className="self-start" isBusy={isPending} onClick={() => mutate()}>
        {isPending ? "Checking…" : offer}
      </Button>
      {data && (
        <p>
          {data.checked === 0
            ? "No threads to check."
            : `${counted(data.checked, "thread")}: ${data.continues} continue, ${data.waits} wait, ${data.ended} ended, ${data.diverges} diverge.`}
        </p>
      )}
      {error && <FailureNotice error={error} />}
      {diverging.slice(0, mostShown).map(({ at, threadId }) => (
        <p key={threadId} className="wrap-anywhere text-red">
          <Link to="/threads/$id" params={{ id: threadId }} className="code">
            {threadId}
          </Link>{" "}
          step {at?.step}: recorded {at?.recorded ?? "nothing"}, here{" "}
          {at?.expected ?? "no such role"}
        </p>
      ))}
      {diverging.length > mostShown && <p>And {count(diverging.length - mostShown)} more.</p>}
    </div>
  );
}
