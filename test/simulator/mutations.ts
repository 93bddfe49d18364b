import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A planted defect: replaces texts of a source file while it is loaded. */
export type Mutation = {
  name: string;
  /** The defect of an earlier version that it brings back, or what it leaves out. */
  what: string;
  file: string;
  edits: [find: string, replace: string][];
  /** A seed that finds it. */
  seed: number;
};

const top = join(import.meta.dir, "../..");

export const mutations: readonly Mutation[] = [
  {
    name: "ignored-tail",
    what: "defect 68: all bytes after the last whole line are taken for a torn tail",
    file: "packages/workflow/src/record/fold.ts",
    edits: [
      [
        '    if (length !== null) this.#break(start + length, "missing newline after the record");\n    else if (!isBeginning) this.#break(start, "the bytes after the last record are not a record");\n',
        "    void isBeginning;\n",
      ],
    ],
    seed: 774,
  },
  {
    name: "trusted-cache",
    what: "defect 69: after a failed sync a log is continued as the cache shows it",
    file: "packages/workflow/src/disk/store.ts",
    edits: [["    const writer = isSuspect\n", '    const writer = isSuspect && path === ""\n']],
    seed: 91,
  },
  {
    name: "shown-before-sync",
    what: "defect 70: a record is written with its newline, and synced after that",
    file: "packages/workflow/src/disk/writer.ts",
    edits: [
      ["encode(syncer ? text : `${text}\\n`)", "encode(`${text}\\n`)"],
      ["      this.#write(newline);\n    } catch", "      void newline;\n    } catch"],
    ],
    seed: 1,
  },
  {
    name: "id-of-two-versions",
    what: "defect 71: no check for a thread with the id on another version",
    file: "packages/workflow/src/disk/store.ts",
    edits: [
      [
        "      const there = threadWithId(this.#root, threadId);\n      if (there) return",
        "      const there = isCreated(this.#root, hash, threadId) ? { hash, threadId } : null;\n      if (there) return",
      ],
    ],
    seed: 81,
  },
  {
    name: "stuck-clean-up",
    what: "defect 74: a failed cleanup ends the closing of a worker",
    file: "packages/workflow/src/worker/worker.ts",
    edits: [
      ["        console.error(messageOf(error));", "        throw new Error(messageOf(error));"],
    ],
    seed: 21,
  },
  {
    name: "lock-of-the-process",
    what: "defect 75: a lock belongs to the process, and is dropped when the process closes the file",
    file: "test/simulator/files.ts",
    edits: [
      [
        "    unlock(file);\n",
        '    const { inode } = file;\n    if (inode.kind === "file" && inode.lockedBy?.owner === process) inode.lockedBy = null;\n',
      ],
    ],
    seed: 10,
  },
  {
    name: "unsynced-creation",
    what: "a new log is renamed before it is synced",
    file: "packages/workflow/src/disk/writer.ts",
    edits: [["      if (isSynced) system.files.syncData(fd);\n", ""]],
    seed: 1,
  },
  {
    name: "unsynced-name",
    what: "the folder is not synced when a log gets its name",
    file: "packages/workflow/src/disk/writer.ts",
    edits: [["    if (isSynced) system.files.syncFolder(dirname(path));\n", ""]],
    seed: 1,
  },
  {
    name: "unsynced-step",
    what: "a log that is written alone is not synced",
    file: "packages/workflow/src/disk/writing.ts",
    edits: [["    system.files.syncData(fd);\n    return null;", "    return null;"]],
    seed: 1,
  },
  {
    name: "renewed-too-early",
    what: "a renewed log shows its last record before its name is durable",
    file: "packages/workflow/src/disk/writer.ts",
    edits: [
      [
        "      writer.#sum = sum;\n    };\n",
        "      if (!isEnded) writer.#write(newline);\n      writer.#sum = sum;\n    };\n",
      ],
      [
        "      if (!isEnded) writer.#write(newline);\n    } catch",
        "      void isEnded;\n    } catch",
      ],
    ],
    seed: 91,
  },
  {
    name: "unchecked-lock",
    what: "a worker goes on that has not got the lock",
    file: "packages/workflow/src/worker/worker.ts",
    edits: [["if (!lock) system.processes.exit(busyCode);", "void busyCode;"]],
    seed: 11,
  },
  {
    name: "started-twice",
    what: "a start does not look whether the thread is there",
    file: "packages/workflow/src/disk/store.ts",
    edits: [["      if (there) return this.#createdBefore(there);\n", "      void there;\n"]],
    seed: 11,
  },
  {
    name: "unawaited-commit",
    what: "the generator is asked for the next step while the last is being committed",
    file: "packages/workflow/src/engine/engine.ts",
    edits: [
      [
        "    const { paused } = await this.#parts.log.append(record, state);\n    if (paused) this.pause();\n",
        "    void this.#parts.log.append(record, state);\n",
      ],
    ],
    seed: 1,
  },
  {
    name: "unlocked-registry",
    what: "changes of the registry take no lock",
    file: "packages/workflow/src/registry/change.ts",
    edits: [
      [
        "const lock = await waitForLock(registryLockPath(root), untilStuck(root));",
        "void waitForLock, untilStuck;\n  const lock = { release: () => registryLockPath(root) };",
      ],
    ],
    seed: 410,
  },
  {
    name: "greedy-collection",
    what: "gc looks at the registry alone",
    file: "packages/workflow/src/local/upkeep/gc.ts",
    edits: [
      ["    if (!threadIdsOf(root, hash).every(isDead)) needed.add(hash);\n", "    void isDead;\n"],
      ["  if (threadIdsOf(root, hash).length > 0) return false;\n", ""],
    ],
    seed: 17,
  },
  {
    name: "unlocked-collection",
    what: "gc takes bundles whose worker lives",
    file: "packages/workflow/src/local/upkeep/gc.ts",
    edits: [
      [
        "  const lock = takeLock(path, 0);\n  if (!lock) return false;\n",
        "  const lock = takeLock(path, 0) ?? { release: () => path };\n",
      ],
    ],
    seed: 178,
  },
  {
    name: "unsynced-registry",
    what: "the registry is renamed before it is synced",
    file: "packages/workflow/src/disk/files.ts",
    edits: [
      [
        "    writeAll(fd, bytesOf(content));\n    system.files.sync(fd);\n",
        "    writeAll(fd, bytesOf(content));\n",
      ],
    ],
    seed: 2,
  },
  {
    name: "glued-tail",
    what: "a torn tail stays in front of the next record",
    file: "packages/workflow/src/disk/store.ts",
    edits: [["const torn = log.torn > 0 ?", "const torn = log.torn < 0 ?"]],
    seed: 1232,
  },
  {
    name: "unsynced-removal",
    what: "the removal of a thread is answered before it is durable",
    file: "packages/workflow/src/disk/trash.ts",
    edits: [
      ["  syncFolder(threadsDir(root, hash));\n", ""],
      ["[folder, trashDir(root), from]", "[folder, trashDir(root)]"],
    ],
    seed: 23,
  },
  {
    name: "driver-without-lock",
    what: "a request that waited is served by a worker that has given up its lock",
    file: "packages/workflow/src/worker/threads.ts",
    edits: [
      [
        "    if (this.#isReleased) throw workerClosing();",
        "    if (this.#isReleased && workerClosing.length > 9) throw workerClosing();",
      ],
    ],
    seed: 27,
  },
  {
    name: "forgotten-loss",
    what: "a worker that follows a lost one removes the mark of the loss",
    file: "packages/workflow/src/worker/worker.ts",
    edits: [["() => (info.followsLost || store.hasUnsynced ?", "() => (store.hasUnsynced ?"]],
    seed: 470,
  },
  {
    name: "unsynced-folder",
    what: "a folder that is there is taken for durable",
    file: "packages/workflow/src/disk/store.ts",
    edits: [
      [
        "    if (made?.has(folder) && system.files.exists(folder)) return;",
        "    if (system.files.exists(folder)) return;",
      ],
    ],
    seed: 524,
  },
  {
    name: "unchecked-sums",
    what: "a record with another sum is taken",
    file: "packages/workflow/src/record/fold.ts",
    edits: [
      [
        '      return hasSum ? "the record does not have the sum that follows" : "the record has no sum";\n    this.sum = sum;',
        "      this.sum = sumIn(value);\n    else this.sum = sum;",
      ],
    ],
    seed: 2186,
  },
  {
    name: "early-kill",
    what: "a kill is answered before its end record is durable",
    file: "packages/workflow/src/engine/engine.ts",
    edits: [
      [
        "    await this.#interrupt(killed(this.#parts.now()));",
        "    void this.#interrupt(killed(this.#parts.now()));",
      ],
    ],
    seed: 104,
  },
  {
    name: "due-unsettled",
    what: "that a thread is due is forgotten while a loss of power can show it asleep again",
    file: "packages/workflow/src/disk/claim.ts",
    edits: [
      ["      if (await writer.settle()) removeQuietly(", "      if (writer) removeQuietly("],
    ],
    seed: 1,
  },
  {
    name: "due-after-sleep",
    what: "that a thread is due is noted when the step that sleeps is committed already",
    file: "packages/workflow/src/disk/claim.ts",
    edits: [
      [
        "    if (at !== null) this.#addDue(at);\n    await this.#parts.writer.append(record);\n",
        "    await this.#parts.writer.append(record);\n    if (at !== null) this.#addDue(at);\n",
      ],
    ],
    seed: 540,
  },
  {
    name: "due-unsynced",
    what: "that a thread is due is written, and not synced",
    file: "packages/workflow/src/disk/due.ts",
    edits: [["      return syncFolder(folder);\n", "      return;\n"]],
    seed: 370,
  },
  {
    name: "forgotten-try",
    what: "a failed try that was committed is not found again, and the step is taken for another",
    file: "packages/workflow/src/durable/step.ts",
    edits: [
      [
        "if (!progress.isTry(work, found)) return valueOf(found);",
        "if (!progress.isTry(work, found) || replay.taken > 0) return valueOf(found);",
      ],
    ],
    seed: 9,
  },
];

/** The text of a mutated file. @throws Error when a replaced text does not occur exactly once. */
export function mutated({ name, file, edits }: Mutation): string {
  let text = readFileSync(join(top, file), "utf8");
  for (const [find, replace] of edits) {
    if (text.split(find).length !== 2)
      throw new Error(`${name}: ${file} does not have once: ${find}`);
    text = text.replace(find, () => replace);
  }
  return text;
}

/** Makes the loader return the mutated text of a file. The product must not be loaded yet. */
export function mutate(name: string): void {
  const mutation = mutations.find((one) => one.name === name);
  if (!mutation) throw new Error(`there is no mutation ${name}`);
  const contents = mutated(mutation);
  const path = join(top, mutation.file);
  Bun.plugin({
    name: "mutation",
    setup(build) {
      const filter = new RegExp(`${path.replaceAll(/[.]/g, "\\.")}$`);
      build.onLoad({ filter }, () => ({ contents, loader: "ts" }));
    },
  });
}
