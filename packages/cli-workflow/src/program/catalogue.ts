import type { CommandFile } from "./command.ts";

/** A command as the program knows it before its file is loaded. */
export type Entry = {
  name: string;
  summary: string;
  load: () => Promise<CommandFile>;
  /** Takes `-q`: ids or names alone, one a line. */
  quiet?: true;
  hidden?: true;
};

/** The commands, in the groups and the order that help shows them in. */
export const catalogue: { group: string; entries: Entry[] }[] = [
  {
    group: "Workflows",
    entries: [
      {
        name: "add",
        summary: "register a bundle, or build a source and register it",
        load: () => import("../commands/add.ts"),
      },
      {
        name: "list",
        summary: "list the workflows",
        load: () => import("../commands/list.ts"),
        quiet: true,
      },
      {
        name: "show",
        summary: "show a workflow: its roles and versions",
        load: () => import("../commands/show.ts"),
      },
      {
        name: "history",
        summary: "list the versions of a workflow, newest first",
        load: () => import("../commands/history.ts"),
      },
      {
        name: "rollback",
        summary: "go back to an earlier version, or to a named one",
        load: () => import("../commands/rollback.ts"),
      },
      {
        name: "remove",
        summary: "remove a workflow's name; its threads stay",
        load: () => import("../commands/remove.ts"),
      },
    ],
  },
  {
    group: "Threads",
    entries: [
      {
        name: "run",
        summary: "start a thread and print its id",
        load: () => import("../commands/run.ts"),
        quiet: true,
      },
      {
        name: "threads",
        summary: "list threads, newest first",
        load: () => import("../commands/threads.ts"),
        quiet: true,
      },
      {
        name: "thread",
        summary: "show a thread, or delete one (thread rm)",
        load: () => import("../commands/thread.ts"),
      },
      {
        name: "ps",
        summary: "list the threads that a worker runs now",
        load: () => import("../commands/ps.ts"),
        quiet: true,
      },
      {
        name: "follow",
        summary: "watch a thread live",
        load: () => import("../commands/follow.ts"),
      },
      {
        name: "logs",
        summary: "show a thread's debug log",
        load: () => import("../commands/logs.ts"),
      },
      {
        name: "diff",
        summary: "compare two threads step by step",
        load: () => import("../commands/diff.ts"),
      },
    ],
  },
  {
    group: "Control",
    entries: [
      {
        name: "pause",
        summary: "pause threads after the step they are at",
        load: () => import("../commands/pause.ts"),
      },
      {
        name: "resume",
        summary: "go on with paused, interrupted or waiting threads",
        load: () => import("../commands/resume.ts"),
      },
      {
        name: "kill",
        summary: "end threads now",
        load: () => import("../commands/kill.ts"),
      },
      {
        name: "fork",
        summary: "start a new thread from the steps of another",
        load: () => import("../commands/fork.ts"),
        quiet: true,
      },
      {
        name: "retry",
        summary: "take up a failed or killed thread in a new one",
        load: () => import("../commands/retry.ts"),
        quiet: true,
      },
      {
        name: "rerun",
        summary: "run a step workflow again from one of its steps, in a new thread",
        load: () => import("../commands/rerun.ts"),
        quiet: true,
      },
    ],
  },
  {
    group: "Console",
    entries: [
      {
        name: "serve",
        summary: "serve the API and the console to this machine",
        load: () => import("../commands/serve.ts"),
      },
    ],
  },
  {
    group: "Authoring",
    entries: [
      {
        name: "new",
        summary: "make a project with a small workflow",
        load: () => import("../commands/new.ts"),
      },
      {
        name: "build",
        summary: "build a source into one bundle file",
        load: () => import("../commands/build.ts"),
      },
    ],
  },
  {
    group: "Upkeep",
    entries: [
      {
        name: "verify",
        summary: "check every bundle and log of the storage root",
        load: () => import("../commands/verify.ts"),
      },
      {
        name: "gc",
        summary: "put bundles that nothing needs into the trash",
        load: () => import("../commands/gc.ts"),
      },
      {
        name: "doctor",
        summary: "look for what stands in the way",
        load: () => import("../commands/doctor.ts"),
      },
      {
        name: "completion",
        summary: "print the completion script of a shell",
        load: () => import("../commands/completion.ts"),
      },
      {
        name: "version",
        summary: "print the version",
        load: () => import("../commands/version.ts"),
      },
      {
        name: "__complete",
        summary: "what may stand next on a command line",
        load: () => import("../commands/complete.ts"),
        hidden: true,
      },
    ],
  },
];

/** Every command, in the order of help. */
export const entries: Entry[] = catalogue.flatMap((group) => group.entries);
