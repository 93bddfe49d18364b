import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { counted } from "../../lib/format.ts";
import { interruptedQuery, resumeInterrupted, threadKeys } from "../../lib/threads.ts";
import { Button } from "../../ui/button.tsx";
import { FailureNotice } from "../../ui/states.tsx";

/** Offers to resume interrupted threads. Renders nothing without interrupted threads. */
export function InterruptedLine() {
  const { data } = useQuery({ ...interruptedQuery, retry: false });
  const client = useQueryClient();
  const work = useMutation({
    mutationFn: resumeInterrupted,
    onSettled: () => client.invalidateQueries({ queryKey: threadKeys.all }),
  });
  if (!data || data.resumed.length === 0) return null;
  return (
    <div className="flex flex-wrap items-center gap-2 text-small text-muted">
      <span>
        {counted(data.resumed.length, "thread")} interrupted within the last day. A server resumes
        them automatically with <code>serve --resume</code>.
      </span>
      <Button isBusy={work.isPending} onClick={() => work.mutate()}>
        Resume
      </Button>
      {work.error && <FailureNotice error={work.error} />}
    </div>
  );
}
