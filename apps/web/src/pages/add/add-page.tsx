import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import type { AddedWorkflow } from "@uncaged/workflow-server/api-types";
import { CircleCheck, CircleX, FilePlus2, Play } from "lucide-react";
import { type SubmitEvent, useEffect, useRef, useState } from "react";
import { ApiError } from "../../lib/request.ts";
import { addWorkflow, workflowKeys, workflowsQuery } from "../../lib/workflows.ts";
import { Button, ButtonLink, Command } from "../../ui/button.tsx";
import { TextField } from "../../ui/field.tsx";
import { Page, Panel, useTitle } from "../../ui/page.tsx";
import { FailureNotice, sentence, Warnings } from "../../ui/states.tsx";
import { type ChosenFiles, DropZone, FileList, LeftOut, useFiles } from "./drop-zone.tsx";
import {
  candidatesOf,
  type FileKind,
  refusalOf,
  suggestedName,
  type Upload,
  uploadOf,
} from "./files.ts";
import { counted } from "../../lib/format.ts";
import { Position } from "../../thread/detail/thrown.tsx";

export function AddPage() {
  useTitle("Add");
  const { name } = useSearch({ from: "/add" });
  const chosen = useFiles();
  const { files, others } = chosen;
  const isEmpty = files.size === 0 && others.length === 0;
  return (
    <Page
      title={name ? `Add a version of ${name}` : "Add a workflow"}
      note="Files are checked, sources are built, and the result becomes the name's current version."
    >
      <div className="flex max-w-224 flex-col gap-4">
        <DropZone files={files} onFiles={chosen.add} />
        {isEmpty && (
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-muted">
            In a terminal: <Command>{`uncaged-workflow add ${name ?? "greet"} greet.ts`}</Command>
          </div>
        )}
        {files.size > 0 && <FileList chosen={chosen} />}
        <LeftOut others={others} />
        {!isEmpty && <NextToDo chosen={chosen} name={name} />}
      </div>
    </Page>
  );
}

function NextToDo({ chosen, name: given }: { chosen: ChosenFiles; name: string | undefined }) {
  const { files, others, workflow, change, done } = chosen;
  const [typed, setTyped] = useState<string | null>(null);
  const refusal =
    candidatesOf(files.keys()).length === 0 ? noneOf(files, others) : refusalOf(files);
  if (refusal !== null) {
    return (
      <p className="wrap-anywhere text-red" role="alert">
        {refusal}
      </p>
    );
  }
  if (workflow === null) return null;
  return (
    <AddForm
      key={change}
      upload={uploadOf(files, workflow)}
      name={typed ?? given ?? suggestedName(workflow)}
      onName={setTyped}
      onAdded={done}
    />
  );
}

function noneOf(files: ChosenFiles["files"], others: readonly string[]): string {
  const [only = "", second] = [...files.keys(), ...others];
  const what = second === undefined ? `${only} can't` : "None of these files can";
  return `${what} be added. Add a bundle (.esm.js), TypeScript (.ts) or a step workflow (.json, .yaml).`;
}

const kinds: Record<FileKind, string> = {
  bundle: "A bundle is added unchanged, without other files.",
  source:
    "TypeScript is built into a bundle here, with the imported files above. " +
    "The only available package is @uncaged/workflow.",
  steps:
    "A step workflow is checked and built into a bundle here, with the workflows above that it runs.",
};

type AddFormProps = {
  upload: Upload;
  name: string;
  onName: (name: string) => void;
  onAdded: () => void;
};

