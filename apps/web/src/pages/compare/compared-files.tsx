import type { ThreadDiff } from "@uncaged/workflow-server/api-types";
import { useState } from "react";
import { counted } from "../../lib/format.ts";
import { Button } from "../../ui/button.tsx";
import { PatchLines } from "../../ui/diff.tsx";

type Tree = ThreadDiff["files"][number];
type File = Tree["files"][number];

const openAtFirst = 10;
const atOnce = 50;

/** The files of two threads with git worktrees, after the last step of each. */
export function ComparedFiles({ trees }: { trees: readonly Tree[] }) {
  return trees.map((tree) => <ComparedTree key={`${tree.name} ${tree.repository}`} tree={tree} />);
}

function ComparedTree({ tree }: { tree: Tree }) {
  const { name, repository, files, problem } = tree;
  const [shown, setShown] = useState(atOnce);
  const differ = files.length === 1 ? "1 file differs" : `${counted(files.length, "file")} differ`;
  return (
    <section
      className="min-w-0 rounded-md border bg-surface px-4 py-3"
      aria-label={`Files of ${name}`}
    >
      <h2>Files of {name}</h2>
      <p className="mb-1 text-muted wrap-anywhere">
        {problem ?? (files.length === 0 ? "They are the same" : differ)} · {repository}
      </p>
      <div className="flex flex-col gap-2">
        {files.slice(0, shown).map((file) => (
          <ComparedFile key={file.path} file={file} isOpen={files.length <= openAtFirst} />
        ))}
      </div>
      {files.length > shown && (
        <Button onClick={() => setShown(shown + atOnce)}>Show more files</Button>
      )}
    </section>
  );
}

function ComparedFile({ file, isOpen }: { file: File; isOpen: boolean }) {
  const { path, from, change, patch } = file;
  const hasLines = patch?.includes("\n@@ ") ?? false;
  return (
    <details open={isOpen}>
      <summary className="wrap-anywhere">
        <span className="mono">{from === null ? path : `${from} → ${path}`}</span>{" "}
        <span className="text-muted">{change}</span>
      </summary>
      {patch !== null && hasLines ? (
        <PatchLines patch={patch} label={`Changes of ${path}`} />
      ) : (
        <p className="text-muted">
          {patch === null ? "It is binary or too large to be shown." : "None of its lines differ."}
        </p>
      )}
    </details>
  );
}
