import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { counted } from "../../lib/format.ts";
import { checkWorkflow } from "../../lib/workflows.ts";
import { Button } from "../../ui/button.tsx";
import { FailureNotice } from "../../ui/states.tsx";

/** Replays a workflow's threads on a version on request; shows the counts, and the threads that diverge. */
export function VersionCheck({ name, hash }: { name: string; hash: string }) {
  const { data, error, isPending, mutate } = useMutation({
    mutationFn: () => checkWorkflow(name, hash),
  });
  return (
    <div className="flex flex-col gap-1 text-small" aria-live="polite">
      {data ? (
        <p>
          {counted(data.checked, "thread")}: {data.continues} continue, {data.waits} wait,{" "}
          {data.ended} ended, {data.diverges} diverge.
        </p>
      ) : (
        <Button small className="self-start" isBusy={isPending} onClick={() => mutate()}>
          Check its threads on this version
        </Button>
      )}
      {error && <FailureNotice error={error} />}
      {data?.threads.map(
        ({ at, status, threadId }) =>
          status === "diverges" && (
            <p key={threadId} className="wrap-anywhere text-red">
              <Link to="/threads/$id" params={{ id: threadId }} className="code">
                {threadId}
              </Link>{" "}
              step {at?.step}: recorded {at?.recorded ?? "nothing"}, here{" "}
              {at?.expected ?? "no such role"}
            </p>
          ),
      )}
    </div>
  );
}
