/*
 * One git worktree of a thread, from the start of a step to the step's commit.
 *
 * W1 Git uses the worktree's own folders, even if an agent changed its `.git`. W2 A step begins with the files of its
 * base, byte for byte, or with the files of its last execution together with the journal of that execution. W3 A
 * recorded commit keeps its own ref until the thread is removed. W4 In the repository, only the worktree's entry and
 * the refs in `refs/uncaged/THREAD_ID/` change.
 */
import { existsSync, readdirSync } from "node:fs";
import { cp, mkdir, readdir, realpath, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { WorktreeMeta } from "@uncaged/workflow";
import { worktreeRef } from "@uncaged/workflow/interpreter";
import { type GitContext, type GitEnd, git } from "./git.ts";
import {
  entriesOf,
  entryIn,
  isWhole,
  newId,
  type Note,
  pathOf,
  readNote,
  type TreePlace,
  writeNote,
} from "./note.ts";
import type { Repository } from "./repository.ts";
import { worktreeNotMade } from "./errors.ts";

/** The owner of a worktree, and its repository. */
export type TreeOwner = TreePlace & { threadId: string; repository: Repository };

/**
 * The start of a step in a worktree: the base commit, the idempotency key, and the files with which to continue, or
 * null.
 */
export type Begin = { base: string; key: string | null; from: Begun | null };

/** A worktree with the files of an execution of a step. */
export type Begun = { at: TreePlace; note: Note };

/** Returns the worktrees among `places` in which the step was started before. */
export const begunIn = (places: readonly TreePlace[], gitDir: string, key: string): Begun[] =>
  places.flatMap((at) => {
    const note = readNote(at);
    return note?.key === key && note.repository === gitDir && isWhole(at, note)
      ? [{ at, note }]
      : [];
  });

export class Tree {
  readonly #owner: TreeOwner;
  readonly #context: GitContext;
  #note: Note;

  private constructor(owner: TreeOwner, context: GitContext, note: Note) {
    this.#owner = owner;
    this.#context = context;
    this.#note = note;
  }

  /** Prepares the worktree of a step: puts the files into the worktree, and creates the worktree if it is missing. */
  static async begin(owner: TreeOwner, context: GitContext, begin: Begin): Promise<Tree> {
    const { base, key, from } = begin;
    const before = readNote(owner);
    const { gitDir } = owner.repository;
    const isThere = before !== null && before.repository === gitDir && isWhole(owner, before);
    const entry = isThere ? before.entry : null;
    const id = from?.note.id ?? newId();
    const tree = new Tree(owner, context, {
      repository: gitDir,
      entry,
      id,
      key,
      base,
      commit: null,
    });
    const isOwn = from !== null && pathOf(from.at) === pathOf(owner);
    if (isOwn && isThere) await tree.#unlock();
    else if (from) await tree.#copy(from);
    else await tree.#reset(before?.commit === base && isThere);
    writeNote(owner, tree.#note);
    await tree.#link();
    return tree;
  }

  get path(): string {
    return pathOf(this.#owner);
  }

  /** The id of the files, which is part of the keys of an execution's journal. */
  get id(): string {
    return this.#note.id;
  }

  /** Resets the files to the base commit. Keeps ignored files if the last execution was not interrupted. */
  async #reset(isUndisturbed: boolean): Promise<void> {
    const { base } = this.#note;
    if (this.#note.entry !== null) {
      writeNote(this.#owner, this.#note);
      try {
        await this.#unlock();
        await this.#git(["update-ref", "--no-deref", "HEAD", base]);
        await this.#git(["reset", "--hard", "--quiet", base]);
        await this.#git(["clean", "-ffdq", ...(isUndisturbed ? [] : ["-x"])]);
        return;
      } catch {
        // If the reset fails, recreate the worktree.
        this.#context.signal.throwIfAborted();
      }
    }
    await this.#make(base);
    await this.#git(["reset", "--hard", "--quiet", base]);
  }

  /** Creates the worktree, without files. Removes the leftovers of a killed git. */
  async #make(commit: string): Promise<void> {
    const { repository } = this.#owner;
    // Writes the note first, so that a host that removes the thread finds the worktree. The new id does not match a
    // journal.
    writeNote(this.#owner, { ...this.#note, id: newId(), entry: null });
    await removeTree(this.path);
    // A partial entry would prevent git from creating any worktree, even for the user.
    const left = entriesOf(this.#owner, repository.gitDir);
    for (const entry of left) await removeTree(entry);
    const args = ["worktree", "add", "-f", "-f", "--detach", "--no-checkout", this.path, commit];
    await mkdir(join(repository.gitDir, "worktrees"), { recursive: true });
    await git(this.#context, { repository: repository.gitDir }, args);
    // Git's entry may refer to the separate common directory, but the agent's git commands must use the repository.
    const made = entryIn(this.#owner);
    this.#note = { ...this.#note, entry: made && (await realpath(made)) };
    await this.#link();
    if (isWhole(this.#owner, this.#note)) return;
    throw worktreeNotMade(this.path);
  }

  /** Copies the files of another thread's worktree, including ignored files. */
  async #copy({ at, note }: Begun): Promise<void> {
    const place = { repository: note.repository, gitDir: note.entry ?? "" };
    const head = await git(this.#context, place, ["rev-parse", "HEAD"]);
    await this.#make(head.output.trim());
    for (const name of await readdir(pathOf(at))) {
      if (name === ".git") continue;
      const options = { recursive: true, verbatimSymlinks: true, preserveTimestamps: true };
      await cp(join(pathOf(at), name), join(this.path, name), options);
    }
    await this.#git(["reset", "--quiet"]);
  }

  /** Removes the locks of killed git processes. This is safe because no other process works in the worktree. */
  async #unlock(): Promise<void> {
    const { repository, threadId, name } = this.#owner;
    const entry = this.#note.entry ?? "";
    const refs = join(repository.gitDir, "refs/uncaged", threadId);
    const locks = existsSync(refs) ? readdirSync(refs) : [];
    const own = locks.filter((lock) => lock.startsWith(`${name}.`) && lock.endsWith(".lock"));
    for (const lock of own) await rm(join(refs, lock), { force: true });
    for (const lock of ["index.lock", "HEAD.lock"]) await rm(join(entry, lock), { force: true });
  }

  // Restores the `.git` file, which the agent's git commands need, because an agent may have replaced it.
  async #link(): Promise<void> {
    if (entryIn(this.#owner) === this.#note.entry) return;
    await removeTree(join(this.path, ".git"));
    // Does not overwrite a file that was created since the removal, because it may be a link.
    await writeFile(join(this.path, ".git"), `gitdir: ${this.#note.entry}\n`, { flag: "wx" });
  }

  /**
   * Commits the current files. `left` describes paths that git cannot add: unreadable files and nested repositories.
   * `merged` are further parents.
   */
  async commit(
    message: string,
    merged: readonly string[] = [],
  ): Promise<{ meta: WorktreeMeta; left: string[] }> {
    await this.#unlock();
    const left = [...(await this.#add()), ...(await this.#takeOutNested())];
    const tree = (await this.#git(["write-tree"])).output.trim();
    const head = await this.#git(["rev-parse", "HEAD^{commit}", "HEAD^{tree}"], {
      answers: [0, 128],
    });
    const [parent, before] = head.code === 0 ? head.output.split("\n") : [this.#note.base];
    const parents = [parent ?? this.#note.base, ...merged].flatMap((one) => ["-p", one]);
    const isNew = tree !== before || merged.length > 0;
    const commit = isNew
      ? (
          await this.#git(["commit-tree", tree, ...parents, "-F", "-"], { input: message })
        ).output.trim()
      : (parent as string);
    const { threadId, name, repository } = this.#owner;
    const refs = ["HEAD", worktreeRef(threadId, name), worktreeRef(threadId, name, commit)];
    const input = refs.map((ref) => `option no-deref\nupdate ${ref} ${commit}\n`).join("");
    await this.#git(["update-ref", "--stdin"], { input });
    // The commit ends a merge, so clear its state.
    if (merged.length > 0) await this.#git(["reset", "--hard", "--quiet"]);
    this.#note = { ...this.#note, commit };
    writeNote(this.#owner, this.#note);
    const branch = worktreeRef(threadId, name).slice("refs/".length);
    const { gitDir } = repository;
    const meta = { name, repository: gitDir, branch, base: this.#note.base, commit, tree };
    return { meta, left };
  }

  /** Adds all files to the index. Returns git's messages about files that it could not add. */
  async #add(): Promise<string[]> {
    const add = ["add", "--all", "--ignore-errors", ...(await this.#withoutSubmodules())];
    const added = await this.#git(add, { answers: [0, 1] }).catch(async () => {
      this.#context.signal.throwIfAborted();
      // An agent may have damaged the index, so git creates it again.
      await rm(join(this.#note.entry ?? "", "index"), { force: true });
      return await this.#git(add, { answers: [0, 1] });
    });
    if (added.code === 0) return [];
    return added.error.split("\n").filter((line) => line.startsWith("error: "));
  }

  /** Returns arguments that exclude the submodules in the index, in which git would use the submodules' settings. */
  async #withoutSubmodules(): Promise<string[]> {
    const listed = await this.#git(["ls-files", "--stage", "-z"], { answers: [0, 128] });
    const submodules = listed.output
      .split("\0")
      .filter((entry) => entry.startsWith("160000 "))
      .map((entry) => `:(exclude,top,literal)${entry.slice(entry.indexOf("\t") + 1)}`);
    return submodules.length === 0 ? [] : ["--", ":/", ...submodules];
  }

  /**
   * Removes nested repositories from the index, because a commit would only have their commit ids. Returns messages
   * about them.
   */
  async #takeOutNested(): Promise<string[]> {
    const args = ["diff-index", "--cached", "--raw", "--no-renames", "-z", this.#note.base];
    const fields = (await this.#git(args)).output.split("\0");
    const nested: string[] = [];
    for (let at = 0; at + 1 < fields.length; at += 2) {
      const [before, after] = (fields[at] ?? "").slice(1).split(" ");
      if (after === "160000" && before !== "160000") nested.push(fields[at + 1] ?? "");
    }
    if (nested.length === 0) return [];
    const input = nested.map((path) => `${path}\0`).join("");
    await this.#git(["update-index", "--force-remove", "-z", "--stdin"], { input });
    return nested.map((path) => `${JSON.stringify(path)} is a repository of its own`);
  }

  /** Returns whether the worktree's history has a commit. */
  async has(commit: string): Promise<boolean> {
    const args = ["merge-base", "--is-ancestor", commit, "HEAD"];
    return (await this.#git(args, { answers: [0, 1] })).code === 0;
  }

  /** Merges a commit into the files. Returns the files with conflicts, in which git has left conflict markers. */
  async merge(commit: string): Promise<string[]> {
    const args = ["merge", "--no-commit", "--no-ff", "--no-verify-signatures", "--quiet", commit];
    await this.#git(args, { answers: [0, 1] });
    const unmerged = ["diff", "--name-only", "--diff-filter=U", "-z", ...startsNothing];
    return (await this.#git(unmerged)).output.split("\0").filter(Boolean);
  }

  #git(args: readonly string[], options?: Parameters<typeof git>[3]): Promise<GitEnd> {
    const entry = this.#note.entry ?? "";
    const place = { repository: dirname(dirname(entry)), gitDir: entry, workTree: this.path };
    return git(this.#context, place, args, options);
  }
}

const startsNothing = ["--ignore-submodules=all", "--no-ext-diff", "--no-textconv"];

const removeTree = (path: string) => rm(path, { recursive: true, force: true, maxRetries: 3 });
