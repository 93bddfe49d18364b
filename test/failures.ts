/** Tests of each failure in `docs/explanation/reliability.md`: test names by file. */
export const failureTests: Record<string, Record<string, readonly string[]>> = {
  F1: {
    "packages/workflow/src/disk/log.test.ts": [
      "has exactly its complete records, and reports the torn bytes",
    ],
    "packages/workflow/src/disk/repair.test.ts": [
      "leaves the complete records, and saves the cut bytes beside them, at every byte (F1)",
    ],
    "packages/workflow/src/local/upkeep/verify.test.ts": [
      "a log truncated anywhere but at the end of a record is reported",
    ],
    "packages/workflow/src/disk/damage.test.ts": [
      "cut at any position of the last record %s is torn",
      "overwritten by %s at any position of the last two records is damage",
    ],
  },
  F2: {
    "packages/workflow/src/disk/damage.test.ts": [
      "by one flipped bit, in any byte %s, is reported",
      "by %s is reported with its line",
    ],
    "packages/workflow/test/worker-loss.test.ts": [
      "is corrupt with its line, refused by resume and kill, and does not break lists",
    ],
    "packages/workflow/test/foreign-log.test.ts": [
      "with another checksum is broken at its line, and stays unchanged",
    ],
  },
  F3: {
    "packages/workflow/test/crash-points.test.ts": [
      "a process that is killed at each call of the disk (F3)",
    ],
  },
  F4: { "packages/workflow/test/crash.nightly.test.ts": ["the crash test (F4)"] },
  F5: {
    "packages/workflow/test/limits.test.ts": ["a size limit that cuts a write short (F5)"],
    "packages/cli-workflow/test/disk.nightly.test.ts": [
      "that is full for a minute interrupts the thread and loses nothing (F5)",
    ],
  },
  F6: {
    "packages/workflow/src/disk/writer.test.ts": [
      "that could not be synced is undone, and the log is renewed before it continues",
      "that was acknowledged stays acknowledged after an error in close",
    ],
    "packages/workflow/test/registry.test.ts": [
      "a change that failed to sync is durable once repeated",
    ],
    "packages/cli-workflow/test/disk.nightly.test.ts": ["a disk that fails its syncs (F6)"],
    "packages/cli-workflow/test/denied.nightly.test.ts": ["a disk whose every sync fails (F6)"],
  },
  F7: {
    "test/simulator/simulator.test.ts": ["schedules of the scope %p find nothing"],
    "packages/workflow/src/disk/writer.test.ts": [
      "is invisible to readers before it is synced, and visible when it resolves (L1)",
    ],
    "packages/cli-workflow/test/disk.nightly.test.ts": [
      "loses only unsynced data that was never shown, over a remount",
    ],
  },
  F8: {
    "packages/workflow/test/one-worker.test.ts": [
      "serves sixteen processes that each start a thread, and every thread completes",
      "starts one thread when processes use the same thread id for two versions",
    ],
    "packages/workflow/test/registry.test.ts": [
      "names registered concurrently by eight processes are all kept",
    ],
    "packages/workflow/test/fork.test.ts": [
      "of a thread during a write copy whole steps byte for byte, except their checksums",
    ],
    "packages/workflow/test/crash.nightly.test.ts": ["the crash test (F4)"],
  },
  F9: {
    "packages/workflow/test/worker-loss.test.ts": [
      "a frozen worker (F9)",
      "a foreign write to a live log (F9)",
    ],
  },
  F10: {
    "packages/workflow/src/worker/worker-info.test.ts": [
      "differs from the identity of a later process with the same pid (F10)",
      "differs from the identity of a process before a reboot",
    ],
    "packages/workflow/test/worker-loss.test.ts": [
      "whose pid now belongs to another process is not signalled (F10)",
    ],
    "packages/cli-workflow/test/denied.nightly.test.ts": [
      "a worker in another pid namespace is used, and the process with its pid here is not killed (F10)",
    ],
  },
  F11: {
    "packages/workflow/test/kill.test.ts": ["kill (F11)"],
    "packages/workflow-agents/test/orphans.nightly.test.ts": [
      "the commands of twenty tools, and their children, end with the worker",
      "a resume ends the child processes of a killed worker before it runs a step, and reports them",
    ],
  },
  F12: {
    "packages/workflow/src/engine/clock.test.ts": ["a clock that jumps (F12)"],
    "packages/workflow/src/registry/versions.test.ts": [
      "registrations within a millisecond or after the clock was set back keep their order",
    ],
  },
  F13: {
    "packages/workflow/src/host/host-contract.ts": [
      "a repeated start or fork with a thread's id is idempotent, and a different one is refused",
    ],
  },
  F14: {
    "packages/workflow/src/registry/read.test.ts": [
      "an invalid registry is an error that names the line, and stays unchanged:",
      "a registry truncated anywhere but at the end of a version is never read as another registry",
      "a file over 16 MiB is refused before it is read",
    ],
    "packages/workflow/test/add.test.ts": ["the registry is broken or newer"],
  },
  F15: {
    "packages/workflow/src/disk/writer.test.ts": [
      "of 65 MiB is refused without a write",
      "with a content of ",
    ],
    "packages/workflow/src/disk/log.test.ts": [
      "of 100,000 records is outlined in bounded memory",
      "nested a hundred thousand levels deep is read or reported, without a crash",
    ],
  },
  F16: {
    "packages/workflow/src/bundle/hash.test.ts": [
      "the hash is computed from bytes, also from invalid UTF-8",
    ],
    "packages/workflow/src/disk/log.test.ts": [
      "a record's content",
      "may have the key __proto__ without changing a prototype",
    ],
    "packages/workflow/test/deep-values.test.ts": [
      "a value that a log can't hold is refused, and the worker's other threads continue",
    ],
  },
  F17: {
    "packages/workflow/src/disk/paths.test.ts": ["a workflow's name", "a thread's id"],
    "packages/server/test/guard.test.ts": [
      "no parameter gives access to files outside the storage root",
    ],
  },
  F18: {
    "packages/workflow/test/planted.test.ts": [
      "as a thread's log does not start a thread, and its target is not written",
      "a storage root that others can write is refused before anything is read",
    ],
  },
  F19: {
    "packages/workflow/src/local/upkeep/verify.test.ts": [
      "a log under another thread's name is reported",
    ],
    "packages/workflow/test/foreign-log.test.ts": ["a log from elsewhere (F19)"],
  },
  F20: {
    "packages/workflow/test/hostile-bundle.nightly.test.ts": [
      "a bundle that misbehaves fails its own thread and no other (F20)",
    ],
    "packages/workflow/test/replaced-builtins.test.ts": [
      "a bundle that replaces everything leaves the other threads' logs intact",
    ],
    "packages/workflow/test/inspect.test.ts": ["a bundle that allocates memory without end"],
  },
  F21: {
    "packages/workflow/src/bundle/store.test.ts": [
      "refuses a bundle with one changed byte",
      "refuses a missing bundle",
    ],
    "packages/workflow/src/local/upkeep/verify.test.ts": [
      "a bundle that was edited in place is reported",
    ],
    "packages/workflow/src/local/workflows.test.ts": [
      "an ambiguous prefix is refused with the candidates",
    ],
    "packages/workflow/test/twin.test.ts": [
      "is refused by a start, an answer, a fork and verify, and never runs; adding the right file restores the bundle",
      "is refused when it is added, even if the bundle is missing",
    ],
  },
  F22: { "packages/workflow/test/divergence.test.ts": ["durable code in a worker (F22)"] },
  F23: {
    "packages/workflow/test/answers.test.ts": ["an answer (F23)"],
    "packages/workflow/src/host/host-answers.ts": [
      "one of many concurrent answers is accepted, and the others are refused",
    ],
  },
  F24: {
    "packages/server/test/guard.test.ts": [
      "for every path and method",
      "of a form is refused, whatever its content",
    ],
    "packages/server/test/streams.test.ts": [
      "the number of open streams is limited, and closing a stream allows another",
    ],
  },
  F25: {
    "packages/server/test/serve.test.ts": [
      "a port in use is reported in one line, without the token of the server that uses it",
    ],
    "packages/server/test/events.test.ts": [
      "no message is lost or sent twice when the server is killed and restarted",
    ],
  },
  F26: {
    "test/storage-root.test.ts": ["reading an old storage root", "an old thread"],
    "packages/workflow/test/registry.test.ts": [
      "a registry of a newer version keeps its bundles from gc",
    ],
    "packages/workflow/test/foreign-log.test.ts": ["a log of a newer version (F26)"],
  },
  F27: {
    "packages/workflow/test/limits.test.ts": [
      "a client with a low limit of open files (F27)",
      "the surroundings of a client (F27)",
    ],
    "packages/cli-workflow/test/streams.test.ts": [
      "a closed stdout does not crash the program",
      "the program works without stdin and a terminal, and in another locale",
    ],
    "packages/cli-workflow/test/disk.nightly.test.ts": [
      "that becomes read-only stays readable, and is written again once possible (F27)",
    ],
    "packages/cli-workflow/test/denied.nightly.test.ts": ["a file system without locks"],
  },
  F28: {
    "packages/workflow/test/registry.test.ts": [
      "garbage collection during registrations never collects a needed bundle",
    ],
    "packages/workflow/test/remove.test.ts": [
      "that races resume, kill and fork leaves a whole log or none",
    ],
    "packages/workflow/test/trash.test.ts": [
      "a removed thread is restored with all of its files, once in concurrent restores",
      "files of a removed thread that a crash left in its folder are restored with it, and are not garbage",
    ],
    "packages/workflow/src/local/upkeep/gc.test.ts": [
      "an unused bundle goes to the trash with the files beside it",
    ],
    "packages/workflow/test/crash.nightly.test.ts": ["the crash test (F4)"],
  },
  F29: {
    "packages/workflow/src/disk/journal.test.ts": [
      "by one flipped bit, in any byte, is reported with its line",
      "is detected by the thread's log when lines at its end, or all lines, are missing",
    ],
    "packages/workflow/src/worker/journal.test.ts": [
      "is reported with file and line before any work is repeated, for any kind of damage",
      "continues after a crash at any byte of its end, and saves the torn bytes",
    ],
    "packages/workflow-agents/test/damage.nightly.test.ts": [
      "stops the thread until it is restored, and no call runs twice",
    ],
    "packages/workflow-agents/test/money.property.test.ts": [
      "random crashes, idle exits and retries do not change a thread's spending",
    ],
  },
  F30: {
    "packages/workflow/test/paused.test.ts": ["is paused for every reader, and is resumed"],
    "packages/workflow/test/recover.test.ts": [
      "is resumed once, by the first of twenty calls and a user's resume",
      "a thread of a copy of the storage root, even in the place of the original",
    ],
  },
  F31: {
    "packages/workflow-agents/test/root-limits.nightly.test.ts": [
      "twenty threads of three processes stop at the limit, and continue when it is raised",
      "a killed worker's reservation is released, and its interrupted call counts with the reported usage",
      "spending is counted again from the logs if its file is %p, including removed threads and forks",
    ],
    "packages/workflow/src/disk/spending.test.ts": [
      "keeps the reservations of live workers, and releases the reservations of lost workers",
      "is never exceeded by concurrent reservations",
    ],
  },
};
