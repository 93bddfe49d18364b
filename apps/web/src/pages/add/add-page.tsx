import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import type { AddedWorkflow } from "@uncaged/workflow-server/api-types";
import { CircleCheck, CircleX, FileCheck2, FilePlus2, FileUp, Play } from "lucide-react";
import { type ChangeEvent, type SubmitEvent, useEffect, useId, useRef, useState } from "react";
import { ApiError } from "../../lib/request.ts";
import { addWorkflow, workflowKeys, workflowsQuery } from "../../lib/workflows.ts";
import { Button, ButtonLink, Command } from "../../ui/button.tsx";
import { TextField } from "../../ui/field.tsx";
import { Page, Panel, useTitle } from "../../ui/page.tsx";
import { FailureNotice, sentence, Warnings } from "../../ui/states.tsx";
import { type FileKind, kindOf, nameFor, sentNameOf } from "./file.ts";
import { counted } from "../../lib/format.ts";
import { Position } from "../../thread/detail/thrown.tsx";

export function AddPage() {
  useTitle("Add");
  const { name } = useSearch({ from: "/add" });
  const [chosen, setChosen] = useState<{ file: File; count: number } | null>(null);
  const [typed, setTyped] = useState<string | null>(null);
  return (
    <Page
      title={name ? `Add a version of ${name}` : "Add a workflow"}
      note="The file is checked, a source is built, and the result becomes the name's current version."
    >
      <div className="flex max-w-224 flex-col gap-4">
        <FileChooser
          chosen={chosen?.file}
          onChoose={(file) => setChosen({ file, count: (chosen?.count ?? 0) + 1 })}
        />
        {chosen && kindOf(chosen.file.name) && (
          <AddForm
            key={chosen.count}
            file={chosen.file}
            name={typed ?? name ?? nameFor(chosen.file.name)}
            onName={setTyped}
          />
        )}
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-muted">
          In a terminal, with the files that it imports:
          <Command>{`uncaged-workflow add ${name ?? "greet"} greet.ts`}</Command>
        </div>
      </div>
    </Page>
  );
}

type FileChooserProps = { chosen: File | undefined; onChoose: (file: File) => void };

/** A file input that fills an area, so that the browser also accepts files dropped there. */
function FileChooser({ chosen, onChoose }: FileChooserProps) {
  const id = useId();
  const change = ({ target }: ChangeEvent<HTMLInputElement>) => {
    const file = target.files?.[0];
    if (file) onChoose(file);
    // Without a reset, the user could not choose the same file again after a correction.
    target.value = "";
  };
  const isRefused = chosen !== undefined && kindOf(chosen.name) === null;
  return (
    <div className="relative flex min-h-44 flex-col items-center justify-center gap-1 rounded-lg border-[1.5px] border-dashed border-line-control bg-surface px-4 py-6 text-center outline-offset-2 outline-accent focus-within:outline-2 hover:border-accent hover:bg-accent-soft [&>svg]:mb-1 [&>svg]:size-[26px] [&>svg]:text-accent">
      {chosen ? <FileCheck2 /> : <FileUp />}
      <label htmlFor={id} className="text-title font-semibold wrap-anywhere">
        {chosen?.name ?? "Drop a file here, or choose one"}
      </label>
      <input
        id={id}
        type="file"
        className="absolute inset-0 cursor-pointer opacity-0"
        onChange={change}
      />
      <p className={isRefused ? "text-red" : "text-muted"} role={isRefused ? "alert" : undefined}>
        {isRefused && "This file can't be added. "}A bundle (<code>.esm.js</code>), TypeScript (
        <code>.ts</code>) or a step workflow (<code>.json</code>, <code>.yaml</code>)
      </p>
    </div>
  );
}

const kinds: Record<FileKind, string> = {
  bundle: "A bundle is added unchanged.",
  source:
    "TypeScript is built into a bundle here. The only available package is @uncaged/workflow.",
  steps: "A step workflow is checked and built into a bundle here.",
};

type AddFormProps = { file: File; name: string; onName: (name: string | null) => void };

/** A form for the name that sends the file and shows the result. */
function AddForm({ file, name, onName }: AddFormProps) {
  const { data: workflows = [] } = useQuery(workflowsQuery);
  const client = useQueryClient();
  const sent = useMutation({
    mutationFn: () => send(name, file),
    onSuccess: () => {
      onName(null);
      return client.invalidateQueries({ queryKey: workflowKeys.all });
    },
  });
  const before = workflows.find((one) => one.name === name);
  const kind = kindOf(file.name);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    sent.mutate();
  };
  if (sent.data) return <Added added={sent.data} />;
  return (
    <>
      <form
        className="grid grid-cols-[minmax(0,26rem)_auto] items-start justify-start gap-3 max-sm:grid-cols-1"
        onSubmit={submit}
      >
        <TextField
          label="Name"
          value={name}
          required
          maxLength={64}
          hint={
            before
              ? `${name} has ${before.versions} so far; this is the next version.`
              : kind && kinds[kind]
          }
          onChange={({ target }) => onName(target.value)}
        />
        <Button
          className="mt-6 max-sm:mt-0"
          look="solid"
          type="submit"
          icon={<FilePlus2 />}
          isBusy={sent.isPending}
          disabled={name === ""}
        >
          {sent.isPending ? "Adding…" : "Add"}
        </Button>
      </form>
      {sent.error && <FileProblems error={sent.error} file={file} />}
    </>
  );
}

