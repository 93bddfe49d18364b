import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { Thread, ThreadRow } from "@uncaged/workflow-server/api-types";
import {
  CircleCheck,
  CircleX,
  Download,
  GitCompare,
  type LucideIcon,
  OctagonX,
  RotateCcw,
  Trash2,
  X,
} from "lucide-react";
import { useState } from "react";
import { counted } from "../../lib/format.ts";
import { ApiError, pathOf, request } from "../../lib/request.ts";
import { killThread, removeThread, retryThread, threadKeys } from "../../lib/threads.ts";
import { Button, ButtonLink } from "../../ui/button.tsx";
import { Dialog, DialogForm } from "../../ui/dialog.tsx";
import { sentence } from "../../ui/states.tsx";
import type { Selection } from "./selection.ts";

type Act = {
  word: string;
  /** The word for a thread after the action. */
  done: string;
  icon: LucideIcon;
  text: string;
  look: "solid" | "danger";
  request: (id: string) => Promise<unknown>;
};

const exporting: Act = {
  ...{ word: "Export", done: "exported", icon: Download, look: "solid" },
  text: "The file has a line of JSON for each thread, with its steps.",
  request: (id) => request<Thread>(pathOf("threads", id)),
};

const deleting: Act = {
  ...{ word: "Delete", done: "deleted", icon: Trash2, look: "danger" },
  text: "The threads and their logs are deleted. This can't be undone.",
  request: async (id) => {
    try {
      await removeThread(id);
    } catch (error) {
      // An earlier attempt deleted the thread, and the response was lost.
      if (!(error instanceof ApiError && error.status === 404)) throw error;
    }
  },
};

const acts: readonly Act[] = [
  {
    ...{ word: "Retry", done: "retried", icon: RotateCcw, look: "solid" },
    text: "Each thread starts again as a new thread after its last committed step.",
    request: (id) => retryThread(id),
  },
  {
    ...{ word: "Kill", done: "killed", icon: OctagonX, look: "danger" },
    text: "The threads end now, and their current steps are lost. Committed steps are kept.",
    request: (id) => killThread(id),
  },
  deleting,
  exporting,
];

type Props = { isOpen: boolean; selection: Selection; onDone: (text: string) => void };

/** The actions on the selected threads, at the lower edge of the window. */
export function SelectionBar({ isOpen: isShown, selection, onDone }: Props) {
  const [act, setAct] = useState(exporting);
  const [isOpen, setOpen] = useState(false);
  const { rows } = selection;
  const [first, second] = rows;
  const close = () => setOpen(false);
  return (
    <>
      {isShown && (
        <div
          role="toolbar"
          aria-label="Selected threads"
          className="panel sticky bottom-4 z-20 mx-auto flex max-w-full flex-wrap items-center justify-center gap-1 p-2 shadow-lg"
        >
          <span className="px-2 font-semibold whitespace-nowrap">
            {counted(rows.length, "thread")}
          </span>
          {acts.map((one) => (
            <Button
              key={one.word}
              look="quiet"
              icon={<one.icon />}
              onClick={() => {
                setAct(one);
                setOpen(true);
              }}
            >
              {one.word}
            </Button>
          ))}
          {first && second && rows.length === 2 && (
            <ButtonLink
              look="quiet"
              icon={<GitCompare />}
              to="/threads/$id/compare/$other"
              // The older thread comes first.
              params={{ id: second.threadId, other: first.threadId }}
            >
              Compare
            </ButtonLink>
          )}
          <Button
            look="quiet"
            icon={<X />}
            aria-label="Select none"
            title="Select none (Esc)"
            onClick={selection.clear}
          />
        </div>
      )}
      <Dialog
        title={`${act.word} ${counted(rows.length, "thread")}?`}
        isOpen={isOpen}
        onClose={close}
        focusAfter={() => (isShown ? null : document.querySelector<HTMLElement>("[role=row] a"))}
      >
        <Work
          act={act}
          given={rows}
          onClose={close}
          onDone={(text) => {
            selection.clear();
            onDone(text);
            close();
          }}
        />
      </Dialog>
    </>
  );
}

type WorkProps = {
  act: Act;
  given: readonly ThreadRow[];
  onClose: () => void;
  onDone: (text: string) => void;
};

/** The outcome for a thread. */
type Outcome = { answer?: unknown; error: Error | null };

/** Applies an action to several threads. After failures, shows each result and repeats only the failed threads. */
function Work({ act, given, onClose, onDone }: WorkProps) {
  const client = useQueryClient();
  // Rows leave the list while the dialog deletes them.
  const [rows] = useState(given);
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome>>(new Map());
  const { word, done, text, look } = act;
  const work = useMutation({
    mutationFn: async () => {
      const all = new Map(outcomes);
      const left = () => rows.filter(({ threadId }) => all.get(threadId)?.error !== null);
      await forEachOf(left(), async ({ threadId }) => {
        const outcome = act.request(threadId).then(
          (answer) => ({ answer, error: null }),
          (error: unknown) => ({
            error: error instanceof Error ? error : new Error(String(error)),
          }),
        );
        all.set(threadId, await outcome);
        setOutcomes(new Map(all));
      });
      void client.invalidateQueries({ queryKey: threadKeys.all });
      if (left().length > 0) return;
      const answers = rows.map(({ threadId }) => all.get(threadId)?.answer);
      if (act === exporting) download("threads.jsonl", answers);
      onDone(`${counted(rows.length, "thread")} ${done}.`);
    },
  });
  const failed = [...outcomes.values()].filter(({ error }) => error !== null).length;
  const isEnded = !work.isPending && failed > 0;
  return (
    <DialogForm
      action={isEnded ? `${word} the failed ${counted(failed, "thread")} again` : word}
      look={look}
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
  const error = outcome?.error;
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

/** Downloads a file with a line of JSON for each value. */
function download(name: string, values: readonly unknown[]): void {
  const lines = values.map((value) => `${JSON.stringify(value)}\n`);
  const url = URL.createObjectURL(new Blob(lines, { type: "application/jsonl" }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
