import { FileCheck2, FileUp, FolderOpen, X } from "lucide-react";
import { type ChangeEvent, type DragEvent, useId, useRef, useState } from "react";
import { counted, size } from "../../lib/format.ts";
import { Button } from "../../ui/button.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { SelectField } from "../../ui/field.tsx";
import { Pill } from "../../ui/states.tsx";
import {
  baseOf,
  bytesOf,
  candidatesOf,
  type Files,
  isRead,
  isTaken,
  most,
  workflowAmong,
} from "./files.ts";

type Props = { files: Files; onFiles: (dropped: Dropped) => void };

export function DropZone({ files, onFiles }: Props) {
  const id = useId();
  const folder = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  const over = (event: DragEvent) => {
    event.preventDefault();
    setOver(true);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void droppedFiles(event.dataTransfer).then(onFiles);
  };
  const change = ({ target }: ChangeEvent<HTMLInputElement>) => {
    if (target.files?.length) onFiles(chosenFiles(target.files));
    // Without a reset, the user could not choose the same file again after a correction.
    target.value = "";
  };
  return (
    <div
      className={`relative flex min-h-44 flex-col items-center justify-center gap-1 rounded-lg border-[1.5px] border-dashed px-4 py-6 text-center outline-offset-2 outline-accent focus-within:outline-2 hover:border-accent hover:bg-accent-soft [&>svg]:mb-1 [&>svg]:size-[26px] [&>svg]:text-accent ${isOver ? "border-accent bg-accent-soft" : "border-line-control bg-surface"}`}
      onDragOver={over}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      {files.size > 0 ? <FileCheck2 /> : <FileUp />}
      <label htmlFor={id} className="text-title font-semibold wrap-anywhere">
        {titleOf(files)}
      </label>
      <input
        id={id}
        type="file"
        multiple
        className="absolute inset-0 cursor-pointer opacity-0"
        onChange={change}
      />
      <p className="text-muted">
        {files.size > 0 ? (
          `${size(bytesOf(files))}. Drop or choose more: a file with the same name replaces the earlier one.`
        ) : (
          <>
            A bundle (<code>.esm.js</code>), TypeScript (<code>.ts</code>) or a step workflow (
            <code>.json</code>, <code>.yaml</code>), with the files that it imports or runs
          </>
        )}
      </p>
      <Button
        small
        icon={<FolderOpen />}
        className="z-1 mt-2"
        onClick={() => folder.current?.click()}
      >
        Choose a folder
      </Button>
      <input
        ref={folder}
        type="file"
        // React's types lack this attribute.
        {...{ webkitdirectory: "" }}
        hidden
        aria-label="Folder"
        onChange={change}
      />
    </div>
  );
}

function titleOf(files: Files): string {
  const [only, second] = files.keys();
  if (only === undefined) return "Drop a file here, or choose one";
  return second === undefined ? baseOf(only) : counted(files.size, "file");
}

/** Dropped or chosen files that can be sent, and the paths of all other files. */
type Dropped = { files: Files; others: string[] };

/** Maximum number of files to read from a folder. Users drop larger folders by mistake. */
const mostSeen = 20_000;

/** The chosen files, including the files of chosen folders. */
export function chosenFiles(list: Iterable<File>): Dropped {
  const seen: [string, File][] = [];
  for (const file of list) {
    const path = file.webkitRelativePath || file.name;
    if (isRead(path)) seen.push([path, file]);
  }
  return sorted(seen);
}

/** The dropped files, including the files of dropped folders. */
async function droppedFiles(transfer: DataTransfer): Promise<Dropped> {
  const seen: [string, File][] = [];
  // The browser clears the entries after the event.
  const entries = Array.from(transfer.items, (item) => item.webkitGetAsEntry());
  for (const entry of entries) if (entry) await walk(entry, seen);
  return sorted(seen);
}