function Added({ added: { name, hash, unchanged, warnings } }: { added: AddedWorkflow }) {
  const heading = useRef<HTMLHeadingElement>(null);
  // The result replaces the form, which had the focus.
  useEffect(() => heading.current?.focus(), []);
  return (
    <Panel aria-label="Added">
      <h2
        ref={heading}
        tabIndex={-1}
        role="status"
        className="flex items-center gap-2 wrap-anywhere outline-none"
      >
        <CircleCheck className="text-green" />
        {unchanged ? `${name} was at this version already` : `${name} was added`}
      </h2>
      <p>
        Its current version is <code>{hash}</code>.
      </p>
      <Warnings of={warnings} />
      <div className="flex flex-wrap gap-2">
        <ButtonLink to="/" search={{ start: name }} look="solid" icon={<Play />}>
          Start a thread
        </ButtonLink>
        <ButtonLink to="/workflows/$name" params={{ name }}>
          Open {name}
        </ButtonLink>
      </div>
    </Panel>
  );
}

/**
 * Adds a file under a name.
 * @throws ApiError if the file can't be read or the server refuses.
 */
async function send(name: string, file: File): Promise<AddedWorkflow> {
  // Browsers refuse to read a file that has changed since it was chosen.
  const bytes = await file.arrayBuffer().catch(() => null);
  if (bytes !== null) return await addWorkflow(name, sentNameOf(file.name), new Blob([bytes]));
  const message = `${file.name} can't be read`;
  const hint = "it may have changed: choose it again";
  throw new ApiError(0, { code: "FILE_UNREADABLE", message, hint });
}

type Props = { error: Error; file: File };

function FileProblems({ error, file }: Props) {
  const name = sentNameOf(file.name);
  const problems = problemsOf(error, name);
  if (problems.every(({ line }) => line === null)) return <FailureNotice error={error} />;
  const hint = error instanceof ApiError ? error.hint : null;
  return (
    <Panel role="alert" aria-label="Problems">
      <h2 className="flex items-center gap-2 wrap-anywhere">
        <CircleX className="text-red" />
        {name} was not added: {counted(problems.length, "error")}
      </h2>
      {hint && <p className="text-muted">{sentence(hint)}.</p>}
      <ul className="flex flex-col gap-3">
        {problems.map((problem) => (
          <li key={JSON.stringify(problem)} className="flex min-w-0 flex-col gap-1">
            <p className="text-red wrap-anywhere">{problem.message}</p>
            {problem.line !== null && (
              <Source name={name} line={problem.line} column={problem.column} of={file} />
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Number of lines to show before and after a line. */
const around = 2;

type SourceProps = { name: string; line: number; column: number | null; of: File };

/** The line of a problem, with the lines around it. */
function Source({ name, line, column, of }: SourceProps) {
  const { data: text } = useQuery({
    queryKey: ["file", name, of.size, of.lastModified],
    queryFn: () => of.text(),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const from = Math.max(1, line - around);
  const lines = text?.split("\n").slice(from - 1, line + around) ?? [];
  const frame = lines.length > line - from ? { frame: { from, lines } } : {};
  return <Position at={{ file: name, line, column: column ?? 1, ...frame }} />;
}

/** A problem of a file. Lines and columns count from 1; null means unknown. */
type Problem = { line: number | null; column: number | null; message: string };

/** The problems of an error in the order of lines; problems without a position come first. */
export function problemsOf(error: Error, file: string): Problem[] {
  const details = error instanceof ApiError && error.details.length > 0 ? error.details : null;
  const all = (details ?? [error.message]).map((text) => problemOf(text, file));
  return all.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
}

function problemOf(message: string, file: string): Problem {
  if (!message.startsWith(`${file}:`)) return { line: null, column: null, message };
  const rest = message.slice(file.length + 1);
  const [position, line, column] = /^(\d+)(?::(\d+))?:?\s*/.exec(rest) ?? [];
  return {
    line: line === undefined ? null : Number(line),
    column: column === undefined ? null : Number(column),
    message: rest.slice(position?.length ?? 0).trim(),
  };
}