/** A form for the name that sends the files and shows the result. */
function AddForm({ upload, name, onName, onAdded }: AddFormProps) {
  const { data: workflows = [] } = useQuery(workflowsQuery);
  const client = useQueryClient();
  const sent = useMutation({
    mutationFn: () => send(name, upload),
    onSuccess: () => {
      onAdded();
      return client.invalidateQueries({ queryKey: workflowKeys.all });
    },
  });
  const before = workflows.find((one) => one.name === name);
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
              : upload.kind && kinds[upload.kind]
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
      {sent.error && <FileProblems error={sent.error} upload={upload} />}
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
 * Adds files under a name.
 * @throws ApiError if a file can't be read or the server refuses.
 */
async function send(name: string, { workflow, files }: Upload): Promise<AddedWorkflow> {
  const [[path, file] = ["", new Blob()], ...others] = files;
  if (others.length === 0)
    return await addWorkflow(name, workflow, new Blob([await read(path, file)]));
  const texts: Record<string, string> = {};
  for (const [each, one] of files) texts[each] = textOf(each, await read(each, one));
  return await addWorkflow(name, workflow, { files: texts });
}

// Browsers refuse to read a file that has changed since it was chosen.
async function read(path: string, file: Blob): Promise<ArrayBuffer> {
  try {
    return await file.arrayBuffer();
  } catch {
    throw unreadable(`${path} can't be read`, "it may have changed: choose it again");
  }
}

function textOf(path: string, bytes: ArrayBuffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw unreadable(`${path} is not UTF-8 text`, "remove it, or save it as UTF-8");
  }
}

const unreadable = (message: string, hint: string): ApiError =>
  new ApiError(0, { code: "FILE_UNREADABLE", message, hint });

type Props = { error: Error; upload: Upload };

function FileProblems({ error, upload: { workflow, files } }: Props) {
  const problems = problemsOf(error, files.keys());
  if (problems.every(({ line }) => line === null)) return <FailureNotice error={error} />;
  const hint = error instanceof ApiError ? error.hint : null;
  return (
    <Panel role="alert" aria-label="Problems">
      <h2 className="flex items-center gap-2 wrap-anywhere">
        <CircleX className="text-red" />
        {workflow} was not added: {counted(problems.length, "error")}
      </h2>
      {hint && <p className="text-muted">{sentence(hint)}.</p>}
      <ul className="flex flex-col gap-3">
        {problems.map((problem) => (
          <li key={JSON.stringify(problem)} className="flex min-w-0 flex-col gap-1">
            <p className="text-red wrap-anywhere">{problem.message}</p>
            {problem.file !== null && problem.line !== null && (
              <Source {...problem} file={problem.file} line={problem.line} of={files} />
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Number of lines to show before and after a line. */
const around = 2;

type SourceProps = { file: string; line: number; column: number | null; of: Upload["files"] };

/** The line of a problem, with the lines around it. */
function Source({ file, line, column, of }: SourceProps) {
  const { size, lastModified } = of.get(file) ?? {};
  const { data: text } = useQuery({
    queryKey: ["file", file, size, lastModified],
    queryFn: () => of.get(file)?.text() ?? "",
    staleTime: Number.POSITIVE_INFINITY,
  });
  const from = Math.max(1, line - around);
  const lines = text?.split("\n").slice(from - 1, line + around) ?? [];
  const frame = lines.length > line - from ? { frame: { from, lines } } : {};
  return <Position at={{ file, line, column: column ?? 1, ...frame }} />;
}

/** A problem of a file. Lines and columns count from 1; null means unknown. */
type Problem = {
  file: string | null;
  line: number | null;
  column: number | null;
  message: string;
};

/** The problems of an error in the order of lines; problems without a position come first. */
export function problemsOf(error: Error, files: Iterable<string>): Problem[] {
  const details = error instanceof ApiError && error.details.length > 0 ? error.details : null;
  const known = [...files];
  const all = (details ?? [error.message]).map((text) => problemOf(text, known));
  return all.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
}

function problemOf(text: string, files: readonly string[]): Problem {
  const file = files.find((one) => text.startsWith(`${one}:`));
  if (file === undefined) return { file: null, line: null, column: null, message: text };
  const rest = text.slice(file.length + 1);
  const position = /^(\d+)(?::(\d+))?:?\s*/.exec(rest);
  if (!position) return { file, line: null, column: null, message: rest.trim() };
  return {
    file,
    line: Number(position[1]),
    column: position[2] === undefined ? null : Number(position[2]),
    message: rest.slice(position[0].length),
  };
}
