import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ThreadRow, Thread } from "@uncaged/workflow-server/api-types";
import { CircleCheck, CircleX } from "lucide-react";
import { useState } from "react";
import { counted } from "../../lib/format.ts";
import { killThread, removeThread, retryThread, threadKeys } from "../../lib/threads.ts";
import { Dialog, DialogForm } from "../../ui/dialog.tsx";
import { sentence } from "../../ui/states.tsx";
import { ApiError, pathOf, request } from "../../lib/request.ts";

const acts: Record<Act, { word: string; done: string; text: string; isDanger: boolean }> = {
  retry: {
    word: "Retry",
    done: "retried",
    text: "Each thread starts again as a new thread after its last committed step.",
    isDanger: false,
  },
  kill: {
    word: "Kill",
    done: "killed",
    text: "The threads end now, and their current steps are lost. Committed steps are kept.",
    isDanger: true,
  },
  delete: {
    word: "Delete",
    done: "deleted",
    text: "The threads and their logs are deleted. This can't be undone.",
    isDanger: true,
  },
  export: {
    word: "Export",
    done: "exported",
    text: "The file has a line of JSON for each thread, with its steps.",
    isDanger: false,
  },
};

type Props = {
  act: Act;
  rows: readonly ThreadRow[];
  isOpen: boolean;
  onClose: () => void;
  onDone: (text: string) => void;
};

/** Applies an action to several threads. After failures, shows each result and repeats only the failed threads. */
export function BulkDialog({ act, rows, isOpen, onClose, onDone }: Props) {
  return (
    <Dialog
      title={`${acts[act].word} ${counted(rows.length, "thread")}?`}
      isOpen={isOpen}
      onClose={onClose}
    >
      <Work {...{ act, onClose, onDone }} given={rows} />
    </Dialog>
  );
}

type WorkProps = Pick<Props, "act" | "onClose" | "onDone"> & { given: readonly ThreadRow[] };

function Work({ act, given, onClose, onDone }: WorkProps) {
  const client = useQueryClient();
  // Rows leave the list while the dialog deletes them.
  const [rows] = useState(given);
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome>>(new Map());
  const { word, done, text, isDanger } = acts[act];
  const perform = async () => {
    const all = new Map(outcomes);
    const isDone = ({ threadId }: ThreadRow) => {
      const outcome = all.get(threadId);
      return outcome !== undefined && "text" in outcome;
    };
    await forEachOf(
      rows.filter((row) => !isDone(row)),
      async (row) => {
        all.set(row.threadId, await actOn(act, row));
        setOutcomes(new Map(all));
      },
    );
    void client.invalidateQueries({ queryKey: threadKeys.all });
    if (!rows.every(isDone)) return;
    if (act === "export") {
      const lines = rows.map(({ threadId }) => all.get(threadId) as { text: string });
      download("threads.jsonl", lines.map((line) => `${line.text}\n`).join(""));
    }
    onDone(`${counted(rows.length, "thread")} ${done}.`);
    onClose();
  };
  const work = useMutation({ mutationFn: perform });
  const failed = [...outcomes.values()].filter((outcome) => "error" in outcome).length;
  const isEnded = !work.isPending && failed > 0;
  return (
    <DialogForm
      action={isEnded ? `${word} the failed ${counted(failed, "thread")} again` : word}
      look={isDanger ? "danger" : "solid"}
      work={work}
      onSubmit={() => work.mutate()}
      onClose={onClose}
    >
      <p>{text}</p>
      {outcomes.size > 0 && (
        <p role="status" className="font-semibold">
          {outcomes.size - failed} of {counted(rows.length, "thread")} {done}
          {failed > 0 && `, ${failed} failed`}
        </p>
      )}
      <ul className="flex flex-col gap-1">
        {rows.map(({ threadId, subject }) => (
          <Line key={threadId} subject={subject} outcome={outcomes.get(threadId)} />
        ))}
      </ul>
    </DialogForm>
  );
}

function Line({ subject, outcome }: { subject: string; outcome: Outcome | undefined }) {
  const error = outcome && "error" in outcome ? outcome.error : null;
  return (
    <li className="flex gap-2">
      {outcome &&
        (error ? (
          <CircleX className="mt-0.5 text-red" />
        ) : (
          <CircleCheck className="mt-0.5 text-green" />
        ))}
      <span className="min-w-0 wrap-anywhere">
        {subject}
        {error && <span className="block text-red">{sentence(error.message)}</span>}
      </span>
    </li>
  );
}

export type Act = "retry" | "kill" | "delete" | "export";

/** The outcome for a thread: the exported text, null for other actions, or the error. */
type Outcome = { text: string | null } | { error: Error };

const requests: Record<Act, (id: string) => Promise<unknown>> = {
  retry: retryThread,
  kill: killThread,
  delete: removeThread,
  export: (id) => request<Thread>(pathOf("threads", id)),
};

async function actOn(act: Act, { threadId }: ThreadRow): Promise<Outcome> {
  try {
    const answer = await requests[act](threadId);
    return { text: act === "export" ? JSON.stringify(answer) : null };
  } catch (error) {
    // An earlier attempt deleted the thread, and the response was lost.
    const isGone = act === "delete" && error instanceof ApiError && error.status === 404;
    if (isGone) return { text: null };
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }
}

const atOnce = 4;

export async function forEachOf<Item>(
  items: readonly Item[],
  act: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const item of rest) await act(item);
    }),
  );
}

function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/jsonl" }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