// Skips unreadable files. If another file imports one, the build reports the missing file.
async function walk(entry: FileSystemEntry, seen: [string, File][]): Promise<void> {
  const path = entry.fullPath.replace(/^\//, "");
  if (!isRead(path) || seen.length > mostSeen) return;
  if (entry.isFile) {
    const file = await fileOf(entry as FileSystemFileEntry).catch(() => null);
    if (file) seen.push([path, file]);
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  // The reader returns the entries in parts; an empty part is the last.
  for (let more = true; more; ) {
    const some = await partOf(reader).catch(() => []);
    for (const one of some) await walk(one, seen);
    more = some.length > 0 && seen.length <= mostSeen;
  }
}

const partOf = (reader: FileSystemDirectoryReader): Promise<FileSystemEntry[]> =>
  new Promise((resolve, reject) => reader.readEntries(resolve, reject));

const fileOf = (entry: FileSystemFileEntry): Promise<File> =>
  new Promise((resolve, reject) => entry.file(resolve, reject));

const inOrder = (files: readonly [string, File][]) =>
  files.toSorted(([a], [b]) => (a < b ? -1 : 1));

function sorted(seen: readonly [string, File][]): Dropped {
  const taken = inOrder(seen).filter(([path]) => isTaken(path));
  return {
    // One file above the limit is enough to detect the excess.
    files: new Map(taken.slice(0, most.files + 1)),
    others: inOrder(seen).flatMap(([path]) => (isTaken(path) ? [] : [path])),
  };
}

type Chosen = Dropped & {
  /** The workflow's own file; null if unclear. */
  workflow: string | null;
  /** Number of changes to the files or to the chosen workflow. */
  change: number;
  /** Whether the files were added. Further files then start a new choice. */
  isDone: boolean;
};

const none: Chosen = { files: new Map(), others: [], workflow: null, change: 0, isDone: false };

export type ChosenFiles = Chosen & {
  add: (dropped: Dropped) => void;
  remove: (path: string) => void;
  name: (path: string) => void;
  done: () => void;
};

export function useFiles(): ChosenFiles {
  const [chosen, setChosen] = useState(none);
  return {
    ...chosen,
    add: ({ files, others }) =>
      setChosen((before) => {
        const start = before.isDone ? none : before;
        return changed({ ...start, others }, [...start.files, ...files]);
      }),
    remove: (path) =>
      setChosen((before) =>
        changed(
          before,
          [...before.files].filter(([one]) => one !== path),
        ),
      ),
    name: (path) =>
      setChosen((before) => ({ ...before, workflow: path, change: before.change + 1 })),
    done: () => setChosen((before) => ({ ...before, isDone: true })),
  };
}

// The workflow's file stays chosen when the user adds other files.
function changed(before: Chosen, entries: readonly [string, File][]): Chosen {
  const files = new Map(inOrder(entries));
  const chosen = before.workflow !== null && files.has(before.workflow) ? before.workflow : null;
  const workflow = chosen ?? workflowAmong([...files.keys()]);
  return { ...before, files, workflow, change: before.change + 1, isDone: false };
}

export function FileList({ chosen: { files, workflow, name, remove } }: { chosen: ChosenFiles }) {
  const candidates = candidatesOf(files.keys());
  return (
    <section className="flex flex-col gap-3 [&>div]:max-w-104" aria-label="Files">
      {candidates.length > 1 && (
        <SelectField
          label="The workflow's own file"
          value={workflow ?? ""}
          hint={workflow === null ? "The others are imported or run by it." : undefined}
          onChange={({ target }) => name(target.value)}
        >
          {workflow === null && <option value="">Choose it…</option>}
          {candidates.map((path) => (
            <option key={path}>{path}</option>
          ))}
        </SelectField>
      )}
      <ul className="panel max-h-72 divide-y overflow-y-auto">
        {[...files].map(([path, file]) => (
          <li key={path} className="flex items-center gap-2 py-0.5 pr-1 pl-3">
            <span className="mono min-w-0 wrap-anywhere">{path}</span>
            {path === workflow && <Pill look="current">workflow</Pill>}
            <span className="ml-auto text-small whitespace-nowrap text-faint">
              {size(file.size)}
            </span>
            <IconButton
              icon={<X />}
              label={`Remove ${path}`}
              onClick={({ currentTarget }) => {
                focusBeside(currentTarget);
                remove(path);
              }}
            />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Focuses the next or previous line before a button and its line are removed. */
function focusBeside(button: HTMLElement): void {
  const line = button.closest("li");
  const beside = line?.nextElementSibling ?? line?.previousElementSibling;
  beside?.querySelector("button")?.focus();
}

export function LeftOut({ others }: { others: readonly string[] }) {
  const [first, ...rest] = others;
  if (first === undefined) return null;
  const more = rest.length > 0 ? ` and ${counted(rest.length, "other")}` : "";
  return (
    <p className="wrap-anywhere text-muted">
      Left out: {first}
      {more}. Only files that a workflow can import are sent: code, JSON, YAML, TOML and text.
    </p>
  );
}
