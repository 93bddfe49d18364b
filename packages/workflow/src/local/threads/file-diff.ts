import { join } from "node:path";
import { type ComparedTree, comparedTrees } from "../../host/rules.ts";
import { system } from "../../system/system.ts";
import type { ThreadView } from "../../record/thread.ts";
import { git } from "../upkeep/git.ts";

/**
 * A changed file: `patch` turns `a` into `b`. `patch` is null for a binary or too long file, or if there are too many
 * files. A `renamed` file was at `from`.
 */
export type FileChange = {
  path: string;
  from: string | null;
  change: "added" | "removed" | "changed" | "renamed";
  patch: string | null;
};

/** The files of one worktree in two threads. `problem` is the reason why they can't be compared. */
export type WorktreeDiff = ComparedTree & { files: FileChange[]; problem: string | null };

const mostPatches = 1000;
const longestPatch = 256 * 1024;
const changes: Record<string, FileChange["change"]> = { A: "added", D: "removed", R: "renamed" };

/**
 * Compares the files of two threads that work in git worktrees, after the last step of each. A worktree that only one
 * thread has is compared with its base commit.
 */
export async function fileDiff(
  a: Pick<ThreadView, "steps">,
  b: Pick<ThreadView, "steps">,
): Promise<WorktreeDiff[]> {
  return await Promise.all(comparedTrees(a, b).map(diffOf));
}

async function diffOf(tree: ComparedTree): Promise<WorktreeDiff> {
  if (tree.a === tree.b) return { ...tree, files: [], problem: null };
  const found = await changesIn(tree);
  return Array.isArray(found)
    ? { ...tree, files: found, problem: null }
    : { ...tree, files: [], problem: found.problem };
}

const settings = ["-c", "core.bigFileThreshold=1m", "-c", "core.quotePath=false"];
const shared = ["--no-ext-diff", "--no-textconv", "--no-color", "--find-renames", "--full-index"];

async function changesIn({ repository, a, b }: ComparedTree) {
  if (!system.files.exists(join(repository, "objects"))) {
    return { problem: `repository ${repository} not found` };
  }
  const diff = (...how: string[]) =>
    git(repository, [...settings, "diff", ...shared, ...how, a, b, "--"]);
  const listed = await diff("--raw", "-z");
  if ("problem" in listed) {
    return { problem: `git can't compare ${a} with ${b} in ${repository}: ${listed.problem}` };
  }
  const files = filesIn(listed.output);
  const patches = files.length > mostPatches ? null : await diff("--patch");
  const output = patches && "output" in patches ? patches.output : "";
  const sections = output.split(/^(?=diff --git )/m);
  return files.map(({ sections: count, ...file }): FileChange => {
    const patch = sections.splice(0, count).join("");
    const isText = patch.includes("\n@@ ") || !/\nBinary files /.test(patch);
    return {
      ...file,
      patch: isText && patch !== "" && patch.length <= longestPatch ? patch : null,
    };
  });
}

/** Parses a raw diff. A file that was replaced by a link, or a link by a file, has two sections in the patch. */
function filesIn(raw: string): (FileChange & { sections: number })[] {
  const fields = raw.split("\0");
  const files: (FileChange & { sections: number })[] = [];
  for (let at = 0; at + 1 < fields.length; ) {
    const status = fields[at]?.split(" ").at(-1)?.[0] ?? "";
    const isRenamed = status === "R";
    const path = fields[at + (isRenamed ? 2 : 1)] ?? "";
    const from = isRenamed ? (fields[at + 1] ?? null) : null;
    const change = changes[status] ?? "changed";
    files.push({ path, from, change, patch: null, sections: status === "T" ? 2 : 1 });
    at += isRenamed ? 3 : 2;
  }
  return files;
}
