import { useState } from "react";
import type { Dropped } from "./dropped.ts";
import { type Files, workflowAmong } from "./files.ts";

type Chosen = Dropped & {
  /** The file that is the workflow; null when that can't be told. */
  workflow: string | null;
  /** Counts what was done to the files. */
  change: number;
  /** They were added: what is chosen next begins anew. */
  isDone: boolean;
};

const none: Chosen = { files: new Map(), others: [], workflow: null, change: 0, isDone: false };

/** The files that a reader has chosen so far, and what can be done with them. */
export type ChosenFiles = Chosen & {
  add: (dropped: Dropped) => void;
  remove: (path: string) => void;
  /** Says which of them is the workflow. */
  name: (path: string) => void;
  done: () => void;
};

/** Keeps the files that a reader chooses. */
export function useFiles(): ChosenFiles {
  const [chosen, setChosen] = useState(none);
  return {
    ...chosen,
    add: (dropped) => setChosen((before) => added(before.isDone ? none : before, dropped)),
    remove: (path) =>
      setChosen((before) => {
        const rest = [...before.files].filter(([one]) => one !== path);
        return changed(before, new Map(rest));
      }),
    name: (path) =>
      setChosen((before) => ({ ...before, workflow: path, change: before.change + 1 })),
    done: () => setChosen((before) => ({ ...before, isDone: true })),
  };
}

function added(before: Chosen, { files, others }: Dropped): Chosen {
  const all = [...before.files, ...files].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return { ...changed(before, new Map(all)), others };
}

// A file that was told to be the workflow, or came alone, stays it when others come.
function changed(before: Chosen, files: Files): Chosen {
  const told = before.workflow !== null && files.has(before.workflow) ? before.workflow : null;
  const workflow = told ?? workflowAmong([...files.keys()]);
  return { ...before, files, workflow, change: before.change + 1, isDone: false };
}
