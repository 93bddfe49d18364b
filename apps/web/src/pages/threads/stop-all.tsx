import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { OctagonX, Pause } from "lucide-react";
import { useState } from "react";
import { counted } from "../../lib/format.ts";
import {
  interruptedQuery,
  killAll,
  pauseAll,
  resumeInterrupted,
  threadKeys,
} from "../../lib/threads.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { FailureNotice } from "../../ui/states.tsx";

function useAll() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (perform: () => Promise<unknown>) => perform(),
    onSettled: () => client.invalidateQueries({ queryKey: threadKeys.all }),
  });
}

export function StopAll() {
  const [isAsking, ask] = useState(false);
  const work = useAll();
  return (
    <>
      <Button icon={<Pause />} isBusy={work.isPending} onClick={() => work.mutate(pauseAll)}>
        Pause all
      </Button>
      <Button look="danger" icon={<OctagonX />} onClick={() => ask(true)}>
        Kill all
      </Button>
      {work.error && <FailureNotice error={work.error} />}
      <Confirm
        title="Kill all threads?"
        action="Kill all"
        isOpen={isAsking}
        onClose={() => ask(false)}
        perform={() => work.mutateAsync(killAll)}
      >
        <p>
          All running, sleeping, waiting and paused threads end now, and their current steps are
          lost. Committed steps are kept.
        </p>
      </Confirm>
    </>
  );
}

/** Offers to resume interrupted threads. Renders nothing without interrupted threads. */
export function InterruptedLine() {
  const { data } = useQuery({ ...interruptedQuery, retry: false });
  const work = useAll();
  if (!data || data.resumed.length === 0) return null;
  return (
    <div className="flex flex-wrap items-center gap-2 text-small text-muted">
      <span>
        {counted(data.resumed.length, "thread")} interrupted within the last day. A server resumes
        them automatically with <code>serve --resume</code>.
      </span>
      <Button isBusy={work.isPending} onClick={() => work.mutate(resumeInterrupted)}>
        Resume
      </Button>
      {work.error && <FailureNotice error={work.error} />}
    </div>
  );
}
