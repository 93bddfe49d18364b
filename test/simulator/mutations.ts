import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A planted defect: replaces texts of a source file when it is loaded. */
export type Mutation = {
  name: string;
  /** The missing precaution, or the restored defect of an earlier version. */
  what: string;
  file: string;
  edits: [find: string, replace: string][];
  /** Seed that finds the defect. */
  seed: number;
};

const top = join(import.meta.dir, "../..");

export const mutations: readonly Mutation[] = [
  {
    name: "ignored-tail",
    what: "all bytes after the last complete line count as a torn tail",
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
    what: "after a failed sync, a log continues from the cache",
    file: "packages/workflow/src/disk/store.ts",
    edits: [["    const writer = isSuspect\n", '    const writer = isSuspect && path === ""\n']],
    seed: 91,
  },
  {
    name: "shown-before-sync",
    what: "a record is written with its newline before the sync",
    file: "packages/workflow/src/disk/writer.ts",
    edits: [
      ["encode(syncer ? text : `${text}\\n`)", "encode(`${text}\\n`)"],
      ["      this.#write(newline);\n    } catch", "      void newline;\n    } catch"],
    ],
    seed: 1,
  },
  {
    name: "id-of-two-versions",
    what: "a start does not check whether another version has a thread with its id",
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
    what: "a failed cleanup aborts the shutdown of a worker",
    file: "packages/workflow/src/worker/worker.ts",
    edits: [
      ["        console.error(messageOf(error));", "        throw new Error(messageOf(error));"],
    ],
    seed: 21,
  },
  {
    name: "lock-of-the-process",
    what: "a lock belongs to the process, which releases it when it closes the file",
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
    what: "a log without concurrent writes is not synced",
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
    what: "a worker without the lock continues",
    file: "packages/workflow/src/worker/worker.ts",
    edits: [["if (!lock) system.processes.exit(busyCode);", "void busyCode;"]],
    seed: 11,
  },
  {
    name: "started-twice",
    what: "a start does not check whether the thread exists",
    file: "packages/workflow/src/disk/store.ts",
    edits: [["      if (there) return this.#createdBefore(there);\n", "      void there;\n"]],
    seed: 11,
  },
  {
    name: "unawaited-commit",
    what: "the next step is requested during the commit of the last step",
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
    what: "gc checks only the registry",
    file: "packages/workflow/src/local/upkeep/gc.ts",
    edits: [
      ["    if (!threadIdsOf(root, hash).every(isDead)) needed.add(hash);\n", "    void isDead;\n"],
      ["  if (threadIdsOf(root, hash).length > 0) return false;\n", ""],
    ],
    seed: 17,
  },
  {
    name: "unlocked-collection",
    what: "gc deletes bundles of live workers",
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
    what: "the removal of a thread is acknowledged before it is durable",
    file: "packages/workflow/src/disk/trash.ts",
    edits: [
      ["  syncFolder(threadsDir(root, hash));\n", ""],
      ["[folder, trashDir(root), from]", "[folder, trashDir(root)]"],
    ],
    seed: 23,
  },
  {
    name: "driver-without-lock",
    what: "a worker serves a waiting request after it released its lock",
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
    what: "the successor of a lost worker deletes the mark of the loss",
    file: "packages/workflow/src/worker/worker.ts",
    edits: [["() => (info.followsLost || store.hasUnsynced ?", "() => (store.hasUnsynced ?"]],
    seed: 470,
  },
  {
    name: "unsynced-folder",
    what: "an existing folder counts as durable",
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
    what: "a record with a wrong checksum is accepted",
    file: "packages/workflow/src/record/fold.ts",
    edits: [
      [
        '    if (sum === null) return hasSum ? "wrong sum" : "missing sum";\n    this.sum = sum;',
        "    if (sum === null) this.sum = sumIn(value);\n    else this.sum = sum;",
      ],
    ],
    seed: 2186,
  },
  {
    name: "early-kill",
    what: "a kill is acknowledged before its end record is durable",
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
    what: "the due entry is deleted while a loss of power can still put the thread back to sleep",
    file: "packages/workflow/src/disk/claim.ts",
    edits: [
      ["      if (await writer.settle()) removeQuietly(", "      if (writer) removeQuietly("],
    ],
    seed: 1,
  },
  {
    name: "due-after-sleep",
    what: "the due entry is written after the commit of the sleep",
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
    what: "the due entry is not synced",
    file: "packages/workflow/src/disk/due.ts",
    edits: [["      return syncFolder(folder);\n", "      return;\n"]],
    seed: 370,
  },
  {
    name: "forgotten-try",
    what: "a committed failed try is not found, so the step counts as another step",
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

/** Returns the mutated text of a file. @throws Error when a replaced text does not occur exactly once. */
export function mutated({ name, file, edits }: Mutation): string {
  let text = readFileSync(join(top, file), "utf8");
  for (const [find, replace] of edits) {
    if (text.split(find).length !== 2)
      throw new Error(`${name}: expected exactly once in ${file}: ${find}`);
    text = text.replace(find, () => replace);
  }
  return text;
}

/** Makes the loader return the mutated text of a file. Must run before the product is loaded. */
export function mutate(name: string): void {
  const mutation = mutations.find((one) => one.name === name);
  if (!mutation) throw new Error(`no such mutation: ${name}`);
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
